//! Pictures on their way in: rows of red, green and blue, eight bits each, shape (height, width, 3).

use numpy::{PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::prelude::*;
use salon_core::error::CoreError;
use salon_core::pictures;

use crate::run_detached::through;

type Picture<'a> = PyReadonlyArray3<'a, u8>;

/// The sum of squared differences of all values.
#[pyfunction]
pub fn squared_error(py: Python<'_>, one: Picture<'_>, other: Picture<'_>) -> PyResult<u64> {
    let (one, other) = (one.as_slice()?, other.as_slice()?);
    through(py, None, |_| pictures::squared_error(one, other))
}

/// The mean structural similarity.
#[pyfunction]
pub fn similarity(py: Python<'_>, one: Picture<'_>, other: Picture<'_>, threads: usize) -> PyResult<f64> {
    measured(py, &one, &other, threads, pictures::similarity::similarity)
}

/// The structural similarity over five scales.
#[pyfunction]
pub fn multiscale_similarity(py: Python<'_>, one: Picture<'_>, other: Picture<'_>, threads: usize) -> PyResult<f64> {
    measured(py, &one, &other, threads, pictures::similarity::multiscale_similarity)
}

/// The mean CIEDE2000 difference.
#[pyfunction]
pub fn colour_difference(py: Python<'_>, one: Picture<'_>, other: Picture<'_>, threads: usize) -> PyResult<f64> {
    measured(py, &one, &other, threads, pictures::colour::colour_difference)
}

fn measured(
    py: Python<'_>,
    one: &Picture<'_>,
    other: &Picture<'_>,
    threads: usize,
    measure: impl FnOnce(&[u8], &[u8], usize, usize) -> Result<f64, CoreError> + Send,
) -> PyResult<f64> {
    let width = one.shape()[1];
    let (one, other) = (one.as_slice()?, other.as_slice()?);
    through(py, None, |_| measure(one, other, width, threads))
}
