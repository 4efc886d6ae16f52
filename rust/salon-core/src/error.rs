//! What can be wrong with what a caller hands in. The caller is never able to crash this crate.

use std::fmt;

/// A wrong argument, or work that was called off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CoreError {
    /// Two columns of one batch of battles differ in length.
    LengthMismatch {
        /// The column that does not fit.
        column: &'static str,
        /// Its length.
        found: usize,
        /// The length of the first column.
        expected: usize,
    },
    /// A row that no battle can have: an unknown code, a model against itself, or an impossible weight.
    BadRow {
        /// 0-based row within the batch.
        row: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// An argument outside its range.
    BadArgument(&'static str),
    /// The watcher asked for the work to stop.
    Cancelled,
}

impl fmt::Display for CoreError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LengthMismatch { column, found, expected } => {
                write!(formatter, "column {column} has {found} rows, expected {expected}")
            }
            Self::BadRow { row, problem } => write!(formatter, "row {row}: {problem}"),
            Self::BadArgument(problem) => formatter.write_str(problem),
            Self::Cancelled => formatter.write_str("cancelled"),
        }
    }
}

impl std::error::Error for CoreError {}
