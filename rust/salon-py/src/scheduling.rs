//! Matches on their way out: `schedule`.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use salon_core::scheduling::next_pairs::{Rule, Shelf, Standing, schedule as core_schedule};

use crate::run_detached::through;

type Indices<'py> = Bound<'py, PyArray1<u32>>;

/// Plan matches: model a, model b, entry of a, entry of b, sample of a, sample of b, and 1 where a is on the left.
///
/// `rule` is uniform, mef, information or proportional; the last two read `covariance`. Without the three columns of a shelf, entries and
/// samples are 0. No rows when no two models share a prompt.
#[pyfunction]
#[pyo3(signature = (log_strengths, matches, rule, count, seed, covariance=None, start=None, prompt=None, samples=None))]
#[allow(clippy::too_many_arguments)]
pub fn schedule<'py>(
    py: Python<'py>,
    log_strengths: PyReadonlyArray1<'_, f64>,
    matches: PyReadonlyArray2<'_, f64>,
    rule: &str,
    count: usize,
    seed: u64,
    covariance: Option<PyReadonlyArray2<'_, f64>>,
    start: Option<PyReadonlyArray1<'_, u64>>,
    prompt: Option<PyReadonlyArray1<'_, u32>>,
    samples: Option<PyReadonlyArray1<'_, u32>>,
) -> PyResult<Vec<Indices<'py>>> {
    let rule = match rule {
        "uniform" => Rule::Uniform,
        "mef" => Rule::Mef,
        "information" => Rule::Information,
        "proportional" => Rule::Proportional,
        _ => return Err(PyValueError::new_err("unknown rule")),
    };
    let (log_strengths, matches) = (log_strengths.as_slice()?.to_vec(), matches.as_slice()?.to_vec());
    let covariance = covariance.map_or(Ok(Vec::new()), |matrix| matrix.as_slice().map(<[f64]>::to_vec))?;
    let shelf = match (start, prompt, samples) {
        (Some(start), Some(prompt), Some(samples)) => Some((
            start.as_slice()?.iter().map(|&at| at as usize).collect::<Vec<_>>(),
            prompt.as_slice()?.to_vec(),
            samples.as_slice()?.to_vec(),
        )),
        (None, None, None) => None,
        _ => return Err(PyValueError::new_err("a shelf has start, prompt and samples")),
    };
    let planned = through(py, None, |watch| {
        let standing = Standing { log_strengths: &log_strengths, matches: &matches, covariance: &covariance };
        let shelf = shelf.as_ref().map(|(start, prompt, samples)| Shelf { start, prompt, samples });
        core_schedule(&standing, shelf.as_ref(), rule, count, seed, watch)
    })?;
    let columns: [Vec<u32>; 7] = [
        planned.iter().map(|planned| planned.a).collect(),
        planned.iter().map(|planned| planned.b).collect(),
        planned.iter().map(|planned| planned.entry_a as u32).collect(),
        planned.iter().map(|planned| planned.entry_b as u32).collect(),
        planned.iter().map(|planned| planned.sample_a).collect(),
        planned.iter().map(|planned| planned.sample_b).collect(),
        planned.iter().map(|planned| u32::from(planned.a_left)).collect(),
    ];
    Ok(columns.into_iter().map(|column| column.into_pyarray(py)).collect())
}
