"""Models of paired comparisons: Bradley-Terry, tie models and covariates as one kind of fit; online Elo."""
