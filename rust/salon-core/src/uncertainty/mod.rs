//! Replicates of every model, their random draws, and the sums behind sandwich covariances and simultaneous intervals.

pub mod alias;
pub mod bootstrap;
pub mod cluster_sandwich;
pub(crate) mod clustered_counts;
pub mod contextual_bootstrap;
pub mod max_t;
pub mod multinomial;
pub mod paired_resample;
pub mod parameter_scores;
pub mod resample;
pub mod row_resample;
pub mod sandwich;
pub mod tie_bootstrap;
