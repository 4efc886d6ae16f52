"""Leaderboards: ratings with intervals, and the analyses of a board."""
