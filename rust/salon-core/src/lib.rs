//! The numeric core of Salon: ratings and their intervals from paired comparisons.
//!
//! [`battles`] arrive as dense integer codes and become counted cells and pairs; [`model`] rates them on the linear algebra of
//! [`linalg`]; [`uncertainty`] resamples them and sums their scores; [`contributions`] are what each prompt adds;
//! [`scheduling`] plans which models meet next. [`near_duplicates`] compares hashes of pictures, [`pictures`] their pixels.
//!
//! The same input and seed give the same bits on any number of threads ([`random`], [`workers`]). The crate has no dependencies
//! and imports no Python.

pub mod battles;
pub mod cancel;
pub mod contributions;
pub mod error;
pub mod linalg;
pub mod model;
pub mod near_duplicates;
pub mod pictures;
pub mod random;
pub mod scheduling;
pub mod uncertainty;
pub mod workers;
