//! Uncertainty on its way out: pieces of sandwich covariances, contributions of clusters, crossed clusters and groups.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use salon_core::battles::two_way::{Crosser as CoreCrosser, Crossing};
use salon_core::contributions::contributions as core_contributions;
use salon_core::model::bradley_terry::Settings;
use salon_core::uncertainty::sandwich;

use crate::battles::Cells;
use crate::run_detached::{raised, through};

type Columns<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>);
type Part<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>, Cells);

fn square(py: Python<'_>, matrix: Vec<f64>, models: usize) -> PyResult<Bound<'_, PyArray2<f64>>> {
    matrix.into_pyarray(py).reshape([models, models])
}

/// The group of every cluster, copied; `None` where battles stand for themselves.
fn groups(group: Option<&PyReadonlyArray1<'_, u32>>) -> PyResult<Option<(Vec<u32>, usize)>> {
    let Some(group) = group else {
        return Ok(None);
    };
    let group = group.as_slice()?.to_vec();
    let count = group.iter().max().map_or(0, |&largest| largest as usize + 1);
    Ok(Some((group, count)))
}

/// The curvature of the likelihood at θ, shape (models, models).
#[pyfunction]
#[pyo3(signature = (cells, log_strengths, prior_ties))]
pub fn information<'py>(
    py: Python<'py>,
    cells: &Cells,
    log_strengths: PyReadonlyArray1<'_, f64>,
    prior_ties: f64,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (theta, cells) = (log_strengths.as_slice()?.to_vec(), &cells.inner);
    let matrix = through(py, None, |_| sandwich::information(cells, &theta, prior_ties))?;
    square(py, matrix, theta.len())
}

/// The weighted log-likelihood of Bradley-Terry at θ, without a prior.
#[pyfunction]
#[pyo3(signature = (cells, log_strengths))]
pub fn log_likelihood(py: Python<'_>, cells: &Cells, log_strengths: PyReadonlyArray1<'_, f64>) -> PyResult<f64> {
    let (theta, cells) = (log_strengths.as_slice()?.to_vec(), &cells.inner);
    through(py, None, |_| sandwich::log_likelihood(cells, &theta))
}

/// Sum of the outer products of the scores of all battles, or of all groups of clusters; shape (models, models).
#[pyfunction]
#[pyo3(signature = (cells, log_strengths, group=None))]
pub fn score_products<'py>(
    py: Python<'py>,
    cells: &Cells,
    log_strengths: PyReadonlyArray1<'_, f64>,
    group: Option<PyReadonlyArray1<'_, u32>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (theta, cells) = (log_strengths.as_slice()?.to_vec(), &cells.inner);
    let groups = groups(group.as_ref())?;
    let matrix = through(py, None, |watch| {
        let groups = groups.as_ref().map(|(group, count)| (group.as_slice(), *count));
        sandwich::score_products(cells, &theta, groups, watch)
    })?;
    square(py, matrix, theta.len())
}

/// Sums of the cubes of influences `kernelᵀ · score` over all battles, or all groups of clusters; one per model.
#[pyfunction]
#[pyo3(signature = (cells, log_strengths, kernel, group=None))]
pub fn third_moments<'py>(
    py: Python<'py>,
    cells: &Cells,
    log_strengths: PyReadonlyArray1<'_, f64>,
    kernel: PyReadonlyArray2<'_, f64>,
    group: Option<PyReadonlyArray1<'_, u32>>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (theta, kernel, cells) = (log_strengths.as_slice()?.to_vec(), kernel.as_slice()?.to_vec(), &cells.inner);
    let groups = groups(group.as_ref())?;
    let cubes = through(py, None, |watch| {
        let groups = groups.as_ref().map(|(group, count)| (group.as_slice(), *count));
        sandwich::third_moments(cells, &theta, groups, &kernel, watch)
    })?;
    Ok(cubes.into_pyarray(py))
}

/// θ of every cluster's league in which all other battles are draws, shape (clusters, models), and how many fits did not
/// reach the tolerance. `progress(done)` is called now and then with the number of finished clusters.
#[pyfunction]
#[pyo3(signature = (cells, threads, prior_ties, tolerance, max_iterations, progress=None))]
pub fn contributions<'py>(
    py: Python<'py>,
    cells: &Cells,
    threads: usize,
    prior_ties: f64,
    tolerance: f64,
    max_iterations: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Bound<'py, PyArray2<f64>>, usize)> {
    let settings = Settings { tolerance, max_iterations, prior_ties, ridge: 0.0 };
    let cells = &cells.inner;
    let found = through(py, progress, |watch| core_contributions(cells, &settings, threads, watch))?;
    let shape = [cells.clusters(), cells.pairs().models];
    Ok((found.log_strengths.into_pyarray(py).reshape(shape)?, found.unconverged))
}

/// The same cells, whose clusters are crossings: value `first[cluster]` of one column meets `second[cluster]` of another.
#[pyfunction]
#[pyo3(signature = (cells, first, second))]
pub fn crossed(cells: &Cells, first: PyReadonlyArray1<'_, u32>, second: PyReadonlyArray1<'_, u32>) -> PyResult<Cells> {
    let columns = [first.as_slice()?.to_vec(), second.as_slice()?.to_vec()];
    let sizes = [0, 1].map(|column| columns[column].iter().max().map_or(0, |&largest: &u32| largest as usize + 1));
    let [first, second] = columns;
    let inner = cells.inner.clone().crossed(Crossing { first, second, sizes }).map_err(|error| raised(&error))?;
    Ok(Cells { inner })
}

/// The two columns of crossed clusters; None where clusters are not crossings.
#[pyfunction]
#[pyo3(signature = (cells))]
pub fn crossing<'py>(py: Python<'py>, cells: &Cells) -> Option<Columns<'py>> {
    let crossing = cells.inner.crossing()?;
    Some((PyArray1::from_slice(py, &crossing.first), PyArray1::from_slice(py, &crossing.second)))
}

/// The cells of every group, `group[cluster]`: numbers of its models, numbers of its clusters, and its cells, whose models and
/// clusters are renumbered from 0. Without `with_clusters` the parts forget their clusters.
#[pyfunction]
#[pyo3(signature = (cells, group, with_clusters))]
pub fn parts<'py>(
    py: Python<'py>,
    cells: &Cells,
    group: PyReadonlyArray1<'_, u32>,
    with_clusters: bool,
) -> PyResult<Vec<Part<'py>>> {
    let Some((group, count)) = groups(Some(&group))? else {
        return Err(PyValueError::new_err("there are no groups"));
    };
    let cells = &cells.inner;
    let parts = through(py, None, |_| {
        let mut parts = cells.parts(&group, count)?;
        if !with_clusters {
            for part in &mut parts {
                part.cells = part.cells.without_clusters();
            }
        }
        Ok(parts)
    })?;
    let out = parts
        .into_iter()
        .map(|part| (part.models.into_pyarray(py), part.clusters.into_pyarray(py), Cells { inner: part.cells }));
    Ok(out.collect())
}

/// Numbers pairs of codes in the order in which it meets them.
#[pyclass(module = "salon_ranking._core")]
#[derive(Default)]
pub struct Crosser {
    inner: CoreCrosser,
}

#[pymethods]
impl Crosser {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The number of every pair of codes.
    fn number<'py>(
        &mut self,
        py: Python<'py>,
        first: PyReadonlyArray1<'_, u32>,
        second: PyReadonlyArray1<'_, u32>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let numbers = self.inner.number(first.as_slice()?, second.as_slice()?).map_err(|error| raised(&error))?;
        Ok(numbers.into_pyarray(py))
    }

    /// The codes behind the numbers 0, 1, ….
    fn met<'py>(&self, py: Python<'py>) -> Columns<'py> {
        let [first, second] = self.inner.met();
        (PyArray1::from_slice(py, first), PyArray1::from_slice(py, second))
    }
}
