"""Analyses of finished runs: comparisons, agreement of judges, reliability, leaderboards and exports."""
