//! Ratings on their way out: `fit` and `bootstrap`.

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use salon_core::battles::graph::Graph;
use salon_core::linalg::sparse_cholesky::Elimination;
use salon_core::model::bradley_terry::{Fit as CoreFit, Likelihood, Settings};
use salon_core::model::firth::{Estimator, maximise as maximise_reduced};
use salon_core::uncertainty::bootstrap::{Plan, Replicates as CoreReplicates, bootstrap as core_bootstrap};

use crate::battles::Cells;
use crate::run_detached::through;

/// A fitted Bradley-Terry model.
#[pyclass(frozen, module = "salon_ranking._core")]
pub struct Fit {
    pub(crate) inner: CoreFit,
}

#[pymethods]
impl Fit {
    /// θ, one per model.
    #[getter]
    fn log_strengths<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.inner.log_strengths)
    }

    /// Newton steps taken.
    #[getter]
    fn iterations(&self) -> usize {
        self.inner.iterations
    }

    /// Whether the last step was within the tolerance.
    #[getter]
    fn converged(&self) -> bool {
        self.inner.converged
    }

    /// Largest difference between observed and expected score per match.
    #[getter]
    fn gradient_norm(&self) -> f64 {
        self.inner.gradient_norm
    }
}

/// The bootstrap distribution of a fit.
#[pyclass(frozen, module = "salon_ranking._core")]
pub struct Replicates {
    pub(crate) inner: CoreReplicates,
    pub(crate) models: usize,
}

#[pymethods]
impl Replicates {
    /// θ, shape (replicates, models); NaN where there is none.
    #[getter]
    fn log_strengths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let rows = self.inner.log_strengths.len() / self.models.max(1);
        PyArray1::from_slice(py, &self.inner.log_strengths).reshape([rows, self.models])
    }

    /// Replicates without a finite estimate.
    #[getter]
    fn degenerate(&self) -> usize {
        self.inner.degenerate
    }

    /// Replicates that did not reach the tolerance.
    #[getter]
    fn unconverged(&self) -> usize {
        self.inner.unconverged
    }
}

pub(crate) fn settings(prior_ties: f64, tolerance: f64, max_iterations: usize) -> PyResult<Settings> {
    if !(prior_ties >= 0.0 && prior_ties.is_finite() && tolerance > 0.0) {
        return Err(PyValueError::new_err("prior_ties must be finite and not negative, tolerance positive"));
    }
    Ok(Settings { tolerance, max_iterations, prior_ties, ridge: 0.0 })
}

/// Fit the Bradley-Terry model to all battles, from equal strengths.
#[pyfunction]
#[pyo3(signature = (cells, prior_ties, tolerance, max_iterations))]
pub fn fit(py: Python<'_>, cells: &Cells, prior_ties: f64, tolerance: f64, max_iterations: usize) -> PyResult<Fit> {
    let settings = settings(prior_ties, tolerance, max_iterations)?;
    if !cells.all_present() {
        return Err(PyValueError::new_err("a model has no battle"));
    }
    let cells = &cells.inner;
    let inner = through(py, None, |watch| {
        let scores = cells.scores();
        let elimination = Elimination::plan(cells.pairs());
        let likelihood = Likelihood::new(cells.pairs(), &scores, prior_ties).eliminated(elimination.as_ref());
        likelihood.maximise(&vec![0.0; cells.pairs().models], &settings, watch)
    })?;
    Ok(Fit { inner })
}

/// Fit with Firth's bias reduction, from `start` or equal strengths, to battles that connect all models.
#[pyfunction]
#[pyo3(signature = (cells, tolerance, max_iterations, start=None))]
pub fn fit_firth(
    py: Python<'_>,
    cells: &Cells,
    tolerance: f64,
    max_iterations: usize,
    start: Option<PyReadonlyArray1<'_, f64>>,
) -> PyResult<Fit> {
    let settings = settings(0.0, tolerance, max_iterations)?;
    if Graph::new(cells.inner.pairs()).joined(&cells.inner.scores()).iter().any(|&group| group > 0) {
        return Err(PyValueError::new_err("battles must connect all models"));
    }
    let cells = &cells.inner;
    let start = start.map_or(Ok(vec![0.0; cells.pairs().models]), |start| start.as_slice().map(<[f64]>::to_vec))?;
    if start.len() != cells.pairs().models || start.iter().any(|value| !value.is_finite()) {
        return Err(PyValueError::new_err("start must hold one finite number per model"));
    }
    let inner = through(py, None, |watch| {
        let elimination = Elimination::plan(cells.pairs());
        maximise_reduced(cells.pairs(), &cells.scores(), elimination.as_ref(), &start, &settings, watch)
    })?;
    Ok(Fit { inner })
}

/// Resample battles (or clusters) and fit every replicate, starting from `estimate`, the fit to all battles.
///
/// `progress(done)` is called now and then with the number of finished replicates.
#[pyfunction]
#[pyo3(signature = (cells, estimate, baseline, replicates, seed, by_cluster, threads, prior_ties, tolerance,
    max_iterations, progress=None, firth=false))]
#[allow(clippy::too_many_arguments)]
pub fn bootstrap(
    py: Python<'_>,
    cells: &Cells,
    estimate: PyReadonlyArray1<'_, f64>,
    baseline: usize,
    replicates: usize,
    seed: u64,
    by_cluster: bool,
    threads: usize,
    prior_ties: f64,
    tolerance: f64,
    max_iterations: usize,
    progress: Option<&Bound<'_, PyAny>>,
    firth: bool,
) -> PyResult<Replicates> {
    let settings = settings(prior_ties, tolerance, max_iterations)?;
    let estimator = if firth { Estimator::Firth } else { Estimator::MaximumLikelihood };
    let plan = Plan { replicates, seed, by_cluster, baseline, threads, estimator };
    let estimate = estimate.as_slice()?.to_vec();
    let (models, cells) = (estimate.len(), &cells.inner);
    let inner = through(py, progress, |watch| core_bootstrap(cells, &estimate, &settings, &plan, watch))?;
    Ok(Replicates { inner, models })
}
