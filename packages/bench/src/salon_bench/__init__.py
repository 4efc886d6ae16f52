"""salon_bench."""
