//! A curvature that was factored once and serves many nearby likelihoods: a chord step is a Newton step with it.
//!
//! Replicates lie near the fit to all battles, so that one factor takes all of them to their answers. [`Chord::maximise`]
//! takes eight at a time: the factor, the slowest thing to read, is then read once for eight, and what is done to
//! neighbouring lanes is one vector instruction. No lane sees another: a replicate's bits do not depend on its company.

use crate::cancel::Watch;
use crate::error::CoreError;
use crate::linalg::laplacian;
use crate::linalg::sparse_cholesky;
use crate::model::bradley_terry::{Likelihood, MOST_CHORD_STEPS, Settings, WIDE, logistic};
use crate::uncertainty::resample::LANES;

/// One number for each of eight likelihoods.
type Lanes = [f64; LANES];

/// The factor of a curvature.
#[derive(Debug)]
pub enum Chord<'a> {
    /// Most models met.
    Dense(laplacian::Factor),
    /// Most models did not.
    Sparse(sparse_cholesky::Factor<'a>),
}

impl Chord<'_> {
    /// Solve for one right side, in place.
    pub fn solve(&self, right: &mut [f64]) {
        match self {
            Self::Dense(factor) => factor.solve(right),
            Self::Sparse(factor) => {
                let mut lane: Vec<[f64; 1]> = right.iter().map(|&value| [value]).collect();
                factor.solve(&mut lane);
                right.iter_mut().zip(lane).for_each(|(to, [value])| *to = value);
            }
        }
    }

    pub(crate) fn solve_lanes(&self, right: &mut [Lanes]) {
        match self {
            Self::Dense(factor) => factor.solve_lanes(right),
            Self::Sparse(factor) => factor.solve(right),
        }
    }

    /// Maximise up to eight likelihoods of the same pairs and prior from `start`; θ of each, or `None` for one that
    /// chord steps do not bring to its answer quickly.
    ///
    /// # Errors
    /// [`CoreError::Cancelled`].
    pub fn maximise(
        &self,
        lanes: &[Likelihood<'_>],
        start: &[f64],
        settings: &Settings,
        watch: &Watch,
    ) -> Result<Vec<Option<Vec<f64>>>, CoreError> {
        let mut state = Together::new(lanes, start);
        let mut found = vec![None; lanes.len()];
        let mut open: Vec<usize> = (0..lanes.len()).collect();
        let mut previous = [f64::INFINITY; LANES];
        for iterations in 1..=MOST_CHORD_STEPS {
            watch.check()?;
            let (mut step, width) = state.gradient(lanes);
            self.solve_lanes(&mut step);
            let reach = reach_of(&step);
            // One that is too wide apart to exponentiate, or whose steps are slow to shrink, is left to Newton's method.
            open.retain(|&lane| reach[lane] < 0.5 * previous[lane] && reach[lane] < 2.0 && width[lane] < WIDE);
            state.advance(&step, lanes);
            open.retain(|&lane| {
                // Steps shrink like a geometric series, so that is what all later ones would add together.
                let ratio = reach[lane] / previous[lane];
                let rest = reach[lane] * ratio / (1.0 - ratio);
                let is_done = reach[lane] <= settings.tolerance || rest <= settings.tolerance && iterations > 2;
                if is_done {
                    found[lane] = Some(state.theta.iter().map(|theta| theta[lane]).collect());
                }
                !is_done
            });
            if open.is_empty() {
                break;
            }
            previous = reach;
        }
        Ok(found)
    }
}

/// Eight likelihoods on their way.
struct Together {
    theta: Vec<Lanes>,
    /// 1 for a model with battles, 0 for one without.
    present: Vec<Lanes>,
    /// How many models have battles.
    count: Lanes,
}

impl Together {
    fn new(lanes: &[Likelihood<'_>], start: &[f64]) -> Self {
        let has_battles = |model: usize| {
            std::array::from_fn(|lane| f64::from(lanes.get(lane).is_some_and(|one| one.matches()[model] > 0.0)))
        };
        let present: Vec<Lanes> = (0..start.len()).map(has_battles).collect();
        let mut count = [0.0; LANES];
        for model in &present {
            (0..LANES).for_each(|lane| count[lane] += model[lane]);
        }
        Self { theta: start.iter().map(|&value| [value; LANES]).collect(), present, count: count.map(|n| n.max(1.0)) }
    }

    /// Observed minus expected scores, and how far the strengths are apart.
    fn gradient(&self, lanes: &[Likelihood<'_>]) -> (Vec<Lanes>, Lanes) {
        let (low, high) = bounds(&self.theta);
        let width = std::array::from_fn(|lane| high[lane] - low[lane]);
        let middle: Lanes = std::array::from_fn(|lane| 0.5 * (low[lane] + high[lane]));
        let exponential = |theta: &Lanes| std::array::from_fn(|lane| (theta[lane] - middle[lane]).exp());
        let strength: Vec<Lanes> = self.theta.iter().map(exponential).collect();
        let own = |model: usize| std::array::from_fn(|lane| lanes.get(lane).map_or(0.0, |one| one.score()[model]));
        let mut gradient: Vec<Lanes> = (0..strength.len()).map(own).collect();
        let Some(any) = lanes.first() else {
            return (gradient, width);
        };
        let matches: [&[f64]; LANES] = std::array::from_fn(|lane| lanes.get(lane).unwrap_or(any).met());
        let pairs = any.pairs();
        for (pair, (&first, &second)) in pairs.first.iter().zip(&pairs.second).enumerate() {
            let (first, second) = (first as usize, second as usize);
            let (one, two) = (&strength[first], &strength[second]);
            let met: Lanes = std::array::from_fn(|lane| matches[lane][pair]);
            let expected: Lanes = std::array::from_fn(|lane| met[lane] * (one[lane] / (one[lane] + two[lane])));
            (0..LANES).for_each(|lane| gradient[first][lane] -= expected[lane]);
            (0..LANES).for_each(|lane| gradient[second][lane] -= met[lane] - expected[lane]);
        }
        let prior = any.prior_ties();
        if prior > 0.0 {
            for (slope, theta) in gradient.iter_mut().zip(&self.theta) {
                (0..LANES).for_each(|lane| slope[lane] += prior * (0.5 - logistic(theta[lane])));
            }
        }
        (gradient, width)
    }

    /// Take a whole step; without a prior, the mean of the models with battles goes back to 0.
    fn advance(&mut self, step: &[Lanes], lanes: &[Likelihood<'_>]) {
        for (theta, change) in self.theta.iter_mut().zip(step) {
            (0..LANES).for_each(|lane| theta[lane] += change[lane]);
        }
        if lanes.iter().any(|one| one.prior_ties() > 0.0) {
            return;
        }
        let mut mean = [0.0; LANES];
        for (theta, present) in self.theta.iter().zip(&self.present) {
            (0..LANES).for_each(|lane| mean[lane] += present[lane] * theta[lane]);
        }
        (0..LANES).for_each(|lane| mean[lane] /= self.count[lane]);
        for (theta, present) in self.theta.iter_mut().zip(&self.present) {
            (0..LANES).for_each(|lane| theta[lane] = present[lane] * (theta[lane] - mean[lane]));
        }
    }
}

fn bounds(values: &[Lanes]) -> (Lanes, Lanes) {
    let (mut low, mut high) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
    for value in values {
        for lane in 0..LANES {
            low[lane] = if value[lane] < low[lane] { value[lane] } else { low[lane] };
            high[lane] = if value[lane] > high[lane] { value[lane] } else { high[lane] };
        }
    }
    (low, high)
}

/// The largest change of any difference of strengths in each lane, the prior's fixed opponent included; NaN for a step that
/// is not finite.
fn reach_of(step: &[Lanes]) -> Lanes {
    let mut sound = [0.0; LANES];
    for value in step {
        (0..LANES).for_each(|lane| sound[lane] += 0.0 * value[lane]);
    }
    let (low, high) = bounds(step);
    std::array::from_fn(|lane| high[lane].max(0.0) - low[lane].min(0.0) + sound[lane])
}
