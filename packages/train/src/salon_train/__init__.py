"""salon_train."""
