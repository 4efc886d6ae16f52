"""salon_store."""
