//! Scores of battles in models that have further parameters beside strengths (a tie parameter, coefficients).
//!
//! A row's score is the slope of its log-probability in all parameters: `slope (e_i − e_j)` in the strengths, and `further`
//! in the others; that of a group is the sum over its battles. Their sums of products and of cubed influences make
//! sandwich covariances and accelerations, as in [`crate::uncertainty::sandwich`], which knows strengths alone and sums pairs first.

use crate::cancel::Watch;
use crate::error::CoreError;
use crate::uncertainty::sandwich::Matrix;

/// Rows of scores, as columns of equal length.
#[derive(Debug, Clone, Copy)]
pub struct Scores<'a> {
    /// Number of models; codes are below it.
    pub models: usize,
    /// Number of further parameters.
    pub size: usize,
    /// The model that a row's slope speaks for.
    pub first: &'a [u32],
    /// The model that it speaks against.
    pub second: &'a [u32],
    /// The slope of one battle in θ_first − θ_second, its weight included.
    pub slope: &'a [f64],
    /// The slopes of one battle in the further parameters, row by row.
    pub further: &'a [f64],
    /// How many battles a row stands for.
    pub count: &'a [f64],
    /// The group of every row, and the number of groups; `None`: every battle stands for itself.
    pub group: Option<(&'a [u32], usize)>,
}

impl Scores<'_> {
    /// Σ s sᵀ over battles or groups, over strengths and then further parameters.
    ///
    /// # Errors
    /// [`CoreError::BadArgument`] for columns that do not fit together, [`CoreError::Cancelled`].
    pub fn products(&self, watch: &Watch) -> Result<Matrix, CoreError> {
        let width = self.models + self.size;
        let mut matrix = vec![0.0; width * width];
        self.each(watch, |score, touched, times| {
            for &row in touched {
                let value = times * score[row as usize];
                let out = &mut matrix[row as usize * width..(row as usize + 1) * width];
                for &column in touched {
                    out[column as usize] += value * score[column as usize];
                }
            }
        })?;
        Ok(matrix)
    }

    /// Σ l³ over battles or groups for each column of the kernel: l is the influence `Kᵀ s`, with K given row by row.
    ///
    /// # Errors
    /// As [`Scores::products`].
    pub fn third_moments(&self, kernel: &[f64], columns: usize, watch: &Watch) -> Result<Vec<f64>, CoreError> {
        if kernel.len() != columns * (self.models + self.size) {
            return Err(CoreError::BadArgument("the kernel needs one row per parameter"));
        }
        let (mut cubes, mut influence) = (vec![0.0; columns], vec![0.0; columns]);
        self.each(watch, |score, touched, times| {
            influence.fill(0.0);
            for &parameter in touched {
                let row = &kernel[parameter as usize * columns..(parameter as usize + 1) * columns];
                for (sum, value) in influence.iter_mut().zip(row) {
                    *sum += score[parameter as usize] * value;
                }
            }
            for (cube, value) in cubes.iter_mut().zip(&influence) {
                *cube += times * value.powi(3);
            }
        })?;
        Ok(cubes)
    }

    /// Call `visit` with the score of every battle or group, its parameters that are not 0, and how often it occurs.
    fn each(&self, watch: &Watch, mut visit: impl FnMut(&[f64], &[u32], f64)) -> Result<(), CoreError> {
        self.check()?;
        let mut sum = Sum { score: vec![0.0; self.models + self.size], touched: Vec::new() };
        let Some((group, count)) = self.group else {
            for row in 0..self.first.len() {
                if row % 4096 == 0 {
                    watch.check()?;
                }
                sum.add(self, row, 1.0);
                sum.hand_over(|score, touched| visit(score, touched, self.count[row]));
            }
            return Ok(());
        };
        let (start, order) = by_group(group, count);
        for ends in start.windows(2) {
            watch.check()?;
            for &row in &order[ends[0]..ends[1]] {
                sum.add(self, row as usize, self.count[row as usize]);
            }
            sum.hand_over(|score, touched| visit(score, touched, 1.0));
        }
        Ok(())
    }

    /// Call `visit` with the score of each of `count` groups, also of those without a row.
    ///
    /// # Errors
    /// As [`Scores::products`]; also without groups, or with another number of them.
    pub(crate) fn each_group(
        &self,
        count: usize,
        watch: &Watch,
        mut visit: impl FnMut(&[f64]),
    ) -> Result<(), CoreError> {
        if self.group.is_none_or(|(_, own)| own != count) {
            return Err(CoreError::BadArgument("the scores have other groups"));
        }
        self.each(watch, |score, _, _| visit(score))
    }

    fn check(&self) -> Result<(), CoreError> {
        let rows = self.first.len();
        let lengths = [self.second.len(), self.slope.len(), self.count.len()];
        let known = |models: &[u32]| models.iter().all(|&model| (model as usize) < self.models);
        let grouped = self
            .group
            .is_none_or(|(group, count)| group.len() == rows && group.iter().all(|&number| (number as usize) < count));
        let fits = lengths.iter().all(|&length| length == rows) && self.further.len() == rows * self.size;
        if fits && grouped && known(self.first) && known(self.second) {
            Ok(())
        } else {
            Err(CoreError::BadArgument("the columns of scores do not fit together"))
        }
    }
}

/// A sum of scores.
struct Sum {
    score: Vec<f64>,
    touched: Vec<u32>,
}

impl Sum {
    fn add(&mut self, scores: &Scores<'_>, row: usize, times: f64) {
        let slope = times * scores.slope[row];
        self.change(scores.first[row], slope);
        self.change(scores.second[row], -slope);
        for (number, value) in scores.further[row * scores.size..(row + 1) * scores.size].iter().enumerate() {
            self.change((scores.models + number) as u32, times * value);
        }
    }

    fn change(&mut self, parameter: u32, by: f64) {
        // A sum that is 0 by chance is only listed twice, which `hand_over` mends.
        if self.score[parameter as usize] == 0.0 {
            self.touched.push(parameter);
        }
        self.score[parameter as usize] += by;
    }

    /// Show the sum, then start anew.
    fn hand_over(&mut self, visit: impl FnOnce(&[f64], &[u32])) {
        self.touched.sort_unstable();
        self.touched.dedup();
        visit(&self.score, &self.touched);
        for parameter in self.touched.drain(..) {
            self.score[parameter as usize] = 0.0;
        }
    }
}

/// Rows, group by group: those of group g are `order[start[g]..start[g + 1]]`.
pub(crate) fn by_group(group: &[u32], count: usize) -> (Vec<usize>, Vec<u32>) {
    let mut start = vec![0; count + 1];
    for &number in group {
        start[number as usize + 1] += 1;
    }
    for number in 0..count {
        start[number + 1] += start[number];
    }
    let mut next = start.clone();
    let mut order = vec![0; group.len()];
    for (row, &number) in group.iter().enumerate() {
        order[next[number as usize]] = row as u32;
        next[number as usize] += 1;
    }
    (start, order)
}
