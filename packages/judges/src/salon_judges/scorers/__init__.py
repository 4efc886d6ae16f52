"""Published scorers of pictures, loaded from the user's weights: entry points of the group ``salon.scorers``."""
