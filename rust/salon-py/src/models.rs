//! Models beyond plain Bradley-Terry, on their way out: tie models, covariates, rankings, online Elo, leagues that grow.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use salon_core::battles::cells::Outcome;
use salon_core::battles::merge::merged;
use salon_core::linalg::sparse_cholesky::Elimination;
use salon_core::model::bradley_terry::{Likelihood, Settings};
use salon_core::model::contextual::{self, ContextualFit as CoreContextualFit, Rows};
use salon_core::model::online_elo::{OnlineElo as CoreOnlineElo, Rules};
use salon_core::model::plackett_luce::{self, Rankings};
use salon_core::model::ties::{self, TieFit as CoreTieFit, TieModel};

use crate::battles::Cells;
use crate::ratings::{Fit, settings};
use crate::run_detached::{raised, through};

type Array<'py> = Bound<'py, PyArray1<f64>>;

/// A fitted tie model.
#[pyclass(frozen, module = "salon_ranking._core")]
pub struct TieFit {
    inner: CoreTieFit,
}

#[pymethods]
impl TieFit {
    /// θ, one per model.
    #[getter]
    fn log_strengths<'py>(&self, py: Python<'py>) -> Array<'py> {
        PyArray1::from_slice(py, &self.inner.log_strengths)
    }

    /// ln ν or ln κ.
    #[getter]
    fn tie(&self) -> f64 {
        self.inner.tie
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

    /// Largest slope of the log-likelihood per match.
    #[getter]
    fn gradient_norm(&self) -> f64 {
        self.inner.gradient_norm
    }
}

/// A fitted Bradley-Terry model with covariates.
#[pyclass(frozen, module = "salon_ranking._core")]
pub struct ContextualFit {
    inner: CoreContextualFit,
}

#[pymethods]
impl ContextualFit {
    /// θ, one per model.
    #[getter]
    fn log_strengths<'py>(&self, py: Python<'py>) -> Array<'py> {
        PyArray1::from_slice(py, &self.inner.log_strengths)
    }

    /// β, one per covariate.
    #[getter]
    fn coefficients<'py>(&self, py: Python<'py>) -> Array<'py> {
        PyArray1::from_slice(py, &self.inner.coefficients)
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

    /// Whether every step was determined.
    #[getter]
    fn determined(&self) -> bool {
        self.inner.determined
    }

    /// Largest log-odds of any row, in absolute value.
    #[getter]
    fn largest_log_odds(&self) -> f64 {
        self.inner.largest_log_odds
    }

    /// Largest slope of the log-likelihood per match.
    #[getter]
    fn gradient_norm(&self) -> f64 {
        self.inner.gradient_norm
    }
}

/// Online Elo, battle by battle.
#[pyclass(module = "salon_ranking._core")]
pub struct OnlineElo {
    inner: CoreOnlineElo,
}

#[pymethods]
impl OnlineElo {
    #[new]
    #[pyo3(signature = (k, base, scale, initial, keep))]
    fn new(k: f64, base: f64, scale: f64, initial: f64, keep: bool) -> PyResult<Self> {
        if !(k > 0.0 && base > 1.0 && scale > 0.0 && [k, base, scale, initial].iter().all(|value| value.is_finite())) {
            return Err(PyValueError::new_err("k and scale must be positive, base above 1, all of them finite"));
        }
        Ok(Self { inner: CoreOnlineElo::new(Rules { k, base, scale, initial }, keep) })
    }

    /// Play one batch, given as codes; `menu` as for `Aggregator.add`.
    fn add(
        &mut self,
        model_a: PyReadonlyArray1<'_, u32>,
        model_b: PyReadonlyArray1<'_, u32>,
        winner: PyReadonlyArray1<'_, u32>,
        menu: Vec<u8>,
    ) -> PyResult<()> {
        let menu: Vec<Option<Outcome>> = menu.into_iter().map(crate::battles::outcome).collect();
        self.inner
            .add(model_a.as_slice()?, model_b.as_slice()?, winner.as_slice()?, &menu)
            .map_err(|error| raised(&error))
    }

    /// The rating of every code so far.
    fn ratings<'py>(&self, py: Python<'py>) -> Array<'py> {
        PyArray1::from_slice(py, self.inner.ratings())
    }

    /// Per code: wins, losses, ties.
    fn records<'py>(&self, py: Python<'py>) -> [Bound<'py, PyArray1<u64>>; 3] {
        std::array::from_fn(|kind| {
            self.inner.records().iter().map(|record| record[kind]).collect::<Vec<_>>().into_pyarray(py)
        })
    }

    /// Mean and standard deviation of every code's rating over random orders of all battles.
    #[pyo3(signature = (orders, seed, threads, progress=None))]
    fn over_orders<'py>(
        &self,
        py: Python<'py>,
        orders: usize,
        seed: u64,
        threads: usize,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Array<'py>, Array<'py>)> {
        let inner = &self.inner;
        let found = through(py, progress, |watch| inner.over_orders(orders, seed, threads, watch))?;
        Ok((found.mean.into_pyarray(py), found.spread.into_pyarray(py)))
    }
}

/// As `fit`, from given log-strengths: they change the number of steps, not the answer.
#[pyfunction]
#[pyo3(signature = (cells, start, prior_ties, tolerance, max_iterations))]
pub fn fit_from(
    py: Python<'_>,
    cells: &Cells,
    start: PyReadonlyArray1<'_, f64>,
    prior_ties: f64,
    tolerance: f64,
    max_iterations: usize,
) -> PyResult<Fit> {
    let settings = settings(prior_ties, tolerance, max_iterations)?;
    let start = start.as_slice()?;
    if start.len() != cells.inner.pairs().models || start.iter().any(|value| !value.is_finite()) {
        return Err(PyValueError::new_err("start must hold one finite number per model"));
    }
    if !cells.all_present() {
        return Err(PyValueError::new_err("a model has no battle"));
    }
    let cells = &cells.inner;
    let inner = through(py, None, |watch| {
        let scores = cells.scores();
        let elimination = Elimination::plan(cells.pairs());
        let likelihood = Likelihood::new(cells.pairs(), &scores, prior_ties).eliminated(elimination.as_ref());
        likelihood.maximise(start, &settings, watch)
    })?;
    Ok(Fit { inner })
}

pub(crate) fn tie_model(name: &str) -> PyResult<TieModel> {
    match name {
        "davidson" => Ok(TieModel::Davidson),
        "rao-kupper" => Ok(TieModel::RaoKupper),
        _ => Err(PyValueError::new_err("unknown tie model")),
    }
}

/// Fit a tie model: `model` is "davidson" or "rao-kupper".
#[pyfunction]
#[pyo3(signature = (cells, model, prior_ties, tolerance, max_iterations))]
pub fn fit_ties(
    py: Python<'_>,
    cells: &Cells,
    model: &str,
    prior_ties: f64,
    tolerance: f64,
    max_iterations: usize,
) -> PyResult<TieFit> {
    let settings: Settings = settings(prior_ties, tolerance, max_iterations)?;
    let model = tie_model(model)?;
    if !cells.all_present() {
        return Err(PyValueError::new_err("a model has no battle"));
    }
    let cells = &cells.inner;
    let inner = through(py, None, |watch| ties::fit_ties(cells, model, &settings, watch))?;
    Ok(TieFit { inner })
}

/// Whether some cycle of models has more wins than ties.
#[pyfunction]
pub fn has_decisive_cycle(py: Python<'_>, cells: &Cells) -> PyResult<bool> {
    let cells = &cells.inner;
    through(py, None, |watch| ties::has_decisive_cycle(cells, watch))
}

/// Rows of battles as arrays that the core can borrow.
#[derive(FromPyObject)]
pub struct RowArrays<'py>(
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray2<'py, f64>,
);

impl RowArrays<'_> {
    pub(crate) fn rows(&self, models: usize) -> PyResult<Rows<'_>> {
        if self.5.shape()[0] != self.0.len() {
            return Err(PyValueError::new_err("covariates must have one row per battle"));
        }
        Ok(Rows {
            models,
            first: self.0.as_slice()?,
            second: self.1.as_slice()?,
            score: self.2.as_slice()?,
            count: self.3.as_slice()?,
            weight: self.4.as_slice()?,
            covariates: self.5.as_slice()?,
        })
    }
}

/// Fit strengths and coefficients; `rows` are first, second, score, count, weight, covariates (rows, covariates).
#[pyfunction]
#[pyo3(signature = (models, rows, prior_ties, tolerance, max_iterations, ridge=0.0))]
pub fn fit_contextual(
    py: Python<'_>,
    models: usize,
    rows: RowArrays<'_>,
    prior_ties: f64,
    tolerance: f64,
    max_iterations: usize,
    ridge: f64,
) -> PyResult<ContextualFit> {
    let settings = Settings { ridge, ..settings(prior_ties, tolerance, max_iterations)? };
    let rows = rows.rows(models)?;
    let inner = through(py, None, |watch| contextual::fit_contextual(&rows, &settings, watch))?;
    Ok(ContextualFit { inner })
}

/// Per covariate, the share of its sum of squares that neither strengths nor earlier covariates explain.
#[pyfunction]
pub fn unexplained<'py>(py: Python<'py>, models: usize, rows: RowArrays<'_>) -> PyResult<Array<'py>> {
    let rows = rows.rows(models)?;
    let shares = through(py, None, |watch| contextual::unexplained(&rows, watch))?;
    Ok(shares.into_pyarray(py))
}

/// Rankings as arrays that the core can borrow: start, model, place, weight.
#[derive(FromPyObject)]
pub struct RankingArrays<'py>(
    PyReadonlyArray1<'py, u64>,
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, f64>,
);

impl RankingArrays<'_> {
    fn rankings(&self, models: usize) -> PyResult<Rankings<'_>> {
        let (start, model) = (self.0.as_slice()?, self.1.as_slice()?);
        Ok(Rankings { models, start, model, place: self.2.as_slice()?, weight: self.3.as_slice()? })
    }
}

/// Fit strengths to rankings, from `start`.
#[pyfunction]
#[pyo3(signature = (models, rankings, start, prior_ties, tolerance, max_iterations))]
pub fn fit_rankings(
    py: Python<'_>,
    models: usize,
    rankings: RankingArrays<'_>,
    start: PyReadonlyArray1<'_, f64>,
    prior_ties: f64,
    tolerance: f64,
    max_iterations: usize,
) -> PyResult<Fit> {
    let settings = settings(prior_ties, tolerance, max_iterations)?;
    let (rankings, start) = (rankings.rankings(models)?, start.as_slice()?);
    let inner = through(py, None, |watch| plackett_luce::fit_rankings(&rankings, start, &settings, watch))?;
    Ok(Fit { inner })
}

type Codes<'py> = Bound<'py, PyArray1<u32>>;

/// The log-likelihood at `log_strengths`, and one row per pair of models in a ranking: first, second, slope, bend, ranking.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn ranking_rows<'py>(
    py: Python<'py>,
    models: usize,
    rankings: RankingArrays<'_>,
    log_strengths: PyReadonlyArray1<'_, f64>,
) -> PyResult<(f64, Codes<'py>, Codes<'py>, Array<'py>, Array<'py>, Codes<'py>)> {
    let (rankings, theta) = (rankings.rankings(models)?, log_strengths.as_slice()?);
    if theta.len() != models {
        return Err(PyValueError::new_err("log_strengths must hold one number per model"));
    }
    let rows = through(py, None, |_| rankings.check().map(|()| rankings.at(theta)))?;
    Ok((
        rows.log_likelihood,
        rows.first.into_pyarray(py),
        rows.second.into_pyarray(py),
        rows.slope.into_pyarray(py),
        rows.bend.into_pyarray(py),
        rows.ranking.into_pyarray(py),
    ))
}

/// The battles of two sets of cells together; model `m` of each becomes its `number[m]` of `models`.
#[pyfunction]
pub fn merge_cells(
    left: &Cells,
    left_number: PyReadonlyArray1<'_, u32>,
    right: &Cells,
    right_number: PyReadonlyArray1<'_, u32>,
    models: usize,
) -> PyResult<Cells> {
    let inner = merged(&left.inner, left_number.as_slice()?, &right.inner, right_number.as_slice()?, models)
        .map_err(|error| raised(&error))?;
    Ok(Cells { inner })
}
