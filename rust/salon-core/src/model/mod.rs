//! Fits: Bradley-Terry, Firth's estimator, tie models, covariates, rankings, and online Elo.

pub mod bradley_terry;
pub mod contextual;
pub mod firth;
pub mod online_elo;
pub mod plackett_luce;
pub mod ties;
