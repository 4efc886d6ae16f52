//! The numeric core of Salon: ratings and their intervals from paired comparisons.
//!
//! Battles arrive as dense integer codes ([`aggregate`]), become counted cells and pairs ([`cells`]), are checked for
//! a finite answer ([`graph`]), rated ([`bradley_terry`], with less bias [`firth`], on the linear algebra of [`laplacian`] and, where few models met,
//! [`elimination`]) and resampled ([`bootstrap`], on the exact draws of [`resample`], [`alias`] and [`random`] and the shared
//! steps of [`chord`]). [`influence`] has the pieces of analytic
//! intervals, [`contributions`] what each prompt adds, [`parts`] the boards of groups, [`crossing`] two-way clusters.
//! Models with more parameters than strengths stand in [`ties`] and [`contextual`], on [`bordered`]; [`online_elo`] goes
//! battle by battle, [`merge`] adds new battles to old cells, and [`scheduling`] says who should meet next.
//! [`paired_resample`] is for scores on items instead of battles. Everything is
//! deterministic: the same
//! input and seed give the same bits on any number of threads. The crate has no dependencies and knows no Python.

pub mod aggregate;
pub mod alias;
pub mod bootstrap;
pub mod bordered;
pub mod bradley_terry;
pub mod cells;
pub mod chord;
pub mod contextual;
pub mod contextual_bootstrap;
pub mod contributions;
pub mod crossing;
pub mod elimination;
pub mod error;
pub mod firth;
mod gains;
pub mod graph;
pub mod influence;
pub mod laplacian;
mod lists;
pub mod merge;
pub mod multinomial;
pub mod near_duplicates;
pub mod online_elo;
pub mod paired_resample;
pub mod parts;
pub mod random;
pub mod resample;
pub mod row_resample;
pub mod scheduling;
pub mod scores;
pub mod simultaneous;
pub mod tie_bootstrap;
pub mod ties;
pub mod watch;
pub mod workers;
