//! How much the next match of every pair would say, while matches are planned: the gains of the rule `Information`.
//!
//! A planned match changes the covariance by a matrix of rank one. Written out match by match, that moves the whole
//! matrix through the cache each time, which takes longer than the arithmetic. So changes wait in a short queue: whoever
//! looks at a row writes into it those that it does not have yet, and when the queue is full all rows catch up. Every number
//! goes through the same operations in the same order as if nothing waited, and has the same bits. Rows lie in strips of
//! a fixed length, so that the compiler can keep a strip in registers.

use std::cmp::Ordering;

use crate::random::Stream;
use crate::scheduling::next_pairs::{Standing, information};

/// Changes that wait at the most; for a few hundred models they fit into the innermost cache.
const WAITING: usize = 16;
/// Numbers that are kept in registers while changes are applied.
const STRIP: usize = 16;
/// A stretch of a row; past the diagonal, numbers mean nothing and are never chosen.
type Strip = [f64; STRIP];
/// Numbers that are compared at once.
const QUARTER: usize = 4;

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
        self.gain.total_cmp(&other.gain).then_with(|| pair(self).cmp(&pair(other)))
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

/// The gain of a match of every pair: p(1 − p)·Var(θ_i − θ_j). Matrices row by row, rows in strips; only the lower
/// triangle is used.
pub(crate) struct Gains {
    pub(crate) models: usize,
    /// Strips of a row.
    strips: usize,
    /// p(1 − p); NaN for a pair that cannot meet, and outside the triangle.
    curvature: Vec<Strip>,
    /// Each row as it was before the changes that it has not caught up with.
    covariance: Vec<Strip>,
    waiting: Queue,
    /// Variances, after all changes.
    diagonal: Vec<Strip>,
    /// Decides between equal gains.
    lot: Vec<u64>,
    /// The gains of the row that is looked at.
    gains: Vec<Strip>,
    /// The largest of each strip of it is one of these.
    most: Vec<[f64; QUARTER]>,
}

impl Gains {
    pub(crate) fn new(standing: &Standing<'_>, stream: &mut Stream) -> Self {
        let theta = standing.log_strengths;
        let models = theta.len();
        let strips = models.div_ceil(STRIP);
        let mut curvature = vec![[f64::NAN; STRIP]; models * strips];
        let mut lot = vec![0; models * strips * STRIP];
        for column in 0..models {
            for row in column + 1..models {
                curvature[row * strips + column / STRIP][column % STRIP] = information(theta[column] - theta[row]);
                lot[row * strips * STRIP + column] = stream.bits();
            }
        }
        let mut covariance = vec![[0.0; STRIP]; models * strips];
        let mut diagonal = vec![[0.0; STRIP]; strips];
        for model in 0..models {
            let values = &standing.covariance[model * models..(model + 1) * models];
            for (strip, values) in covariance[model * strips..].iter_mut().zip(values.chunks(STRIP)) {
                strip[..values.len()].copy_from_slice(values);
            }
            diagonal[model / STRIP][model % STRIP] = values[model];
        }
        Self {
            models,
            strips,
            curvature,
            covariance,
            waiting: Queue::new(models),
            diagonal,
            lot,
            gains: vec![[0.0; STRIP]; strips],
            most: vec![[0.0; QUARTER]; strips],
        }
    }

    /// The pair of `row` and a lower model with the largest gain; `None` when none of them can meet.
    pub(crate) fn best_of(&mut self, row: usize) -> Option<Candidate> {
        self.catch_up(row);
        let own = self.diagonal[row / STRIP][row % STRIP];
        let span = row * self.strips..row * self.strips + row.div_ceil(STRIP);
        let parts = self.covariance[span.clone()].iter().zip(&self.curvature[span]).zip(&self.diagonal);
        let gains = &mut self.gains[..row.div_ceil(STRIP)];
        let mut most = NOTHING;
        for ((gains, quarter), ((covariance, curvature), diagonal)) in gains.iter_mut().zip(&mut self.most).zip(parts) {
            let now: Strip = std::array::from_fn(|at| curvature[at] * (own + diagonal[at] - 2.0 * covariance[at]));
            let largest = now.chunks_exact(QUARTER).fold(NOTHING, |most, gains| larger(gains, most));
            most = larger(&largest, most);
            (*gains, *quarter) = (now, largest);
        }
        let most = most.into_iter().fold(f64::NEG_INFINITY, f64::max) as f32;
        let mut best = None;
        for (number, (gains, quarter)) in gains.iter().zip(&self.most).enumerate() {
            // Hardly any strip holds the largest.
            for lane in (0..QUARTER).filter(|&lane| quarter[lane] as f32 == most) {
                let held = (lane..STRIP).step_by(QUARTER).filter(|&at| gains[at] as f32 == most);
                let columns = held.map(|at| number * STRIP + at);
                best = best.max(columns.map(|column| (self.lot[row * self.strips * STRIP + column], column)).max());
            }
        }
        best.map(|(lot, column)| Candidate { gain: most, lot, row, column })
    }

    /// The gain of a match of `row` against `column` (a lower model), after all changes; NaN when they cannot meet.
    pub(crate) fn of_pair(&mut self, row: usize, column: usize) -> f64 {
        self.catch_up(row);
        let place = row * self.strips + column / STRIP;
        let variance = self.diagonal[row / STRIP][row % STRIP] + self.diagonal[column / STRIP][column % STRIP];
        self.curvature[place][column % STRIP] * (variance - 2.0 * self.covariance[place][column % STRIP])
    }

    /// Two models that share no prompt never meet.
    pub(crate) fn rule_out(&mut self, row: usize, column: usize) {
        self.curvature[row * self.strips + column / STRIP][column % STRIP] = f64::NAN;
    }

    /// One more match of `row` against `column`: Sherman & Morrison 1950.
    pub(crate) fn learn(&mut self, row: usize, column: usize) {
        let (of_column, of_row) = (self.covariances(column), self.covariances(row));
        let along: Vec<f64> = of_column.iter().zip(&of_row).map(|(one, other)| one - other).collect();
        let curvature = self.curvature[row * self.strips + column / STRIP][column % STRIP];
        let scale = curvature / (1.0 + curvature * (along[column] - along[row]));
        for (variance, along) in self.diagonal.as_flattened_mut().iter_mut().zip(&along) {
            *variance -= scale * along * along;
        }
        self.waiting.push(scale, &along);
        if self.waiting.count == WAITING {
            (0..self.models).for_each(|row| self.catch_up(row));
            self.waiting.clear();
        }
    }

    /// Write the changes that wait into a row.
    fn catch_up(&mut self, row: usize) {
        let span = row * self.strips..row * self.strips + row / STRIP + 1;
        self.waiting.apply(row, &mut self.covariance[span]);
    }

    /// The covariances of one model with all, after all changes.
    fn covariances(&mut self, model: usize) -> Vec<f64> {
        self.catch_up(model);
        let (own, at) = (model / STRIP, model % STRIP);
        let mut values = self.covariance[model * self.strips..][..self.strips].to_vec();
        for (number, strip) in values.iter_mut().enumerate().skip(own) {
            for (lane, row) in (number * STRIP..self.models.min((number + 1) * STRIP)).enumerate() {
                if row > model {
                    strip[lane] = self.covariance[row * self.strips + own][at];
                }
            }
            self.waiting.apply_down(model, number, strip);
        }
        // Up to the diagonal, they are in the row.
        values[own][..=at].copy_from_slice(&self.covariance[model * self.strips + own][..=at]);
        let mut values = values.into_flattened();
        values.truncate(self.models);
        values
    }
}

/// Matrices of rank one that are still to be subtracted from the covariance, `factor[i] · along[j]` from entry (i, j ≤ i).
///
/// Laid out as they are read: what belongs to one strip lies together, one entry per strip and change.
struct Queue {
    count: usize,
    along: Vec<Strip>,
    /// 0 where a row has the change already.
    factor: Vec<Strip>,
    /// How many of the changes each row has already.
    done: Vec<usize>,
}

impl Queue {
    fn new(models: usize) -> Self {
        let entries = models.div_ceil(STRIP) * WAITING;
        Self {
            count: 0,
            along: vec![[0.0; STRIP]; entries],
            factor: vec![[0.0; STRIP]; entries],
            done: vec![0; models],
        }
    }

    fn push(&mut self, scale: f64, along: &[f64]) {
        for (number, values) in along.chunks(STRIP).enumerate() {
            let place = number * WAITING + self.count;
            self.along[place][..values.len()].copy_from_slice(values);
            self.factor[place] = self.along[place].map(|along| scale * along);
        }
        self.count += 1;
    }

    /// Forget all changes, which every row has.
    fn clear(&mut self) {
        self.count = 0;
        self.done.fill(0);
    }

    /// Apply the changes that a row does not have, oldest first, to its first strips.
    fn apply(&mut self, row: usize, strips: &mut [Strip]) {
        let since = std::mem::replace(&mut self.done[row], self.count);
        let mut factors = [0.0; WAITING];
        let changes = &mut self.factor[row / STRIP * WAITING..][since..self.count];
        for (factor, change) in factors.iter_mut().zip(changes) {
            *factor = std::mem::take(&mut change[row % STRIP]);
        }
        if factors.iter().all(|&factor| factor == 0.0) {
            return;
        }
        for (strip, changes) in strips.iter_mut().zip(self.along.chunks_exact(WAITING)) {
            let mut sums = *strip;
            for (factor, along) in factors.iter().zip(&changes[since..self.count]) {
                (0..STRIP).for_each(|at| sums[at] -= factor * along[at]);
            }
            *strip = sums;
        }
    }

    /// Apply to each entry of a strip of a column the changes that its row does not have.
    fn apply_down(&self, column: usize, number: usize, strip: &mut Strip) {
        let along = self.along[column / STRIP * WAITING..].iter().map(|along| along[column % STRIP]);
        let mut sums = *strip;
        for (factor, along) in self.factor[number * WAITING..][..self.count].iter().zip(along) {
            (0..STRIP).for_each(|at| sums[at] -= factor[at] * along);
        }
        *strip = sums;
    }
}

/// Less than everything, entry by entry.
const NOTHING: [f64; QUARTER] = [f64::NEG_INFINITY; QUARTER];

/// Entry by entry the larger; NaN among the first is left out.
fn larger(one: &[f64], other: [f64; QUARTER]) -> [f64; QUARTER] {
    std::array::from_fn(|at| if one[at] > other[at] { one[at] } else { other[at] })
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
                assert_eq!(gains.diagonal[model / STRIP][model % STRIP], expected[model]);
            }
        }
    }
}
