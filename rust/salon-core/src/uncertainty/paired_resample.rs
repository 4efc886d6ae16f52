//! The paired bootstrap of mean differences: systems that were scored on the same items, resampled together.
//!
//! A replicate draws N of the N items with replacement, once for all systems, so what makes an item hard for both systems of
//! a pair cancels. A difference that is smaller than what rounding can do to sums of N scores is 0: whether an interval holds
//! 0 must not be decided by the order of a sum.

use crate::cancel::Watch;
use crate::error::CoreError;
use crate::random::Stream;
use crate::workers::in_blocks;

/// Scores of systems on items, row by row: shape (items, systems); NaN where a system has no score.
#[derive(Debug, Clone)]
pub struct Table<'a> {
    values: &'a [f64],
    systems: usize,
    /// Whether a system has a score on every item.
    whole: Vec<bool>,
    /// A mean difference below this is 0.
    rounding: f64,
}

/// What a thread needs for one replicate: how often each item was drawn, and the sum of each system.
struct Tools {
    times: Vec<f64>,
    sums: Vec<f64>,
}

impl<'a> Table<'a> {
    /// A table with rows of `systems` values.
    ///
    /// # Errors
    /// [`CoreError::BadArgument`] for fewer than two systems, no items, or rows of different lengths.
    pub fn new(values: &'a [f64], systems: usize) -> Result<Self, CoreError> {
        if systems < 2 || values.is_empty() || values.len() % systems != 0 {
            return Err(CoreError::BadArgument(
                "scores need at least two systems and one item, all rows of one length",
            ));
        }
        let mut whole = vec![true; systems];
        for row in values.chunks_exact(systems) {
            whole.iter_mut().zip(row).for_each(|(whole, score)| *whole &= !score.is_nan());
        }
        let largest = values.iter().fold(0.0_f64, |largest, score| largest.max(score.abs()));
        let rounding = largest * (values.len() / systems) as f64 * f64::EPSILON;
        Ok(Self { values, systems, whole, rounding })
    }

    /// The pairs (i, j) with i < j; differences stand in the order (0, 1), (0, 2), …, (1, 2), ….
    pub fn pairs(&self) -> usize {
        self.systems * (self.systems - 1) / 2
    }

    /// The mean difference, first less second, of every pair in every replicate: shape (replicates, pairs).
    ///
    /// Of the drawn items those count that both systems of a pair have; NaN where there is none among them.
    ///
    /// # Errors
    /// [`CoreError::Cancelled`]; [`CoreError::BadArgument`] without a thread.
    pub fn differences(
        &self,
        replicates: usize,
        seed: u64,
        threads: usize,
        watch: &Watch,
    ) -> Result<Vec<f64>, CoreError> {
        if threads == 0 {
            return Err(CoreError::BadArgument("there must be a thread"));
        }
        let items = self.values.len() / self.systems;
        let mut found = vec![0.0; replicates * self.pairs()];
        let tools = || Tools { times: vec![0.0; items], sums: vec![0.0; self.systems] };
        in_blocks(&mut found, self.pairs(), threads, tools, |tools, index, row| {
            watch.check()?;
            draw_items(seed, index as u64, &mut tools.times);
            self.sum(tools);
            self.subtract(tools, row);
            watch.advance(1);
            Ok(())
        })?;
        Ok(found)
    }

    /// The sum of each system over the drawn items; NaN for one that is not whole.
    fn sum(&self, tools: &mut Tools) {
        tools.sums.fill(0.0);
        for (scores, &times) in self.values.chunks_exact(self.systems).zip(&tools.times) {
            tools.sums.iter_mut().zip(scores).for_each(|(sum, score)| *sum += times * score);
        }
    }

    fn subtract(&self, tools: &Tools, row: &mut [f64]) {
        let pairs = (0..self.systems).flat_map(|first| (first + 1..self.systems).map(move |second| (first, second)));
        for (found, (first, second)) in row.iter_mut().zip(pairs) {
            let difference = if self.whole[first] && self.whole[second] {
                (tools.sums[first] - tools.sums[second]) / tools.times.len() as f64
            } else {
                self.difference_of_common(first, second, &tools.times)
            };
            *found = if difference.abs() <= self.rounding { 0.0 } else { difference };
        }
    }

    /// The mean difference over the drawn items that both have.
    fn difference_of_common(&self, first: usize, second: usize, times: &[f64]) -> f64 {
        let (mut sum, mut drawn) = (0.0, 0.0);
        for (scores, &times) in self.values.chunks_exact(self.systems).zip(times) {
            let difference = scores[first] - scores[second];
            if !difference.is_nan() {
                sum += times * difference;
                drawn += times;
            }
        }
        sum / drawn
    }
}

/// How often each item is drawn in one replicate of a seed: as many draws as there are items.
pub fn draw_items(seed: u64, index: u64, times: &mut [f64]) {
    let mut stream = Stream::new(seed, index);
    times.fill(0.0);
    for _ in 0..times.len() {
        times[stream.below(times.len() as u64) as usize] += 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: f64 = f64::NAN;

    fn differences(values: &[f64], systems: usize, threads: usize) -> Vec<f64> {
        Table::new(values, systems).unwrap().differences(200, 7, threads, &Watch::default()).unwrap()
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let values: Vec<f64> = (0..300).map(|i| if i % 7 == 0 { NONE } else { f64::from(i * i % 97) / 31.0 }).collect();
        let bits = |threads| differences(&values, 5, threads).into_iter().map(f64::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(1), bits(4));
    }

    #[test]
    fn a_constant_lead_is_the_same_in_every_replicate() {
        assert!(differences(&[1.0, 0.5, 3.0, 2.5, 0.25, -0.25], 2, 1).iter().all(|found| (found - 0.5).abs() < 1e-15));
    }

    #[test]
    fn a_pair_without_a_common_item_has_no_difference_and_leaves_the_others_alone() {
        let found = differences(&[1.0, NONE, 0.0, NONE, 1.0, 0.0, 1.0, NONE, 0.0], 3, 2);
        for row in found.chunks(3) {
            assert!(row[0].is_nan());
            assert!(row[1].is_nan() || row[1] == 1.0);
            assert!(row[2].is_nan() || row[2] == 1.0);
        }
    }

    #[test]
    fn pairs_share_their_items() {
        for row in differences(&[0.1, 0.7, 0.3, 0.9, 0.2, 0.8, 0.4, 0.5, 0.6, 0.3, 0.1, 0.2], 3, 1).chunks(3) {
            assert!((row[0] + row[2] - row[1]).abs() < 1e-12, "{row:?}");
        }
    }

    #[test]
    fn scores_that_cancel_come_out_as_exactly_nothing() {
        let thirds = [0.1, 0.3, 0.2, 0.0, 0.1, 0.3, 0.2, 0.0];
        let found = differences(&thirds, 2, 1);
        assert!(found.iter().filter(|&&found| found == 0.0).count() > 40);
        assert!(found.iter().all(|found| *found == 0.0 || found.abs() > 0.01), "{found:?}");
    }

    #[test]
    fn what_is_no_table_is_refused() {
        assert!(Table::new(&[1.0, 2.0, 3.0], 2).is_err());
        assert!(Table::new(&[], 2).is_err());
        assert!(Table::new(&[1.0], 1).is_err());
        assert!(Table::new(&[1.0, 2.0], 2).unwrap().differences(1, 0, 0, &Watch::default()).is_err());
    }

    #[test]
    fn work_can_be_called_off() {
        let watch = Watch::default();
        watch.cancel();
        let table = [1.0, 2.0];
        assert_eq!(Table::new(&table, 2).unwrap().differences(9, 0, 1, &watch), Err(CoreError::Cancelled));
    }
}
