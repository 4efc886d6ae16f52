//! The bootstrap distribution of Bradley-Terry log-strengths, on several threads.
//!
//! A replicate's numbers depend on the cells, the settings, the seed and the replicate's index alone; threads only
//! decide who computes it. So the result is the same, bit for bit, on any number of threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::battles::cells::{Cells, PairScores};
use crate::battles::graph::Graph;
use crate::cancel::Watch;
use crate::error::CoreError;
use crate::linalg::frozen_newton::Chord;
use crate::linalg::sparse_cholesky::Elimination;
use crate::model::bradley_terry::{Likelihood, Settings};
use crate::model::firth::{self, Estimator};
use crate::uncertainty::resample::{LANES, Resampler};
use crate::workers::in_blocks;

/// What to resample, and how often.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Number of replicates.
    pub replicates: usize,
    /// Seed of all streams.
    pub seed: u64,
    /// Draw whole clusters instead of battles.
    pub by_cluster: bool,
    /// The model that ratings are measured from. A replicate counts for the models that its battles join to this one,
    /// directly or through others; a prior alone compares nobody.
    pub baseline: usize,
    /// Number of threads at the most; at least 1.
    pub threads: usize,
    /// What each replicate maximises; only [`bootstrap`] reads it.
    pub estimator: Estimator,
}

/// All replicates.
#[derive(Debug, Clone)]
pub struct Replicates {
    /// θ, `replicates × models`, row by row; NaN for a model that no chain of battles joins to the baseline in its
    /// replicate, and for all models of a degenerate one.
    pub log_strengths: Vec<f64>,
    /// Replicates without a finite maximum likelihood estimate: some models won all, or lost all, of their battles
    /// against the rest, or never met it. Never with a prior; by Firth's estimator those without the baseline.
    pub degenerate: usize,
    /// Replicates whose fit did not reach the tolerance; their values are kept.
    pub unconverged: usize,
}

/// How the fit of one replicate ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Converged,
    Unconverged,
    Degenerate,
}

/// Counts endings, on any thread.
#[derive(Debug, Default)]
pub(crate) struct Endings {
    degenerate: AtomicUsize,
    unconverged: AtomicUsize,
}

impl Endings {
    pub(crate) fn count(&self, ending: Ending) {
        self.degenerate.fetch_add(usize::from(ending == Ending::Degenerate), Ordering::Relaxed);
        self.unconverged.fetch_add(usize::from(ending == Ending::Unconverged), Ordering::Relaxed);
    }

    /// The replicates that ended so.
    pub(crate) fn of(self, log_strengths: Vec<f64>) -> Replicates {
        let (degenerate, unconverged) = (self.degenerate.into_inner(), self.unconverged.into_inner());
        Replicates { log_strengths, degenerate, unconverged }
    }
}

/// What all workers share.
struct Work<'a> {
    cells: &'a Cells,
    resampler: Resampler<'a>,
    graph: Graph,
    estimate: &'a [f64],
    chord: Option<Chord<'a>>,
    elimination: Option<&'a Elimination>,
    settings: Settings,
    plan: Plan,
}

/// Resample, and fit each replicate from `estimate`, the fit to all battles.
///
/// # Errors
/// [`CoreError::Cancelled`]; [`CoreError::BadArgument`] for an estimate of the wrong length, a baseline that is no
/// model, no threads, or clusters that are asked for but not there.
pub fn bootstrap(
    cells: &Cells,
    estimate: &[f64],
    settings: &Settings,
    plan: &Plan,
    watch: &Watch,
) -> Result<Replicates, CoreError> {
    if estimate.len() != cells.pairs().models {
        return Err(CoreError::BadArgument("the estimate has another number of models"));
    }
    if plan.baseline >= estimate.len() {
        return Err(CoreError::BadArgument("the baseline is no model"));
    }
    if plan.threads == 0 {
        return Err(CoreError::BadArgument("at least one thread is needed"));
    }
    if plan.by_cluster && cells.clusters() == 0 {
        return Err(CoreError::BadArgument("the battles have no clusters"));
    }
    let plain = (!plan.by_cluster && cells.clusters() > 0).then(|| cells.without_clusters());
    let cells = plain.as_ref().unwrap_or(cells);
    let scores = cells.scores();
    let elimination = Elimination::plan(cells.pairs());
    let all = Likelihood::new(cells.pairs(), &scores, settings.prior_ties).eliminated(elimination.as_ref());
    let work = Work {
        cells,
        resampler: Resampler::new(cells, plan.by_cluster),
        graph: Graph::new(cells.pairs()),
        estimate,
        chord: (plan.estimator == Estimator::MaximumLikelihood).then(|| all.chord(estimate)).flatten(),
        elimination: elimination.as_ref(),
        settings: *settings,
        plan: *plan,
    };
    work.run(watch)
}

impl Work<'_> {
    fn run(&self, watch: &Watch) -> Result<Replicates, CoreError> {
        let models = self.estimate.len();
        let mut log_strengths = vec![f64::NAN; self.plan.replicates * models];
        let endings = Endings::default();
        let lanes = || -> Vec<PairScores> { (0..LANES).map(|_| PairScores::zeros(self.cells.pairs().len())).collect() };
        in_blocks(&mut log_strengths, LANES * models, self.plan.threads, lanes, |lanes, block, rows| {
            let replicates = rows.len() / models;
            self.resampler.draw(self.plan.seed, (block * LANES) as u64, &mut lanes[..replicates]);
            for ending in self.fit_replicates(&lanes[..replicates], rows, watch)? {
                endings.count(ending);
            }
            Ok(())
        })?;
        Ok(endings.of(log_strengths))
    }

    /// Fit replicates into `rows`, first all of them together, then those by themselves that need more than that.
    fn fit_replicates(&self, lanes: &[PairScores], rows: &mut [f64], watch: &Watch) -> Result<Vec<Ending>, CoreError> {
        watch.check()?;
        let likelihood =
            |scores| Likelihood::new(self.cells.pairs(), scores, self.settings.prior_ties).eliminated(self.elimination);
        let likelihoods: Vec<Likelihood<'_>> = lanes.iter().map(likelihood).collect();
        let quick = match &self.chord {
            Some(chord) => chord.maximise(&likelihoods, self.estimate, &self.settings, watch)?,
            None => vec![None; lanes.len()],
        };
        let mut endings = Vec::with_capacity(lanes.len());
        let each = likelihoods.iter().zip(lanes).zip(quick);
        for (row, ((likelihood, scores), quick)) in rows.chunks_mut(self.estimate.len()).zip(each) {
            endings.push(self.finish_replicate(likelihood, scores, quick, row, watch)?);
            watch.advance(1);
        }
        Ok(endings)
    }

    /// Write the answer of one replicate, `quick` where it is known already.
    fn finish_replicate(
        &self,
        likelihood: &Likelihood<'_>,
        scores: &PairScores,
        quick: Option<Vec<f64>>,
        row: &mut [f64],
        watch: &Watch,
    ) -> Result<Ending, CoreError> {
        watch.check()?;
        if self.plan.estimator == Estimator::Firth {
            return self.finish_reduced(scores, row, watch);
        }
        let present: Vec<bool> = likelihood.matches().iter().map(|&matches| matches > 0.0).collect();
        if self.settings.prior_ties == 0.0 && !self.graph.is_strongly_connected(scores, &present) {
            return Ok(Ending::Degenerate);
        }
        let (log_strengths, converged) = match quick {
            Some(log_strengths) => (log_strengths, true),
            None => {
                let fit = likelihood.maximise(self.estimate, &self.settings, watch)?;
                (fit.log_strengths, fit.converged)
            }
        };
        // Without a prior, all who are present are joined: that was just asked.
        let all = self.settings.prior_ties == 0.0 && present[self.plan.baseline];
        let joined = if all { present } else { self.graph.joined_to(self.plan.baseline, scores) };
        for ((to, value), is) in row.iter_mut().zip(log_strengths).zip(joined) {
            *to = if is { value } else { f64::NAN };
        }
        Ok(if converged { Ending::Converged } else { Ending::Unconverged })
    }

    /// [`Self::finish_replicate`] by Firth's estimator, which is finite for all models that battles join.
    fn finish_reduced(&self, scores: &PairScores, row: &mut [f64], watch: &Watch) -> Result<Ending, CoreError> {
        let joined = self.graph.joined_to(self.plan.baseline, scores);
        if !joined[self.plan.baseline] {
            return Ok(Ending::Degenerate);
        }
        let (pairs, estimate) = (self.cells.pairs(), self.estimate);
        let fit = if joined.iter().all(|&is| is) {
            firth::maximise(pairs, scores, self.elimination, estimate, &self.settings, watch)?
        } else {
            firth::maximise_joined(pairs, scores, &joined, estimate, &self.settings, watch)?
        };
        row.copy_from_slice(&fit.log_strengths);
        Ok(if fit.converged { Ending::Converged } else { Ending::Unconverged })
    }
}
