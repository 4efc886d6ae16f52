"""Uncertainty of fits: sandwich covariances, resampling, intervals, and simultaneous ranks."""
