//! Near-duplicate hashes on their way in and out.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use salon_core::near_duplicates::near_duplicates as core_near_duplicates;

use crate::run_detached::through;

/// The smallest index of every hash's group, shape (n,).
#[pyfunction]
pub fn near_duplicates<'py>(
    py: Python<'py>,
    hashes: PyReadonlyArray1<'_, u64>,
    distance: u32,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let hashes = hashes.as_slice()?;
    let found = through(py, None, |watch| core_near_duplicates(hashes, distance, watch))?;
    Ok(found.into_pyarray(py))
}
