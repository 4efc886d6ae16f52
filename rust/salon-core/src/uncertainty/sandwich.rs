//! What single battles and clusters do to an estimate: the pieces of sandwich covariances and of accelerations.
//!
//! The score of a battle between i and j with weight w is w (y − p) (e_i − e_j), where y is 1, 0 or ½ for the first model
//! and p the fitted chance; the score of a cluster is the sum over its battles. With H the curvature, H⁻¹ s is the
//! influence of a battle or cluster: what the estimate gains by it, to first order. A prior is in H and has no score, as it is
//! no observation.

use crate::battles::cells::{Cell, Cells};
use crate::cancel::Watch;
use crate::error::CoreError;

/// How battles hang together: `cluster → group`, and the number of groups. `None`: every battle stands for itself.
pub type Groups<'a> = Option<(&'a [u32], usize)>;

/// A square matrix, row by row.
pub type Matrix = Vec<f64>;

/// The fitted chance of the cell's first model.
fn chance(cell: &Cell, theta: &[f64]) -> f64 {
    logistic(theta[cell.first as usize] - theta[cell.second as usize])
}

fn logistic(value: f64) -> f64 {
    1.0 / (1.0 + (-value).exp())
}

/// The curvature `Σ w p (1 − p) (e_i − e_j)(e_i − e_j)ᵀ`, with `prior_ties · p(1 − p)` of the prior on the diagonal.
///
/// # Errors
/// [`CoreError::BadArgument`] for a θ of the wrong length.
pub fn information(cells: &Cells, theta: &[f64], prior_ties: f64) -> Result<Matrix, CoreError> {
    check(cells, theta, None)?;
    let mut matrix = vec![0.0; theta.len() * theta.len()];
    for cell in cells.iter() {
        let p = chance(&cell, theta);
        add_edge(&mut matrix, theta.len(), &cell, cell.count as f64 * cell.weight * p * (1.0 - p));
    }
    for (model, &value) in theta.iter().enumerate() {
        let p = logistic(value);
        matrix[model * theta.len() + model] += prior_ties * p * (1.0 - p);
    }
    Ok(matrix)
}

/// `Σ w (y ln p + (1 − y) ln(1 − p))` over all battles.
///
/// # Errors
/// [`CoreError::BadArgument`] for a θ of the wrong length.
pub fn log_likelihood(cells: &Cells, theta: &[f64]) -> Result<f64, CoreError> {
    check(cells, theta, None)?;
    let (pairs, scores) = (cells.pairs(), cells.scores());
    let of_pair = |pair: usize| {
        let gap = theta[pairs.first[pair] as usize] - theta[pairs.second[pair] as usize];
        scores.score[pair] * gap - scores.matches[pair] * (gap.max(0.0) + (-gap.abs()).exp().ln_1p())
    };
    Ok((0..pairs.len()).map(of_pair).sum())
}

/// `Σ s sᵀ` over all battles, or over all groups of battles.
///
/// # Errors
/// [`CoreError::BadArgument`] for arrays of the wrong length, [`CoreError::Cancelled`].
pub fn score_products(cells: &Cells, theta: &[f64], groups: Groups<'_>, watch: &Watch) -> Result<Matrix, CoreError> {
    check(cells, theta, groups)?;
    let models = theta.len();
    let mut matrix = vec![0.0; models * models];
    let Some(groups) = groups else {
        for cell in cells.iter() {
            let score = cell.weight * (cell.outcome.score() - chance(&cell, theta));
            add_edge(&mut matrix, models, &cell, cell.count as f64 * score * score);
        }
        return Ok(matrix);
    };
    each_group(cells, theta, groups, watch, |score, touched| {
        for &row in touched {
            let value = score[row as usize];
            let out = &mut matrix[row as usize * models..(row as usize + 1) * models];
            for &column in touched {
                out[column as usize] += value * score[column as usize];
            }
        }
    })?;
    Ok(matrix)
}

/// `Σ l³` over all battles or groups, for each model: l is the influence `Kᵀ s`, with K given row by row.
///
/// # Errors
/// As [`score_products`].
pub fn third_moments(
    cells: &Cells,
    theta: &[f64],
    groups: Groups<'_>,
    kernel: &[f64],
    watch: &Watch,
) -> Result<Vec<f64>, CoreError> {
    check(cells, theta, groups)?;
    let models = theta.len();
    if kernel.len() != models * models {
        return Err(CoreError::BadArgument("the kernel is not square in the models"));
    }
    let row = |model: u32| &kernel[model as usize * models..(model as usize + 1) * models];
    let mut cubes = vec![0.0; models];
    let Some(groups) = groups else {
        for cell in cells.iter() {
            let score = cell.weight * (cell.outcome.score() - chance(&cell, theta));
            for ((cube, first), second) in cubes.iter_mut().zip(row(cell.first)).zip(row(cell.second)) {
                *cube += cell.count as f64 * (score * (first - second)).powi(3);
            }
        }
        return Ok(cubes);
    };
    let mut influence = vec![0.0; models];
    each_group(cells, theta, groups, watch, |score, touched| {
        influence.fill(0.0);
        for &model in touched {
            for (sum, value) in influence.iter_mut().zip(row(model)) {
                *sum += score[model as usize] * value;
            }
        }
        for (cube, value) in cubes.iter_mut().zip(&influence) {
            *cube += value.powi(3);
        }
    })?;
    Ok(cubes)
}

fn check(cells: &Cells, theta: &[f64], groups: Groups<'_>) -> Result<(), CoreError> {
    if theta.len() != cells.pairs().models {
        return Err(CoreError::BadArgument("the estimate has another number of models"));
    }
    match groups {
        Some((group, count))
            if group.len() != cells.clusters() || group.iter().any(|&number| number as usize >= count) =>
        {
            Err(CoreError::BadArgument("every cluster needs a group"))
        }
        _ => Ok(()),
    }
}

fn add_edge(matrix: &mut [f64], models: usize, cell: &Cell, value: f64) {
    let (first, second) = (cell.first as usize, cell.second as usize);
    matrix[first * models + first] += value;
    matrix[second * models + second] += value;
    matrix[first * models + second] -= value;
    matrix[second * models + first] -= value;
}

/// Call `visit` with the score of every group, and the models that have a battle in it.
fn each_group(
    cells: &Cells,
    theta: &[f64],
    (group, count): (&[u32], usize),
    watch: &Watch,
    mut visit: impl FnMut(&[f64], &[u32]),
) -> Result<(), CoreError> {
    let (start, order) = by_group(cells, group, count);
    let mut score = vec![0.0; theta.len()];
    let mut is_touched = vec![false; theta.len()];
    let mut touched: Vec<u32> = Vec::new();
    for number in 0..count {
        watch.check()?;
        for place in &order[start[number]..start[number + 1]] {
            let cell = cells.cell(place.pair as usize, place.position as usize);
            let value = cell.count as f64 * cell.weight * (cell.outcome.score() - chance(&cell, theta));
            for (model, change) in [(cell.first, value), (cell.second, -value)] {
                score[model as usize] += change;
                if !std::mem::replace(&mut is_touched[model as usize], true) {
                    touched.push(model);
                }
            }
        }
        touched.sort_unstable();
        visit(&score, &touched);
        for model in touched.drain(..) {
            score[model as usize] = 0.0;
            is_touched[model as usize] = false;
        }
    }
    Ok(())
}

/// Where a cell stands.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Place {
    pub(crate) pair: u32,
    pub(crate) position: u32,
}

/// Places of cells, group by group, each in the order of cells: those of group g are `order[start[g]..start[g + 1]]`.
pub(crate) fn by_group(cells: &Cells, group: &[u32], count: usize) -> (Vec<usize>, Vec<Place>) {
    let of = |cell: &Cell| group[cell.cluster as usize] as usize;
    let mut start = vec![0; count + 1];
    for cell in cells.iter() {
        start[of(&cell) + 1] += 1;
    }
    for number in 0..count {
        start[number + 1] += start[number];
    }
    let mut next = start.clone();
    let mut order = vec![Place::default(); cells.len()];
    for pair in 0..cells.pairs().len() {
        for position in cells.positions(pair) {
            let group = of(&cells.cell(pair, position));
            order[next[group]] = Place { pair: pair as u32, position: position as u32 };
            next[group] += 1;
        }
    }
    (start, order)
}
