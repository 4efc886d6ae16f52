//! `salon_ranking._core`.
use pyo3::prelude::*;

/// The numeric core of `salon_ranking`.
#[pymodule]
fn _core(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
