//! Shared cancel flag and progress counter between a worker thread and Python.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::CoreError;

/// Shared by the workers (who count and look) and the watcher (who reads and may call the work off).
#[derive(Debug, Default)]
pub struct Watch {
    cancelled: AtomicBool,
    done: AtomicUsize,
}

impl Watch {
    /// Ask the workers to stop at their next look.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Units of work finished so far (replicates, for a bootstrap).
    pub fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    /// Count `units` as finished.
    pub fn advance(&self, units: usize) {
        self.done.fetch_add(units, Ordering::Relaxed);
    }

    /// An error once somebody asked the work to stop.
    ///
    /// # Errors
    /// [`CoreError::Cancelled`] after [`Watch::cancel`].
    pub fn check(&self) -> Result<(), CoreError> {
        if self.cancelled.load(Ordering::Relaxed) { Err(CoreError::Cancelled) } else { Ok(()) }
    }
}
