//! Battles as counted cells: aggregated, merged, partitioned into groups, and checked for finite ratings.

pub mod aggregate;
pub mod cells;
pub mod graph;
pub mod merge;
pub mod partition;
pub mod two_way;
