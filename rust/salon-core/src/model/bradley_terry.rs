//! The Bradley-Terry model: P(i beats j) = 1 / (1 + exp(θ_j − θ_i)), fitted by maximum likelihood.
//!
//! Source: Bradley & Terry 1952; ties and both-good/both-bad count half a win for each (MEF). Newton's method
//! on the gradient of the concave log-likelihood. A full step is damped to ln(1 + r)/r of its length, r being the
//! largest change that it makes to the difference of two strengths that met; for logistic likelihoods that never lowers
//! the likelihood (Bach 2010, self-concordant analysis), and near the answer it is the full step.
//!
//! A prior, when asked for, is `prior_ties` drawn battles of every model against one fixed opponent with θ = 0.

use crate::battles::cells::{PairScores, Pairs};
use crate::cancel::Watch;
use crate::error::CoreError;
use crate::linalg::frozen_newton::Chord;
use crate::linalg::laplacian::Laplacian;
use crate::linalg::sparse_cholesky::{self, Elimination};

/// Up to this many models, a Newton step solves its system by a dense factor.
pub(crate) const DENSE_NEWTON: usize = 256;
/// Up to this many models, a dense factor is kept for chord steps.
const DENSE_CHORD: usize = 1024;
/// Residual of an iterative Newton step, relative to the gradient.
pub(crate) const STEP_TOLERANCE: f64 = 1e-6;
/// Chord steps before full Newton steps take over.
pub(crate) const MOST_CHORD_STEPS: usize = 30;
/// Beyond this difference of strengths, exp of a strength might leave the range of a float.
pub(crate) const WIDE: f64 = 500.0;

/// How to fit.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// The fit has converged when a step changes no difference of log-strengths by more than this.
    pub tolerance: f64,
    /// Most Newton steps.
    pub max_iterations: usize,
    /// Drawn battles of every model against a fixed opponent of strength 0; 0 is plain maximum likelihood.
    pub prior_ties: f64,
    /// The coefficients of covariates are fitted with the penalty `ridge / 2 · Σ β²`; other models have none.
    pub ridge: f64,
}

/// A fitted model.
#[derive(Debug, Clone)]
pub struct Fit {
    /// θ, one per model; mean 0 without a prior. A model without battles has 0.
    pub log_strengths: Vec<f64>,
    /// Steps taken.
    pub iterations: usize,
    /// Whether the last step was within the tolerance.
    pub converged: bool,
    /// Largest difference between a model's observed and expected score per match, at the answer.
    pub gradient_norm: f64,
}

/// A likelihood: who met whom, and what came of it.
#[derive(Debug)]
pub struct Likelihood<'a> {
    pairs: &'a Pairs,
    scores: &'a PairScores,
    /// Sum of weights per model.
    matches: Vec<f64>,
    /// Wins plus half the ties per model.
    score: Vec<f64>,
    prior_ties: f64,
    /// How to eliminate models, where most of them never met.
    elimination: Option<&'a Elimination>,
}

/// A point on the likelihood.
#[derive(Debug)]
struct Slope {
    /// Observed minus expected score per model.
    gradient: Vec<f64>,
    /// exp(θ − middle), empty when the strengths are too wide apart for that.
    strength: Vec<f64>,
}

impl<'a> Likelihood<'a> {
    /// The likelihood of `scores`.
    pub fn new(pairs: &'a Pairs, scores: &'a PairScores, prior_ties: f64) -> Self {
        let (matches, score) = scores.per_model(pairs);
        Self { pairs, scores, matches, score, prior_ties, elimination: None }
    }

    /// The same, solved by a plan of its pairs, if there is one.
    pub fn eliminated(self, elimination: Option<&'a Elimination>) -> Self {
        Self { elimination, ..self }
    }

    /// The pairs that met.
    pub(crate) fn pairs(&self) -> &Pairs {
        self.pairs
    }

    /// Sum of weights of each pair.
    pub(crate) fn met(&self) -> &[f64] {
        &self.scores.matches
    }

    /// Wins plus half the ties of each model.
    pub(crate) fn score(&self) -> &[f64] {
        &self.score
    }

    /// Drawn battles of every model against a fixed opponent.
    pub(crate) fn prior_ties(&self) -> f64 {
        self.prior_ties
    }

    /// Sum of the weights of each model's battles.
    pub fn matches(&self) -> &[f64] {
        &self.matches
    }

    /// Maximise from `start` by damped Newton steps.
    ///
    /// # Errors
    /// [`CoreError::Cancelled`].
    pub fn maximise(&self, start: &[f64], settings: &Settings, watch: &Watch) -> Result<Fit, CoreError> {
        let mut theta = start.to_vec();
        let (mut iterations, mut converged) = (0, false);
        while iterations < settings.max_iterations && !converged {
            watch.check()?;
            let slope = self.slope(&theta);
            let curvature = self.curvature(&theta, &slope);
            let step = if self.elimination.is_some() || self.pairs.models <= DENSE_NEWTON {
                let mut step = slope.gradient;
                self.factored(&curvature).solve(&mut step);
                step
            } else {
                curvature.solve_iteratively(&slope.gradient, STEP_TOLERANCE, watch)?
            };
            let reach = reach_of(&step);
            if reach.is_infinite() {
                break;
            }
            let change = self.change_of(&step);
            let damping = if change > 1e-12 { change.ln_1p() / change } else { 1.0 };
            self.advance(&mut theta, &step, damping);
            iterations += 1;
            converged = reach <= settings.tolerance;
        }
        Ok(self.fit(theta, iterations, converged))
    }

    /// The factor of the curvature at `theta`, to be kept for chord steps; `None` for too many models.
    pub fn chord(&self, theta: &[f64]) -> Option<Chord<'a>> {
        let is_solvable = self.elimination.is_some() || self.pairs.models <= DENSE_CHORD;
        is_solvable.then(|| self.factored(&self.curvature_at(theta)))
    }

    /// The curvature at `theta`.
    pub(crate) fn curvature_at(&self, theta: &[f64]) -> Laplacian<'_> {
        self.curvature(theta, &self.slope(theta))
    }

    /// A factor of it.
    pub(crate) fn factored(&self, curvature: &Laplacian<'_>) -> Chord<'a> {
        match self.elimination {
            Some(plan) => Chord::Sparse(sparse_cholesky::Factor::of(plan, curvature)),
            None => Chord::Dense(curvature.factor()),
        }
    }

    /// Maximise by steps with the curvature of a nearby likelihood; full Newton steps when these are slow to shrink.
    /// Returns θ and whether the last step was within the tolerance.
    ///
    /// # Errors
    /// [`CoreError::Cancelled`].
    pub fn maximise_nearby(
        &self,
        start: &[f64],
        chord: Option<&Chord<'_>>,
        settings: &Settings,
        watch: &Watch,
    ) -> Result<(Vec<f64>, bool), CoreError> {
        let newton = || self.maximise(start, settings, watch).map(|fit| (fit.log_strengths, fit.converged));
        let Some(chord) = chord else {
            return newton();
        };
        let mut theta = start.to_vec();
        let mut previous = f64::INFINITY;
        for iterations in 1..=MOST_CHORD_STEPS {
            let mut step = self.slope(&theta).gradient;
            chord.solve(&mut step);
            let reach = reach_of(&step);
            if !(reach < 0.5 * previous && reach < 2.0) {
                break;
            }
            self.advance(&mut theta, &step, 1.0);
            // Steps shrink like a geometric series, so that is what all later ones would add together.
            let ratio = reach / previous;
            if reach <= settings.tolerance || reach * ratio / (1.0 - ratio) <= settings.tolerance && iterations > 2 {
                return Ok((theta, true));
            }
            previous = reach;
        }
        newton()
    }

    /// The largest change that a step makes to the difference of two models that met, the prior's opponent included.
    fn change_of(&self, step: &[f64]) -> f64 {
        let ends = self.pairs.first.iter().zip(&self.pairs.second);
        let change = ends.map(|(&first, &second)| (step[first as usize] - step[second as usize]).abs());
        let own = step.iter().filter(|_| self.prior_ties > 0.0).map(|value| value.abs());
        change.chain(own).fold(0.0, f64::max)
    }

    fn advance(&self, theta: &mut [f64], step: &[f64], damping: f64) {
        for (to, change) in theta.iter_mut().zip(step) {
            *to += damping * change;
        }
        if self.prior_ties == 0.0 {
            let present = || self.matches.iter().zip(theta.iter()).filter(|&(&matches, _)| matches > 0.0);
            let mean = present().map(|(_, theta)| theta).sum::<f64>() / present().count().max(1) as f64;
            for (to, &matches) in theta.iter_mut().zip(&self.matches) {
                *to = if matches > 0.0 { *to - mean } else { 0.0 };
            }
        }
    }

    fn fit(&self, theta: Vec<f64>, iterations: usize, converged: bool) -> Fit {
        let gradient = self.slope(&theta).gradient;
        let per_match = gradient.iter().zip(&self.matches).filter(|&(_, &matches)| matches > 0.0);
        let gradient_norm = per_match.map(|(g, matches)| (g / matches).abs()).fold(0.0, f64::max);
        Fit { log_strengths: theta, iterations, converged, gradient_norm }
    }

    fn slope(&self, theta: &[f64]) -> Slope {
        let (low, high) = bounds(theta);
        let middle = 0.5 * (low + high);
        let mut gradient = self.score.clone();
        let strength: Vec<f64> =
            if high - low < WIDE { theta.iter().map(|value| (value - middle).exp()).collect() } else { Vec::new() };
        let met = self.scores.matches.iter();
        for ((&first, &second), &matches) in self.pairs.first.iter().zip(&self.pairs.second).zip(met) {
            let (first, second) = (first as usize, second as usize);
            let expected = matches * win_probability(&strength, theta, first, second);
            gradient[first] -= expected;
            gradient[second] -= matches - expected;
        }
        if self.prior_ties > 0.0 {
            for (slope, &value) in gradient.iter_mut().zip(theta) {
                *slope += self.prior_ties * (0.5 - logistic(value));
            }
        }
        Slope { gradient, strength }
    }

    fn curvature(&self, theta: &[f64], slope: &Slope) -> Laplacian<'_> {
        let met = self.scores.matches.iter();
        let ends = self.pairs.first.iter().zip(&self.pairs.second);
        let weight = ends.zip(met).map(|((&first, &second), &matches)| {
            let p = win_probability(&slope.strength, theta, first as usize, second as usize);
            matches * p * (1.0 - p)
        });
        let extra = theta.iter().map(|&value| {
            let p = logistic(value);
            self.prior_ties * p * (1.0 - p)
        });
        Laplacian { pairs: self.pairs, weight: weight.collect(), extra: extra.collect() }
    }
}

/// P(first beats second), from exponentiated strengths where they are to be had.
#[inline]
fn win_probability(strength: &[f64], theta: &[f64], first: usize, second: usize) -> f64 {
    if strength.is_empty() {
        logistic(theta[first] - theta[second])
    } else {
        strength[first] / (strength[first] + strength[second])
    }
}

pub(crate) fn logistic(value: f64) -> f64 {
    1.0 / (1.0 + (-value).exp())
}

fn bounds(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)))
}

/// The largest change that a step makes to any difference of strengths, the prior's fixed opponent included;
/// infinite for a step that is not a number.
pub(crate) fn reach_of(step: &[f64]) -> f64 {
    if step.iter().any(|value| !value.is_finite()) {
        return f64::INFINITY;
    }
    let (low, high) = bounds(step);
    high.max(0.0) - low.min(0.0)
}
