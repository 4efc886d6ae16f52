"""salon_taxonomy."""
