//! The Plackett-Luce model of rankings: each place in turn is taken by one of the models that are left, with a chance in
//! proportion to exp(θ) (Plackett 1975; Luce 1959). A ranking of two is a battle of Bradley and Terry.
//!
//! A tie is half a win for each, as in a battle: the log-likelihood of models on equal places is the mean of those of all their
//! orders. Over the orders of g tied models, each subset of s of them is what is left of the tie with chance 1 / C(g, s), and
//! each of the s is equally often the next. Models without a place ([`UNPLACED`]) are below all others, in an order that is not
//! known: only the choices above them count.
//!
//! The log-likelihood is concave. Its curvature is a graph Laplacian over the pairs of a ranking, and no weight in it is
//! negative: the mean of Σ p_i p_j (e_i − e_j)(e_i − e_j)ᵀ over the pairs left.
//!
//! Newton's method, damped as in [`crate::model::bradley_terry`]; a step that lowers the likelihood is halved.

use crate::battles::cells::Pairs;
use crate::cancel::Watch;
use crate::error::CoreError;
use crate::linalg::laplacian::Laplacian;
use crate::model::bradley_terry::{DENSE_NEWTON, Fit, STEP_TOLERANCE, Settings, logistic, reach_of};
use crate::model::contextual::pairs_of;

/// The most models on one place: all their subsets are summed.
pub const MOST_TIED: usize = 4;
/// The place of models below all others whose order is not known.
pub const UNPLACED: u32 = u32::MAX;
/// A step lowers the likelihood when it does by more than this share: less may be rounding.
const ROUNDING: f64 = 1e-10;
const MOST_HALVINGS: usize = 30;

/// Rankings as columns.
#[derive(Debug, Clone, Copy)]
pub struct Rankings<'a> {
    /// Number of models; codes are below it.
    pub models: usize,
    /// The entries of ranking r are `start[r]..start[r + 1]`.
    pub start: &'a [u64],
    /// The model of each entry, best first.
    pub model: &'a [u32],
    /// Its place; equal places are side by side.
    pub place: &'a [u32],
    /// The weight of each ranking.
    pub weight: &'a [f64],
}

/// Slopes and curvature at a point: one row per pair of models in a ranking.
///
/// Over the rows of a ranking, `slope (e_first − e_second)` adds up to the slope of its log-probability, and
/// `bend (e_first − e_second)(e_first − e_second)ᵀ` to its curvature. Both include the weight.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// The model that stands higher in the ranking, or is tied.
    pub first: Vec<u32>,
    /// The other one.
    pub second: Vec<u32>,
    /// Share of the slope.
    pub slope: Vec<f64>,
    /// Share of the curvature; never negative.
    pub bend: Vec<f64>,
    /// The number of the ranking.
    pub ranking: Vec<u32>,
    /// Sum of weighted log-probabilities of all rankings.
    pub log_likelihood: f64,
}

impl Rankings<'_> {
    /// Check that the columns fit together.
    ///
    /// # Errors
    /// [`CoreError::BadArgument`].
    pub fn check(&self) -> Result<(), CoreError> {
        let ends = self.start.first() == Some(&0) && self.start.last() == Some(&(self.model.len() as u64));
        let lengths = self.start.len() == self.weight.len() + 1 && self.place.len() == self.model.len();
        if !(ends && lengths && self.start.is_sorted()) {
            return Err(CoreError::BadArgument("the columns of rankings do not fit together"));
        }
        if self.model.iter().any(|&model| model as usize >= self.models) {
            return Err(CoreError::BadArgument("a ranking has a model that is not there"));
        }
        for (_, place) in self.each() {
            let tied = blocks(place).filter(|&(begin, _)| place[begin] != UNPLACED);
            if !place.is_sorted() || tied.map(|(begin, end)| end - begin).max().is_some_and(|most| most > MOST_TIED) {
                return Err(CoreError::BadArgument("places are not in order, or too many models are on one"));
            }
        }
        Ok(())
    }

    /// Models and places of every ranking.
    fn each(&self) -> impl Iterator<Item = (&[u32], &[u32])> {
        self.start.windows(2).map(|ends| {
            let entries = ends[0] as usize..ends[1] as usize;
            (&self.model[entries.clone()], &self.place[entries])
        })
    }

    /// Slopes and curvature at θ. The rows are the same at every θ, in the same order.
    pub fn at(&self, theta: &[f64]) -> Rows {
        let mut rows = Rows::default();
        for (number, (models, place)) in self.each().enumerate() {
            let own: Vec<f64> = models.iter().map(|&model| theta[model as usize]).collect();
            let (local, weight, size) = (ranking(&own, place), self.weight[number], models.len());
            rows.log_likelihood += weight * local.value;
            for second in 1..size {
                for first in 0..second {
                    rows.first.push(models[first]);
                    rows.second.push(models[second]);
                    // Slopes add up to 0, so that the differences of all pairs, shared out evenly, add up to them.
                    rows.slope.push(weight * (local.slope[first] - local.slope[second]) / size as f64);
                    rows.bend.push(weight * local.bend[second * size + first].max(0.0));
                    rows.ranking.push(number as u32);
                }
            }
        }
        rows
    }
}

/// Fit strengths, from `start`.
///
/// # Errors
/// [`CoreError::Cancelled`], or [`CoreError::BadArgument`] for columns that do not fit together.
pub fn fit_rankings(
    rankings: &Rankings<'_>,
    start: &[f64],
    settings: &Settings,
    watch: &Watch,
) -> Result<Fit, CoreError> {
    rankings.check()?;
    if start.len() != rankings.models {
        return Err(CoreError::BadArgument("start must have one number per model"));
    }
    let prior = settings.prior_ties;
    let mut at = Point::new(rankings, start.to_vec(), prior);
    let (pairs, pair) = pairs_of(rankings.models, &at.rows.first, &at.rows.second);
    let (mut iterations, mut converged) = (0, false);
    while iterations < settings.max_iterations && !converged {
        watch.check()?;
        let curvature = at.curvature(&pairs, &pair, prior);
        let mut step = at.gradient(prior);
        if rankings.models <= DENSE_NEWTON {
            curvature.factor().solve(&mut step);
        } else {
            step = curvature.solve_iteratively(&step, STEP_TOLERANCE, watch)?;
        }
        let reach = reach_of(&step);
        if reach.is_infinite() {
            break;
        }
        let change = at.change_of(&step, prior);
        let damping = if change > 1e-12 { change.ln_1p() / change } else { 1.0 };
        at = at.advanced(rankings, &step, damping, prior);
        iterations += 1;
        converged = reach <= settings.tolerance;
    }
    let mut matches = vec![0.0; rankings.models];
    for (&ranking, (&first, &second)) in at.rows.ranking.iter().zip(at.rows.first.iter().zip(&at.rows.second)) {
        matches[first as usize] += rankings.weight[ranking as usize];
        matches[second as usize] += rankings.weight[ranking as usize];
    }
    let slopes = at.gradient(prior).into_iter().zip(&matches).filter(|&(_, &matches)| matches > 0.0);
    let gradient_norm = slopes.map(|(slope, matches)| (slope / matches).abs()).fold(0.0, f64::max);
    Ok(Fit { log_strengths: at.theta, iterations, converged, gradient_norm })
}

/// Strengths, with the likelihood there.
struct Point {
    theta: Vec<f64>,
    rows: Rows,
    /// The log-likelihood with its prior.
    value: f64,
}

impl Point {
    fn new(rankings: &Rankings<'_>, theta: Vec<f64>, prior: f64) -> Self {
        let rows = rankings.at(&theta);
        let drawn = theta.iter().map(|&value| 0.5 * (logistic(value) * logistic(-value)).ln()).sum::<f64>();
        let value = rows.log_likelihood + if prior > 0.0 { prior * drawn } else { 0.0 };
        Self { theta, rows, value }
    }

    fn gradient(&self, prior: f64) -> Vec<f64> {
        let mut gradient: Vec<f64> = self.theta.iter().map(|&value| prior * (0.5 - logistic(value))).collect();
        for ((&first, &second), &slope) in self.rows.first.iter().zip(&self.rows.second).zip(&self.rows.slope) {
            gradient[first as usize] += slope;
            gradient[second as usize] -= slope;
        }
        gradient
    }

    fn curvature<'a>(&self, pairs: &'a Pairs, pair: &[u32], prior: f64) -> Laplacian<'a> {
        let mut weight = vec![0.0; pairs.len()];
        for (&number, &bend) in pair.iter().zip(&self.rows.bend) {
            weight[number as usize] += bend;
        }
        let extra = self.theta.iter().map(|&value| prior * logistic(value) * logistic(-value)).collect();
        Laplacian { pairs, weight, extra }
    }

    /// The largest change that a step makes to a difference within a ranking, the prior's opponent included.
    fn change_of(&self, step: &[f64], prior: f64) -> f64 {
        let ends = self.rows.first.iter().zip(&self.rows.second);
        let change = ends.map(|(&first, &second)| (step[first as usize] - step[second as usize]).abs());
        let own = step.iter().filter(|_| prior > 0.0).map(|value| value.abs());
        change.chain(own).fold(0.0, f64::max)
    }

    fn advanced(&self, rankings: &Rankings<'_>, step: &[f64], damping: f64, prior: f64) -> Self {
        let mut length = damping;
        for _ in 0..MOST_HALVINGS {
            let next = self.moved(rankings, step, length, prior);
            if next.value >= self.value - ROUNDING * (1.0 + self.value.abs()) {
                return next;
            }
            length *= 0.5;
        }
        self.moved(rankings, step, length, prior)
    }

    fn moved(&self, rankings: &Rankings<'_>, step: &[f64], length: f64, prior: f64) -> Self {
        let mut theta: Vec<f64> = self.theta.iter().zip(step).map(|(value, change)| value + length * change).collect();
        if prior == 0.0 {
            let mean = theta.iter().sum::<f64>() / theta.len().max(1) as f64;
            theta.iter_mut().for_each(|value| *value -= mean);
        }
        Self::new(rankings, theta, prior)
    }
}

/// Log-probability of one ranking, its slopes, and the weights of its curvature (below the diagonal).
struct Local {
    value: f64,
    slope: Vec<f64>,
    bend: Vec<f64>,
}

impl Local {
    /// Add, times `weight`, the mean log-probability that one of the first `tied` of `left` is chosen among `left`.
    fn choose(&mut self, theta: &[f64], left: &[usize], tied: usize, weight: f64) {
        let top = left.iter().map(|&model| theta[model]).fold(f64::NEG_INFINITY, f64::max);
        let odds: Vec<f64> = left.iter().map(|&model| (theta[model] - top).exp()).collect();
        let total: f64 = odds.iter().sum();
        for &winner in &left[..tied] {
            self.value += weight / tied as f64 * (theta[winner] - top - total.ln());
            self.slope[winner] += weight / tied as f64;
        }
        for (number, &one) in left.iter().enumerate() {
            let share = weight * odds[number] / total;
            self.slope[one] -= share;
            for (&other, odds) in left[..number].iter().zip(&odds) {
                self.bend[one * theta.len() + other] += share * odds / total;
            }
        }
    }
}

/// The log-probability of one ranking by its models' strengths, with slopes and curvature.
fn ranking(theta: &[f64], place: &[u32]) -> Local {
    let size = theta.len();
    let mut local = Local { value: 0.0, slope: vec![0.0; size], bend: vec![0.0; size * size] };
    let mut left = Vec::with_capacity(size);
    for (begin, end) in blocks(place).take_while(|&(begin, _)| place[begin] != UNPLACED) {
        let group = end - begin;
        for subset in 1_u32..1 << group {
            left.clear();
            left.extend((begin..end).filter(|model| subset >> (model - begin) & 1 == 1));
            let tied = left.len();
            left.extend(end..size);
            let subsets = (0..tied).fold(1.0, |count, k| count * (group - k) as f64 / (k + 1) as f64);
            local.choose(theta, &left, tied, 1.0 / subsets);
        }
    }
    local
}

/// Where each run of equal places begins and ends.
fn blocks(place: &[u32]) -> impl Iterator<Item = (usize, usize)> {
    let mut begin = 0;
    place.chunk_by(|one, other| one == other).map(move |block| {
        let ends = (begin, begin + block.len());
        begin = ends.1;
        ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const THETA: [f64; 5] = [0.3, -1.1, 0.8, 0.0, -0.4];

    #[test]
    fn a_tie_is_the_mean_over_its_orders() {
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        for (tied, apart) in
            [([0, 0, 0, 1, 2], [0, 1, 2, 3, 4]), ([0, 0, 0, UNPLACED, UNPLACED], [0, 1, 2, UNPLACED, UNPLACED])]
        {
            let of = |order: &[usize; 3]| order.iter().chain(&[3, 4]).map(|&model| THETA[model]).collect::<Vec<f64>>();
            let mean = orders.iter().map(|order| ranking(&of(order), &apart).value).sum::<f64>() / 6.0;
            assert!((ranking(&THETA, &tied).value - mean).abs() < 1e-14);
        }
    }

    #[test]
    fn slopes_and_curvature_are_those_of_differences() {
        for place in [[0, 1, 2, 3, 4], [0, 0, 1, 1, 2], [0, 1, 1, 1, 2], [0, 0, 0, 0, 1], [0, 0, 1, UNPLACED, UNPLACED]]
        {
            let (at, step) = (ranking(&THETA, &place), 1e-5);
            for one in 0..5 {
                let moved = |by: f64| {
                    let mut theta = THETA;
                    theta[one] += by;
                    ranking(&theta, &place)
                };
                let (up, down) = (moved(step), moved(-step));
                assert!((at.slope[one] - (up.value - down.value) / (2.0 * step)).abs() < 1e-9);
                for other in 0..one {
                    let bend = (up.slope[other] - down.slope[other]) / (2.0 * step);
                    assert!((at.bend[one * 5 + other] - bend).abs() < 1e-9 && bend > -1e-9);
                }
            }
        }
    }
}
