"""salon_rewards."""
