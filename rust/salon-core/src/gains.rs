//! How much the next match of every pair would say, while matches are planned: the gains of the rule `Information`.
//!
//! A planned match changes the covariance by a matrix of rank one. Written out match by match, that moves the whole
//! matrix through the cache each time, which takes longer than the arithmetic. So changes wait in a short queue: whoever
//! looks at a row applies them to a copy of it, and when the queue is full they are all written out in one pass. Every
//! number goes through the same operations in the same order as if nothing waited, and has the same bits.

use std::cmp::Ordering;

use crate::random::Stream;
use crate::scheduling::{Standing, information};

/// Changes that wait at the most; for a few hundred models they fit into the innermost cache.
const WAITING: usize = 16;
/// Numbers that are kept in registers while changes are applied.
const STRIP: usize = 16;

/// A pair (`column` < `row`) and the last known gain of a match between its models.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    /// To seven digits: what agrees to them is equal, whatever rounding did to it, and is decided by lot.
    gain: f32,
    lot: u64,
    pub(crate) row: usize,
    pub(crate) column: usize,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let pair = |candidate: &Self| (candidate.lot, candidate.row, candidate.column);
        self.gain.total_cmp(&other.gain).then(pair(self).cmp(&pair(other)))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

/// The gain of a match of every pair: p(1 − p)·Var(θ_i − θ_j). Matrices row by row; only the lower triangle is used.
pub(crate) struct Gains {
    pub(crate) models: usize,
    /// p(1 − p); NaN for a pair that cannot meet.
    curvature: Vec<f64>,
    /// As it was before the changes that wait.
    covariance: Vec<f64>,
    waiting: Queue,
    /// Variances, after all changes.
    diagonal: Vec<f64>,
    /// Decides between equal gains.
    lot: Vec<u64>,
    /// The row that is looked at, and its gains.
    row: Vec<f64>,
    gains: Vec<f32>,
}

impl Gains {
    pub(crate) fn new(standing: &Standing<'_>, stream: &mut Stream) -> Self {
        let theta = standing.log_strengths;
        let models = theta.len();
        let (mut curvature, mut lot) = (vec![f64::NAN; models * models], vec![0; models * models]);
        for column in 0..models {
            for row in column + 1..models {
                curvature[row * models + column] = information(theta[column] - theta[row]);
                lot[row * models + column] = stream.bits();
            }
        }
        let covariance = standing.covariance.to_vec();
        let diagonal = (0..models).map(|model| covariance[model * models + model]).collect();
        let (waiting, row, gains) = (Queue::new(models), vec![0.0; models], vec![0.0; models]);
        Self { models, curvature, covariance, waiting, diagonal, lot, row, gains }
    }

    /// The pair of `row` and a lower model with the largest gain; `None` when none of them can meet.
    pub(crate) fn best_of(&mut self, row: usize) -> Option<Candidate> {
        let span = row * self.models..row * self.models + row;
        let (values, gains) = (&mut self.row[..row], &mut self.gains[..row]);
        values.copy_from_slice(&self.covariance[span.clone()]);
        self.waiting.apply(row, values);
        let own = self.diagonal[row];
        let parts = self.curvature[span.clone()].iter().zip(&self.diagonal).zip(values.iter());
        for (gain, ((curvature, diagonal), covariance)) in gains.iter_mut().zip(parts) {
            *gain = (curvature * (own + diagonal - 2.0 * covariance)) as f32;
        }
        let most = largest(gains);
        let lots = &self.lot[span];
        // Strip by strip, because hardly any strip holds the largest.
        let strips = gains.chunks(STRIP).enumerate();
        let holding = strips.filter(|(_, strip)| strip.iter().fold(false, |any, &gain| any | (gain == most)));
        let places = holding.flat_map(|(number, strip)| number * STRIP..number * STRIP + strip.len());
        let column = places.filter(|&at| gains[at] == most).max_by_key(|&at| (lots[at], at))?;
        Some(Candidate { gain: most, lot: lots[column], row, column })
    }

    /// Two models that share no prompt never meet.
    pub(crate) fn rule_out(&mut self, row: usize, column: usize) {
        self.curvature[row * self.models + column] = f64::NAN;
    }

    /// One more match of `row` against `column`: Sherman & Morrison 1950.
    pub(crate) fn learn(&mut self, row: usize, column: usize) {
        let (of_column, of_row) = (self.covariances(column), self.covariances(row));
        let along: Vec<f64> = of_column.iter().zip(&of_row).map(|(one, other)| one - other).collect();
        let curvature = self.curvature[row * self.models + column];
        let scale = curvature / (1.0 + curvature * (along[column] - along[row]));
        for (variance, along) in self.diagonal.iter_mut().zip(&along) {
            *variance -= scale * along * along;
        }
        self.waiting.push(scale, &along);
        if self.waiting.count == WAITING {
            for own in 0..self.models {
                self.waiting.apply(own, &mut self.covariance[own * self.models..own * self.models + own + 1]);
            }
            self.waiting.count = 0;
        }
    }

    /// The covariances of one model with all, after all changes.
    fn covariances(&self, model: usize) -> Vec<f64> {
        let place = |other: usize| model.max(other) * self.models + model.min(other);
        let mut values: Vec<f64> = (0..self.models).map(|other| self.covariance[place(other)]).collect();
        let (lower, upper) = values.split_at_mut(model);
        self.waiting.apply(model, lower);
        self.waiting.apply_down(model, upper);
        values
    }
}

/// Matrices of rank one that are still to be subtracted from the covariance, `factor[i] · along[j]` from entry (i, j ≤ i).
///
/// Laid out as they are read: what belongs to one row, or to one strip of a row, lies together.
struct Queue {
    count: usize,
    /// One entry per strip and change.
    along: Vec<[f64; STRIP]>,
    /// One entry per model.
    factor: Vec<[f64; WAITING]>,
}

impl Queue {
    fn new(models: usize) -> Self {
        let along = vec![[0.0; STRIP]; models.div_ceil(STRIP) * WAITING];
        Self { count: 0, along, factor: vec![[0.0; WAITING]; models] }
    }

    fn push(&mut self, scale: f64, along: &[f64]) {
        for (number, values) in along.chunks(STRIP).enumerate() {
            self.along[number * WAITING + self.count][..values.len()].copy_from_slice(values);
        }
        for (factor, along) in self.factor.iter_mut().zip(along) {
            factor[self.count] = scale * along;
        }
        self.count += 1;
    }

    /// Apply all changes, oldest first, to the first entries of a row.
    fn apply(&self, row: usize, values: &mut [f64]) {
        let factors = &self.factor[row][..self.count];
        if factors.iter().all(|&factor| factor == 0.0) {
            return;
        }
        for (strip, changes) in values.chunks_mut(STRIP).zip(self.along.chunks_exact(WAITING)) {
            let mut sums = [0.0; STRIP];
            sums[..strip.len()].copy_from_slice(strip);
            for (factor, along) in factors.iter().zip(changes) {
                (0..STRIP).for_each(|at| sums[at] -= factor * along[at]);
            }
            strip.copy_from_slice(&sums[..strip.len()]);
        }
    }

    /// Apply all changes, oldest first, to the entries of a column from its diagonal down.
    fn apply_down(&self, column: usize, values: &mut [f64]) {
        let place = |change: usize| self.along[column / STRIP * WAITING + change][column % STRIP];
        let along: [f64; WAITING] = std::array::from_fn(place);
        for (value, factors) in values.iter_mut().zip(&self.factor[column..]) {
            for (factor, along) in factors[..self.count].iter().zip(&along) {
                *value -= factor * along;
            }
        }
    }
}

/// The largest number, NaN left out, in eight running maxima that the compiler can keep in vector registers.
fn largest(values: &[f32]) -> f32 {
    let mut most = [f32::NEG_INFINITY; 8];
    let strips = values.chunks_exact(8);
    let rest = strips.remainder().iter().copied().fold(f32::NEG_INFINITY, f32::max);
    for strip in strips {
        for (most, &value) in most.iter_mut().zip(strip) {
            *most = if value > *most { value } else { *most };
        }
    }
    most.into_iter().fold(rest, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_changes_give_the_bits_of_changes_at_once() {
        let models = 37;
        let theta: Vec<f64> = (0..models).map(|model| (model * model % 11) as f64 / 7.0).collect();
        let matches = vec![0.0; models * models];
        let place = |row: usize, column: usize| row * models + column;
        let mut plain = vec![0.0; models * models];
        for row in 0..models {
            for column in 0..models {
                plain[place(row, column)] = 1.0 / (1 + row.abs_diff(column)) as f64;
            }
        }
        let standing = Standing { log_strengths: &theta, matches: &matches, covariance: &plain };
        let mut gains = Gains::new(&standing, &mut Stream::new(1, 0));
        let mut plain = plain.clone();
        for match_ in 0..3 * WAITING + 5 {
            let (row, column) = (1 + match_ * 5 % (models - 1), match_ % (1 + match_ * 5 % (models - 1)));
            let at = |one: usize, other: usize| plain[place(one.max(other), one.min(other))];
            let along: Vec<f64> = (0..models).map(|model| at(model, column) - at(model, row)).collect();
            let curvature = information(theta[column] - theta[row]);
            let scale = curvature / (1.0 + curvature * (along[column] - along[row]));
            for one in 0..models {
                for other in 0..=one {
                    plain[place(one, other)] -= scale * along[one] * along[other];
                }
            }
            gains.learn(row, column);
            for model in 0..models {
                let expected: Vec<f64> =
                    (0..models).map(|other| plain[place(model.max(other), model.min(other))]).collect();
                assert_eq!(gains.covariances(model), expected);
                assert_eq!(gains.diagonal[model], expected[model]);
            }
        }
    }
}
