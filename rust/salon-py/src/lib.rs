//! `salon_ranking._core`: the numeric core for Python.
//!
//! Thin on purpose: arrays come in without copies, `door` runs the work without the interpreter lock, results go out
//! as arrays. All checks of what users hand in happen in `salon_ranking`; what is checked again here guards memory.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod battles;
mod door;
mod ratings;
mod scheduling;

use pyo3::prelude::*;

/// The numeric core of `salon_ranking`; see `_core.pyi` for types.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<battles::Aggregator>()?;
    module.add_class::<battles::Cells>()?;
    module.add_class::<ratings::Fit>()?;
    module.add_class::<ratings::Replicates>()?;
    module.add_function(wrap_pyfunction!(ratings::fit, module)?)?;
    module.add_function(wrap_pyfunction!(ratings::bootstrap, module)?)?;
    module.add_function(wrap_pyfunction!(scheduling::schedule, module)?)?;
    Ok(())
}
