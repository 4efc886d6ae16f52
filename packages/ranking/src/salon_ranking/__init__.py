"""salon_ranking."""
