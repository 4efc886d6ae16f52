"""Comparisons that prove a claim of the documentation; they run from this folder's parent and are no part of any package."""
