"""Diagnostics of battles and fits: win rates, goodness of fit, convergence of intervals, acceptability."""
