//! The only door between Python and long work: gives up the interpreter lock, listens for Ctrl-C, maps errors.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use salon_core::cancel::Watch;
use salon_core::error::CoreError;

/// How often Ctrl-C and the progress callback are looked after.
const TICK: Duration = Duration::from_millis(40);

/// Run `work` on a thread of its own, without the interpreter lock.
///
/// Every 40 ms Python's signal handlers run and `progress(done)` is called; when either raises, the work is called off
/// and that exception is raised as soon as the workers have noticed, which takes them one fit at most.
pub fn through<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> Result<T, CoreError> + Send,
) -> PyResult<T> {
    let watch = Watch::default();
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        let watch = &watch;
        // The receiver outlives the worker, so that sending cannot fail.
        scope.spawn(move || drop(sender.send(work(watch))));
        // Moved in and out: a receiver cannot be shared, and waiting must not hold the interpreter.
        let mut receiver = receiver;
        loop {
            let (waited, back) = py.detach(move || (receiver.recv_timeout(TICK), receiver));
            receiver = back;
            match waited {
                Ok(result) => return result.map_err(|error| raised(&error)),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err("the numeric core panicked"));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            let heard = py.check_signals().and_then(|()| match progress {
                Some(callback) => callback.call1((watch.done(),)).map(drop),
                None => Ok(()),
            });
            if let Err(exception) = heard {
                watch.cancel();
                py.detach(move || drop(receiver.recv()));
                return Err(exception);
            }
        }
    })
}

/// The Python exception for an error of the core. `salon_ranking` checks first, so these point to a mistake of ours.
pub fn raised(error: &CoreError) -> PyErr {
    match error {
        CoreError::Cancelled => PyRuntimeError::new_err(error.to_string()),
        CoreError::LengthMismatch { .. } | CoreError::BadRow { .. } | CoreError::BadArgument(_) => {
            PyValueError::new_err(error.to_string())
        }
    }
}
