//! Intervals of models with further parameters on their way out, and what simultaneous intervals need.

use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use salon_core::model::bradley_terry::Settings;
use salon_core::model::firth::Estimator;
use salon_core::uncertainty::bootstrap::Plan;
use salon_core::uncertainty::cluster_sandwich::{ClusteredFit, Design};
use salon_core::uncertainty::contextual_bootstrap;
use salon_core::uncertainty::max_t;
use salon_core::uncertainty::paired_resample::{Table, draw_items};
use salon_core::uncertainty::parameter_scores::Scores;
use salon_core::uncertainty::row_resample::{Grouping, RowSampler};
use salon_core::uncertainty::tie_bootstrap;

use crate::battles::Cells;
use crate::models::{RowArrays, tie_model};
use crate::ratings::{Replicates, settings};
use crate::run_detached::{raised, through};

type Array<'py> = PyReadonlyArray1<'py, f64>;
type Codes<'py> = PyReadonlyArray1<'py, u32>;

/// Scores of rows as arrays that the core can borrow: first, second, slope, further (rows, parameters), count.
#[derive(FromPyObject)]
pub struct ScoreArrays<'py>(Codes<'py>, Codes<'py>, Array<'py>, PyReadonlyArray2<'py, f64>, Array<'py>);

impl ScoreArrays<'_> {
    fn scores<'a>(&'a self, models: usize, group: Option<(&'a [u32], usize)>) -> PyResult<Scores<'a>> {
        Ok(Scores {
            models,
            size: self.3.shape()[1],
            first: self.0.as_slice()?,
            second: self.1.as_slice()?,
            slope: self.2.as_slice()?,
            further: self.3.as_slice()?,
            count: self.4.as_slice()?,
            group,
        })
    }
}

/// The rows of a fit's information as arrays that the core can borrow: first, second, along, further (rows, parameters), group.
#[derive(FromPyObject)]
pub struct DesignArrays<'py>(Codes<'py>, Codes<'py>, Array<'py>, PyReadonlyArray2<'py, f64>, Codes<'py>);

impl DesignArrays<'_> {
    fn design(&self, models: usize, clusters: usize) -> PyResult<Design<'_>> {
        Ok(Design {
            models,
            size: self.3.shape()[1],
            first: self.0.as_slice()?,
            second: self.1.as_slice()?,
            along: self.2.as_slice()?,
            further: self.3.as_slice()?,
            group: (self.4.as_slice()?, clusters),
        })
    }
}

fn sized(group: &[u32]) -> (&[u32], usize) {
    (group, group.iter().max().map_or(0, |&largest| largest as usize + 1))
}

fn groupings(groups: &[Codes<'_>]) -> PyResult<Vec<Grouping>> {
    groups
        .iter()
        .map(|group| {
            let (group, size) = sized(group.as_slice()?);
            Ok((group.to_vec(), size))
        })
        .collect()
}

/// Sum of the outer products of the scores of all battles, or of all groups of rows; strengths first, then the others.
#[pyfunction]
#[pyo3(signature = (models, scores, group=None))]
pub fn parameter_products<'py>(
    py: Python<'py>,
    models: usize,
    scores: ScoreArrays<'_>,
    group: Option<Codes<'_>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let group = group.as_ref().map(|group| group.as_slice()).transpose()?.map(sized);
    let scores = scores.scores(models, group)?;
    let width = models + scores.size;
    through(py, None, |watch| scores.products(watch))?.into_pyarray(py).reshape([width, width])
}

/// Sums of the cubes of influences `kernelᵀ · score` over all battles, or all groups of rows; one per column of the kernel.
#[pyfunction]
#[pyo3(signature = (models, scores, kernel, group=None))]
pub fn parameter_third_moments<'py>(
    py: Python<'py>,
    models: usize,
    scores: ScoreArrays<'_>,
    kernel: PyReadonlyArray2<'_, f64>,
    group: Option<Codes<'_>>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let group = group.as_ref().map(|group| group.as_slice()).transpose()?.map(sized);
    let scores = scores.scores(models, group)?;
    let (columns, kernel) = (kernel.shape()[1], kernel.as_slice()?);
    Ok(through(py, None, |watch| scores.third_moments(kernel, columns, watch))?.into_pyarray(py))
}

/// Sum of the outer products of the scores of all clusters, each corrected for what the fit follows of it (CR2).
#[pyfunction]
#[pyo3(signature = (models, scores, design, group, bread, prior))]
pub fn corrected_products<'py>(
    py: Python<'py>,
    models: usize,
    scores: ScoreArrays<'_>,
    design: DesignArrays<'_>,
    group: Codes<'_>,
    bread: PyReadonlyArray2<'_, f64>,
    prior: Array<'_>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let group = sized(group.as_slice()?);
    let scores = scores.scores(models, Some(group))?;
    let (bread, prior) = (bread.as_slice()?, prior.as_slice()?);
    let fit = ClusteredFit { design: design.design(models, group.1)?, bread, prior };
    let width = models + scores.size;
    through(py, None, |watch| fit.products(&scores, watch))?.into_pyarray(py).reshape([width, width])
}

/// Satterthwaite's degrees of freedom of the sandwich of some contrasts c, given as rows M c; NaN where one cluster alone knows
/// something of a contrast.
#[pyfunction]
#[pyo3(signature = (models, design, clusters, bread, prior, reaches, threads))]
#[allow(clippy::too_many_arguments)]
pub fn contrast_degrees<'py>(
    py: Python<'py>,
    models: usize,
    design: DesignArrays<'_>,
    clusters: usize,
    bread: PyReadonlyArray2<'_, f64>,
    prior: Array<'_>,
    reaches: PyReadonlyArray2<'_, f64>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (bread, prior, reaches) = (bread.as_slice()?, prior.as_slice()?, reaches.as_slice()?);
    let fit = ClusteredFit { design: design.design(models, clusters)?, bread, prior };
    Ok(through(py, None, |watch| fit.degrees(reaches, threads, watch))?.into_pyarray(py))
}

/// For each row of deviations (rows, models) the largest (d_i - d_j) * inverse[i, j]; 0 in `inverse` leaves a pair out.
#[pyfunction]
#[pyo3(signature = (deviations, inverse))]
pub fn largest_gaps<'py>(
    py: Python<'py>,
    deviations: PyReadonlyArray2<'_, f64>,
    inverse: PyReadonlyArray2<'_, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let models = deviations.shape()[1];
    let (deviations, inverse) = (deviations.as_slice()?, inverse.as_slice()?);
    let found = through(py, None, |watch| max_t::largest_gaps(deviations, models, inverse, watch))?;
    Ok(found.into_pyarray(py))
}

/// The same cells with other numbers of battles, one per cell; cells without any are left out.
#[pyfunction]
#[pyo3(signature = (cells, count))]
pub fn recounted(cells: &Cells, count: PyReadonlyArray1<'_, u64>) -> PyResult<Cells> {
    let inner = cells.inner.recounted(count.as_slice()?).map_err(|error| raised(&error))?;
    Ok(Cells { inner })
}

/// How often each row counts in one replicate: battles are drawn, or the groups of one or two groupings of the rows.
#[pyfunction]
#[pyo3(signature = (count, groups, seed, index))]
pub fn resampled_rows<'py>(
    py: Python<'py>,
    count: PyReadonlyArray1<'_, u64>,
    groups: Vec<Codes<'_>>,
    seed: u64,
    index: u64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let count = count.as_slice()?;
    let sampler = RowSampler::new(count, groupings(&groups)?).map_err(|error| raised(&error))?;
    let mut times = vec![0.0; count.len()];
    sampler.draw(seed, index, &mut times);
    Ok(times.into_pyarray(py))
}

/// Mean differences of every pair of systems over resampled items, shape (replicates, pairs); NaN in `scores` (items, systems)
/// is an item without a score, and a difference over no items.
#[pyfunction]
#[pyo3(signature = (scores, replicates, seed, threads))]
pub fn paired_differences<'py>(
    py: Python<'py>,
    scores: PyReadonlyArray2<'_, f64>,
    replicates: usize,
    seed: u64,
    threads: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let table = Table::new(scores.as_slice()?, scores.shape()[1]).map_err(|error| raised(&error))?;
    let found = through(py, None, |watch| table.differences(replicates, seed, threads, watch))?;
    found.into_pyarray(py).reshape([replicates, table.pairs()])
}

/// How often each of some items is drawn in one replicate of `paired_differences`.
#[pyfunction]
#[pyo3(signature = (items, seed, index))]
pub fn drawn_items(py: Python<'_>, items: usize, seed: u64, index: u64) -> Bound<'_, PyArray1<f64>> {
    let mut times = vec![0.0; items];
    draw_items(seed, index, &mut times);
    times.into_pyarray(py)
}

/// Resample battles (or clusters) and fit a tie model to every replicate, starting from `estimate` and `tie` (ln ν or ln κ).
/// Rows hold θ, and last ν or κ.
#[pyfunction]
#[pyo3(signature = (cells, model, estimate, tie, baseline, replicates, seed, by_cluster, threads, prior_ties, tolerance,
    max_iterations, progress=None))]
#[allow(clippy::too_many_arguments)]
pub fn bootstrap_ties(
    py: Python<'_>,
    cells: &Cells,
    model: &str,
    estimate: PyReadonlyArray1<'_, f64>,
    tie: f64,
    baseline: usize,
    replicates: usize,
    seed: u64,
    by_cluster: bool,
    threads: usize,
    prior_ties: f64,
    tolerance: f64,
    max_iterations: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Replicates> {
    let settings = settings(prior_ties, tolerance, max_iterations)?;
    let plan = Plan { replicates, seed, by_cluster, baseline, threads, estimator: Estimator::default() };
    let (model, estimate, cells) = (tie_model(model)?, estimate.as_slice()?, &cells.inner);
    let inner = through(py, progress, |watch| {
        tie_bootstrap::bootstrap_ties(cells, model, estimate, tie, &settings, &plan, watch)
    })?;
    Ok(Replicates { inner, models: estimate.len() + 1 })
}

/// Resample rows (or, of one or two groupings, groups) and fit strengths and coefficients to every replicate, starting from
/// `estimate` and `coefficients`. Rows hold θ, then β.
#[pyfunction]
#[pyo3(signature = (rows, estimate, coefficients, groups, baseline, replicates, seed, threads, prior_ties, tolerance,
    max_iterations, progress=None, ridge=0.0))]
#[allow(clippy::too_many_arguments)]
pub fn bootstrap_contextual(
    py: Python<'_>,
    rows: RowArrays<'_>,
    estimate: PyReadonlyArray1<'_, f64>,
    coefficients: PyReadonlyArray1<'_, f64>,
    groups: Vec<Codes<'_>>,
    baseline: usize,
    replicates: usize,
    seed: u64,
    threads: usize,
    prior_ties: f64,
    tolerance: f64,
    max_iterations: usize,
    progress: Option<&Bound<'_, PyAny>>,
    ridge: f64,
) -> PyResult<Replicates> {
    let settings = Settings { ridge, ..settings(prior_ties, tolerance, max_iterations)? };
    let plan =
        Plan { replicates, seed, by_cluster: !groups.is_empty(), baseline, threads, estimator: Estimator::default() };
    let (estimate, coefficients, groups) = (estimate.as_slice()?, coefficients.as_slice()?, groupings(&groups)?);
    let rows = rows.rows(estimate.len())?;
    if coefficients.is_empty() {
        return Err(PyValueError::new_err("there are no coefficients"));
    }
    let start = (estimate, coefficients);
    let inner = through(py, progress, |watch| {
        contextual_bootstrap::bootstrap_contextual(&rows, start, groups, &settings, &plan, watch)
    })?;
    Ok(Replicates { inner, models: estimate.len() + coefficients.len() })
}
