"""Rewards over HTTP, for trainers in another process or on another machine: ``salon reward serve``."""
