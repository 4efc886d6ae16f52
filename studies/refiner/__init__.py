"""Compare the rewards of R³-Refiner's second stage in small: R³-Bench's Table 4."""
