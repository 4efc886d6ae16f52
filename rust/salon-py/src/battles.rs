//! Battles on their way in: `Aggregator` and `Cells`.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use salon_core::battles::aggregate::{Aggregator as CoreAggregator, Batch};
use salon_core::battles::cells::{Cells as CoreCells, Outcome, PairScores};
use salon_core::battles::graph::Graph;
use salon_core::model::bradley_terry::Likelihood;
use salon_core::uncertainty::resample::Resampler;

use crate::run_detached::raised;

type Columns<'py, const N: usize> = [Bound<'py, PyArray1<f64>>; N];

/// Collects batches of battles, given as integer codes.
#[pyclass(module = "salon_ranking._core")]
#[derive(Default)]
pub struct Aggregator {
    inner: Option<CoreAggregator>,
}

#[pymethods]
impl Aggregator {
    #[new]
    fn new() -> Self {
        Self { inner: Some(CoreAggregator::default()) }
    }

    /// Add one batch: codes of both models, and of the winner. `menu[code]` is 0 for model_a, 1 for model_b, 2 for a
    /// tie; anything else is no outcome.
    #[pyo3(signature = (model_a, model_b, winner, menu, weight=None, cluster=None))]
    fn add(
        &mut self,
        model_a: PyReadonlyArray1<'_, u32>,
        model_b: PyReadonlyArray1<'_, u32>,
        winner: PyReadonlyArray1<'_, u32>,
        menu: Vec<u8>,
        weight: Option<PyReadonlyArray1<'_, f64>>,
        cluster: Option<PyReadonlyArray1<'_, u32>>,
    ) -> PyResult<()> {
        let menu: Vec<Option<Outcome>> = menu.into_iter().map(outcome).collect();
        let batch = Batch {
            first: model_a.as_slice()?,
            second: model_b.as_slice()?,
            outcome: winner.as_slice()?,
            weight: weight.as_ref().map(|array| array.as_slice()).transpose()?,
            cluster: cluster.as_ref().map(|array| array.as_slice()).transpose()?,
        };
        let inner = self.inner.as_mut().ok_or_else(finished)?;
        inner.add(&batch, &menu).map_err(|error| raised(&error))
    }

    /// All battles as cells; code `c` becomes model `model_number[c]` of `models`, clusters alike. Can be called once.
    #[pyo3(signature = (models, model_number, clusters=0, cluster_number=None))]
    fn finish(
        &mut self,
        py: Python<'_>,
        models: usize,
        model_number: PyReadonlyArray1<'_, u32>,
        clusters: usize,
        cluster_number: Option<PyReadonlyArray1<'_, u32>>,
    ) -> PyResult<Cells> {
        let inner = self.inner.take().ok_or_else(finished)?;
        let model_number = model_number.as_slice()?.to_vec();
        let cluster_number = cluster_number.map_or(Ok(Vec::new()), |array| array.as_slice().map(<[u32]>::to_vec))?;
        let inner = crate::run_detached::through(py, None, move |_| {
            inner.finish(models, &model_number, clusters, &cluster_number)
        })?;
        Ok(Cells { inner })
    }
}

pub(crate) fn outcome(code: u8) -> Option<Outcome> {
    match code {
        0 => Some(Outcome::Win),
        1 => Some(Outcome::Loss),
        2 => Some(Outcome::Tie),
        _ => None,
    }
}

fn finished() -> PyErr {
    PyValueError::new_err("the aggregator is finished")
}

/// Battles counted by pair, outcome, weight and cluster.
#[pyclass(frozen, module = "salon_ranking._core")]
pub struct Cells {
    pub(crate) inner: CoreCells,
}

#[pymethods]
impl Cells {
    /// Number of models.
    #[getter]
    fn models(&self) -> usize {
        self.inner.pairs().models
    }

    /// Number of pairs that met.
    #[getter]
    fn pairs(&self) -> usize {
        self.inner.pairs().len()
    }

    /// Number of clusters, 0 without.
    #[getter]
    fn clusters(&self) -> usize {
        self.inner.clusters()
    }

    /// Number of battles, whatever their weight.
    #[getter]
    fn battles(&self) -> u64 {
        self.inner.battles()
    }

    /// The cells as columns: first, second, outcome (0 win of first, 1 loss, 2 tie), cluster, count, weight.
    #[allow(clippy::type_complexity)]
    fn columns<'py>(
        &self,
        py: Python<'py>,
    ) -> (
        Bound<'py, PyArray1<u32>>,
        Bound<'py, PyArray1<u32>>,
        Bound<'py, PyArray1<u8>>,
        Bound<'py, PyArray1<u32>>,
        Bound<'py, PyArray1<u64>>,
        Bound<'py, PyArray1<f64>>,
    ) {
        let cells = &self.inner;
        (
            cells.iter().map(|cell| cell.first).collect::<Vec<_>>().into_pyarray(py),
            cells.iter().map(|cell| cell.second).collect::<Vec<_>>().into_pyarray(py),
            cells.iter().map(|cell| cell.outcome as u8).collect::<Vec<_>>().into_pyarray(py),
            cells.iter().map(|cell| cell.cluster).collect::<Vec<_>>().into_pyarray(py),
            cells.iter().map(|cell| cell.count).collect::<Vec<_>>().into_pyarray(py),
            cells.iter().map(|cell| cell.weight).collect::<Vec<_>>().into_pyarray(py),
        )
    }

    /// The pairs that met, as columns: first, second; in ascending order.
    fn met<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>) {
        let pairs = self.inner.pairs();
        (PyArray1::from_slice(py, &pairs.first), PyArray1::from_slice(py, &pairs.second))
    }

    /// One bootstrap replicate as `bootstrap` draws it, per pair that met: sum of weights, and score of the first model.
    #[pyo3(signature = (seed, index, by_cluster))]
    fn resampled<'py>(&self, py: Python<'py>, seed: u64, index: u64, by_cluster: bool) -> PyResult<Columns<'py, 2>> {
        if by_cluster && self.inner.clusters() == 0 {
            return Err(PyValueError::new_err("the battles have no clusters"));
        }
        let plain = if by_cluster { self.inner.clone() } else { self.inner.without_clusters() };
        let mut lanes = [PairScores::zeros(plain.pairs().len())];
        Resampler::new(&plain, by_cluster).draw(seed, index, &mut lanes);
        let [scores] = lanes;
        Ok([scores.matches, scores.score].map(|column| column.into_pyarray(py)))
    }

    /// Per model, by weight: matches, wins, ties, losses.
    fn records<'py>(&self, py: Python<'py>) -> Columns<'py, 4> {
        let records = self.inner.records();
        let columns: [Vec<f64>; 4] = [
            records.iter().map(|record| record.matches).collect(),
            records.iter().map(|record| record.wins).collect(),
            records.iter().map(|record| record.ties).collect(),
            records.iter().map(|record| record.losses).collect(),
        ];
        columns.map(|column| column.into_pyarray(py))
    }

    /// The strong component of every model, largest first.
    fn components<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let components = Graph::new(self.inner.pairs()).components(&self.inner.scores());
        components.into_iter().map(|number| number as i64).collect::<Vec<_>>().into_pyarray(py)
    }

    /// The group of models that a chain of battles joins, of every model, numbered by their lowest model.
    fn joined<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let groups = Graph::new(self.inner.pairs()).joined(&self.inner.scores());
        groups.into_iter().map(|number| number as i64).collect::<Vec<_>>().into_pyarray(py)
    }

    /// Only the battles among `models`, ascending indices, which are renumbered from 0; so are their clusters.
    fn among(&self, models: Vec<usize>) -> PyResult<Self> {
        let ascending = models.windows(2).all(|two| two[0] < two[1]);
        if !ascending || models.last().is_some_and(|&last| last >= self.inner.pairs().models) {
            return Err(PyValueError::new_err("models must be ascending indices"));
        }
        Ok(Self { inner: self.inner.among(&models) })
    }
}

impl Cells {
    /// Whether every model has a battle.
    pub(crate) fn all_present(&self) -> bool {
        let scores = self.inner.scores();
        Likelihood::new(self.inner.pairs(), &scores, 0.0).matches().iter().all(|&matches| matches > 0.0)
    }
}
