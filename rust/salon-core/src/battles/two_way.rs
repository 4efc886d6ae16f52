//! Clusters that lie crosswise: every battle belongs to a value of one column (a prompt) and to a value of another (a
//! rater).
//!
//! The clusters of the cells are then the crossings that occur, and this table says which two values meet in each. The
//! two-way bootstrap draws the values of both columns independently with replacement, and a battle counts as often as
//! the product of both draws (pigeonhole bootstrap: Owen 2007, doi:10.1214/07-AOAS122).

use std::collections::HashMap;

use crate::battles::cells::{Cells, renumbered};
use crate::error::CoreError;

/// Which two values meet in each cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crossing {
    /// The value of the first column, one entry per cluster.
    pub first: Vec<u32>,
    /// The value of the second column, one entry per cluster.
    pub second: Vec<u32>,
    /// Number of values of each column.
    pub sizes: [usize; 2],
}

impl Crossing {
    /// The crossings that are kept, with the values of both columns that occur in them renumbered from 0.
    pub fn of(&self, is_kept: &[bool]) -> Self {
        let column = |values: &[u32], size: usize| {
            let kept = || values.iter().zip(is_kept).filter(|&(_, &is)| is).map(|(&value, _)| value as usize);
            let mut occurs = vec![false; size];
            kept().for_each(|value| occurs[value] = true);
            let (number, size) = renumbered(&occurs);
            (kept().map(|value| number[value]).collect(), size)
        };
        let (first, left) = column(&self.first, self.sizes[0]);
        let (second, right) = column(&self.second, self.sizes[1]);
        Self { first, second, sizes: [left, right] }
    }

    /// Check that the table fits `cells`.
    ///
    /// # Errors
    /// [`CoreError::BadArgument`] when a column has another length than there are clusters, or a value is too large.
    pub fn check(&self, cells: &Cells) -> Result<(), CoreError> {
        if self.first.len() != cells.clusters() || self.second.len() != cells.clusters() {
            return Err(CoreError::BadArgument("a crossing needs one entry per cluster"));
        }
        let within = |column: &[u32], size: usize| column.iter().all(|&value| (value as usize) < size);
        if within(&self.first, self.sizes[0]) && within(&self.second, self.sizes[1]) {
            Ok(())
        } else {
            Err(CoreError::BadArgument("a crossing names a value that there is not"))
        }
    }
}

/// Numbers the pairs of codes that it meets, in the order in which it meets them.
#[derive(Debug, Default)]
pub struct Crosser {
    number: HashMap<u64, u32>,
    met: [Vec<u32>; 2],
}

impl Crosser {
    /// The number of every pair of codes.
    ///
    /// # Errors
    /// [`CoreError::LengthMismatch`] for columns of different lengths.
    pub fn number(&mut self, first: &[u32], second: &[u32]) -> Result<Vec<u32>, CoreError> {
        if first.len() != second.len() {
            let (found, expected) = (second.len(), first.len());
            return Err(CoreError::LengthMismatch { column: "second", found, expected });
        }
        let Self { number, met: [lefts, rights] } = self;
        let of = |(&left, &right): (&u32, &u32)| {
            *number.entry(u64::from(left) << 32 | u64::from(right)).or_insert_with(|| {
                lefts.push(left);
                rights.push(right);
                (lefts.len() - 1) as u32
            })
        };
        Ok(first.iter().zip(second).map(of).collect())
    }

    /// The codes behind the numbers 0, 1, ….
    pub fn met(&self) -> &[Vec<u32>; 2] {
        &self.met
    }
}
