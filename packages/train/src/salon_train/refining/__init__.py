"""R³-Refiner."""
