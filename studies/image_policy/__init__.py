"""Train a small image policy, a rectified flow of 16 by 16 pixels, in every way of learning, over seeds."""
