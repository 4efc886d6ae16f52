//! Which pairs of models meet next.

pub(crate) mod information_gain;
pub mod next_pairs;
