//! Bradley-Terry with covariates: ln odds(first beats second) = θ_first − θ_second + x·β, fitted by maximum likelihood.
//!
//! Rows may stand for several alike battles (`count`), each of weight `weight`; a tie is half a win, one score and not two
//! votes. Newton's method on strengths and coefficients together ([`crate::linalg::schur`]); a full step is damped to
//! ln(1 + r)/r of its length, r being the largest change of any row's log-odds, which never lowers the likelihood (Bach 2010).

use std::collections::HashMap;

use crate::battles::cells::Pairs;
use crate::cancel::Watch;
use crate::error::CoreError;
use crate::linalg::laplacian::Laplacian;
use crate::linalg::schur::{Bordered, Solved, inverse};
use crate::model::bradley_terry::Settings;

/// Rows of battles: columns of equal length.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// Number of models; codes are below it.
    pub models: usize,
    /// Code of the first model.
    pub first: &'a [u32],
    /// Code of the second model.
    pub second: &'a [u32],
    /// What the first model got: 1, 0 or ½.
    pub score: &'a [f64],
    /// How many battles a row stands for.
    pub count: &'a [f64],
    /// The weight of each of them.
    pub weight: &'a [f64],
    /// The covariates, row by row.
    pub covariates: &'a [f64],
}

/// A fitted model.
#[derive(Debug, Clone)]
pub struct ContextualFit {
    /// θ, one per model; mean 0 without a prior.
    pub log_strengths: Vec<f64>,
    /// β, one per covariate.
    pub coefficients: Vec<f64>,
    /// Newton steps taken.
    pub iterations: usize,
    /// Whether the last step was within the tolerance.
    pub converged: bool,
    /// Whether the covariates were determined beside the strengths, at every step.
    pub determined: bool,
    /// Largest log-odds of any row, in absolute value.
    pub largest_log_odds: f64,
    /// Largest slope of the log-likelihood per match, over models and coefficients.
    pub gradient_norm: f64,
}

/// How strongly the covariates are determined beside the strengths, at equal chances: per covariate, the share of its
/// sum of squares that neither the strengths nor the covariates before it explain. 0 means not at all.
///
/// # Errors
/// [`CoreError::Cancelled`], or [`CoreError`] for rows that do not fit together.
pub fn unexplained(rows: &Rows<'_>, watch: &Watch) -> Result<Vec<f64>, CoreError> {
    let design = Design::new(rows)?;
    let problem = Problem::new(rows, &design, 0.0, 0.0);
    let size = problem.size;
    let at = Point { theta: vec![0.0; rows.models], beta: vec![0.0; size] };
    let state = problem.state(&at);
    let mut shares = Vec::with_capacity(size);
    for last in 0..size {
        let used = last + 1;
        let models = rows.models;
        let corner: Vec<f64> = (0..used)
            .flat_map(|row| (0..used).map(move |column| (row, column)))
            .map(|(r, c)| state.corner[r * size + c])
            .collect();
        let strengths = Laplacian { pairs: &design.pairs, weight: state.curvature.clone(), extra: vec![0.0; models] };
        let total = corner[used * used - 1];
        let system = Bordered { strengths, border: state.border[..used * models].to_vec(), corner };
        let solved = system.solve(&vec![0.0; models], &vec![0.0; used], watch)?;
        // What is left of the last variable after the others is 1 over the last entry of the inverse.
        let left = solved.and_then(|solved| inverse(&solved.schur, used)).map(|all| 1.0 / all[used * used - 1]);
        shares.push(left.filter(|_| total > 0.0).map_or(0.0, |left| left / total));
    }
    Ok(shares)
}

/// Fit strengths and coefficients.
///
/// # Errors
/// [`CoreError::Cancelled`], or [`CoreError`] for rows that do not fit together.
pub fn fit_contextual(rows: &Rows<'_>, settings: &Settings, watch: &Watch) -> Result<ContextualFit, CoreError> {
    let design = Design::new(rows)?;
    let problem = Problem::new(rows, &design, settings.prior_ties, settings.ridge);
    let start = Point { theta: vec![0.0; rows.models], beta: vec![0.0; problem.size] };
    let reached = problem.maximise(start, settings, watch)?;
    Ok(problem.report(reached))
}

/// An answer without its covariance.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) log_strengths: Vec<f64>,
    pub(crate) coefficients: Vec<f64>,
    pub(crate) converged: bool,
    /// Whether the covariates were determined beside the strengths, at every step.
    pub(crate) determined: bool,
    /// Largest log-odds of any row, in absolute value.
    pub(crate) largest_log_odds: f64,
}

/// Fit rows from the answer to similar ones.
///
/// # Errors
/// [`CoreError::Cancelled`].
pub(crate) fn fit_nearby(
    rows: &Rows<'_>,
    design: &Design,
    settings: &Settings,
    (theta, beta): (&[f64], &[f64]),
    watch: &Watch,
) -> Result<Answer, CoreError> {
    let problem = Problem::new(rows, design, settings.prior_ties, settings.ridge);
    let start = Point { theta: theta.to_vec(), beta: beta.to_vec() };
    let Reached { at, converged, determined, .. } = problem.maximise(start, settings, watch)?;
    let drawn = (0..rows.first.len()).filter(|&row| rows.count[row] > 0.0);
    let largest_log_odds = drawn.map(|row| problem.log_odds(&at, row).abs()).fold(0.0, f64::max);
    Ok(Answer { log_strengths: at.theta, coefficients: at.beta, converged, determined, largest_log_odds })
}

/// Where Newton's method ended.
#[derive(Debug)]
struct Reached {
    at: Point,
    iterations: usize,
    converged: bool,
    determined: bool,
}

#[derive(Debug, Clone)]
struct Point {
    theta: Vec<f64>,
    beta: Vec<f64>,
}

impl Point {
    fn advance(&mut self, step: &Solved, damping: f64, centre: bool) {
        self.theta.iter_mut().zip(&step.strengths).for_each(|(to, change)| *to += damping * change);
        self.beta.iter_mut().zip(&step.further).for_each(|(to, change)| *to += damping * change);
        if centre {
            let mean = self.theta.iter().sum::<f64>() / self.theta.len() as f64;
            self.theta.iter_mut().for_each(|theta| *theta -= mean);
        }
    }
}

/// Gradient and curvature at a point.
#[derive(Debug)]
struct State {
    theta: Vec<f64>,
    beta: Vec<f64>,
    curvature: Vec<f64>,
    extra: Vec<f64>,
    border: Vec<f64>,
    corner: Vec<f64>,
}

/// Who met whom in the rows: checked once, for any counts.
#[derive(Debug)]
pub(crate) struct Design {
    pub(crate) pairs: Pairs,
    /// The pair of every row.
    pub(crate) pair: Vec<u32>,
    /// Number of covariates.
    pub(crate) size: usize,
}

impl Design {
    pub(crate) fn new(rows: &Rows<'_>) -> Result<Self, CoreError> {
        let expected = rows.first.len();
        let lengths = [("second", rows.second), ("first", rows.first)].map(|(name, column)| (name, column.len()));
        let floats = [("score", rows.score), ("count", rows.count), ("weight", rows.weight)]
            .map(|(name, column)| (name, column.len()));
        for (column, found) in lengths.into_iter().chain(floats) {
            if found != expected {
                return Err(CoreError::LengthMismatch { column, found, expected });
            }
        }
        let size = rows.covariates.len() / expected.max(1);
        if size * expected != rows.covariates.len() {
            return Err(CoreError::BadArgument("covariates are no whole number of columns"));
        }
        for row in 0..expected {
            let (first, second) = (rows.first[row] as usize, rows.second[row] as usize);
            if first == second || first.max(second) >= rows.models {
                return Err(CoreError::BadRow { row, problem: "the models are not two of those there are" });
            }
        }
        let (pairs, pair) = pairs_of(rows.models, rows.first, rows.second);
        Ok(Self { pairs, pair, size })
    }
}

#[derive(Debug)]
struct Problem<'a> {
    rows: &'a Rows<'a>,
    pairs: &'a Pairs,
    /// The pair of every row.
    pair: &'a [u32],
    /// Number of covariates.
    size: usize,
    prior: f64,
    ridge: f64,
}

impl<'a> Problem<'a> {
    fn new(rows: &'a Rows<'a>, design: &'a Design, prior: f64, ridge: f64) -> Self {
        Self { rows, pairs: &design.pairs, pair: &design.pair, size: design.size, prior, ridge }
    }

    fn maximise(&self, start: Point, settings: &Settings, watch: &Watch) -> Result<Reached, CoreError> {
        let mut reached = Reached { at: start, iterations: 0, converged: false, determined: true };
        while reached.iterations < settings.max_iterations && !reached.converged {
            watch.check()?;
            let state = self.state(&reached.at);
            let (theta, beta) = (state.theta.clone(), state.beta.clone());
            let step = self.system(state).solve(&theta, &beta, watch)?;
            let reach = step.as_ref().map_or(f64::INFINITY, |step| self.reach(step));
            let (Some(step), true) = (step, reach.is_finite()) else {
                reached.determined = false;
                break;
            };
            let damping = if reach > 1e-12 { reach.ln_1p() / reach } else { 1.0 };
            reached.at.advance(&step, damping, self.prior == 0.0);
            reached.iterations += 1;
            reached.converged = reach <= settings.tolerance;
        }
        Ok(reached)
    }

    fn x(&self, row: usize) -> &[f64] {
        &self.rows.covariates[row * self.size..(row + 1) * self.size]
    }

    fn log_odds(&self, at: &Point, row: usize) -> f64 {
        let gap = at.theta[self.rows.first[row] as usize] - at.theta[self.rows.second[row] as usize];
        gap + self.x(row).iter().zip(&at.beta).map(|(x, beta)| x * beta).sum::<f64>()
    }

    /// 1 where the row's first model is the pair's first, else −1.
    fn sign(&self, row: usize) -> f64 {
        if self.rows.first[row] < self.rows.second[row] { 1.0 } else { -1.0 }
    }

    fn state(&self, at: &Point) -> State {
        let (models, size) = (self.rows.models, self.size);
        let mut state = State {
            theta: at.theta.iter().map(|&theta| self.prior * (0.5 - logistic(theta))).collect(),
            beta: at.beta.iter().map(|&beta| -self.ridge * beta).collect(),
            curvature: vec![0.0; self.pairs.len()],
            extra: at.theta.iter().map(|&theta| self.prior * logistic(theta) * logistic(-theta)).collect(),
            border: vec![0.0; size * models],
            corner: vec![0.0; size * size],
        };
        // Per pair first: a row then touches few places, and the models' sums are made once per pair.
        let mut pair_border = vec![0.0; self.pairs.len() * size];
        let mut pair_slope = vec![0.0; self.pairs.len()];
        for row in 0..self.rows.first.len() {
            let p = logistic(self.log_odds(at, row));
            let mass = self.rows.count[row] * self.rows.weight[row];
            let (residual, bend) = (mass * (self.rows.score[row] - p), mass * p * (1.0 - p));
            let (pair, sign, x) = (self.pair[row] as usize, self.sign(row), self.x(row));
            pair_slope[pair] += sign * residual;
            state.curvature[pair] += bend;
            for k in 0..size {
                state.beta[k] += residual * x[k];
                pair_border[pair * size + k] += sign * bend * x[k];
                for l in 0..=k {
                    state.corner[k * size + l] += bend * x[k] * x[l];
                }
            }
        }
        for k in 0..size {
            state.corner[k * size + k] += self.ridge;
            for l in 0..k {
                state.corner[l * size + k] = state.corner[k * size + l];
            }
        }
        for pair in 0..self.pairs.len() {
            let (first, second) = (self.pairs.first[pair] as usize, self.pairs.second[pair] as usize);
            state.theta[first] += pair_slope[pair];
            state.theta[second] -= pair_slope[pair];
            for k in 0..size {
                state.border[k * models + first] += pair_border[pair * size + k];
                state.border[k * models + second] -= pair_border[pair * size + k];
            }
        }
        state
    }

    fn system(&self, state: State) -> Bordered<'_> {
        let strengths = Laplacian { pairs: self.pairs, weight: state.curvature, extra: state.extra };
        Bordered { strengths, border: state.border, corner: state.corner }
    }

    /// The largest change that a step makes to any row's log-odds, or to a strength beside the prior's opponent.
    fn reach(&self, step: &Solved) -> f64 {
        let change = Point { theta: step.strengths.clone(), beta: step.further.clone() };
        let rows = (0..self.rows.first.len()).map(|row| self.log_odds(&change, row).abs());
        let own = step.strengths.iter().map(|value| if self.prior > 0.0 { value.abs() } else { 0.0 * value });
        rows.chain(own).fold(0.0, |most, value| if value.is_finite() { f64::max(most, value) } else { f64::INFINITY })
    }

    fn report(&self, reached: Reached) -> ContextualFit {
        let Reached { at, iterations, converged, determined } = reached;
        let state = self.state(&at);
        let (mut per_model, mut total, mut largest) = (vec![0.0; self.rows.models], 0.0, 0.0_f64);
        for row in 0..self.rows.first.len() {
            let weight = self.rows.count[row] * self.rows.weight[row];
            largest = largest.max(self.log_odds(&at, row).abs());
            per_model[self.rows.first[row] as usize] += weight;
            per_model[self.rows.second[row] as usize] += weight;
            total += weight;
        }
        let slopes = state.theta.iter().zip(&per_model).filter(|(_, weight)| **weight > 0.0);
        let steepest = slopes.map(|(slope, weight)| (slope / weight).abs()).fold(0.0, f64::max);
        let gradient_norm = state.beta.iter().map(|slope| (slope / total).abs()).fold(steepest, f64::max);
        ContextualFit {
            log_strengths: at.theta,
            coefficients: at.beta,
            iterations,
            converged,
            determined,
            largest_log_odds: largest,
            gradient_norm,
        }
    }
}

/// The pairs that met, in ascending order, and the pair of every row.
pub(crate) fn pairs_of(models: usize, first: &[u32], second: &[u32]) -> (Pairs, Vec<u32>) {
    let key = |row: usize| (first[row].min(second[row]), first[row].max(second[row]));
    let mut number: HashMap<(u32, u32), u32> = HashMap::new();
    let mut met = Vec::new();
    let mut pair: Vec<u32> = Vec::with_capacity(first.len());
    for row in 0..first.len() {
        let next = met.len() as u32;
        let code = *number.entry(key(row)).or_insert_with(|| {
            met.push(key(row));
            next
        });
        pair.push(code);
    }
    let mut order: Vec<u32> = (0..met.len() as u32).collect();
    order.sort_unstable_by_key(|&code| met[code as usize]);
    let mut place = vec![0; met.len()];
    for (position, &code) in order.iter().enumerate() {
        place[code as usize] = position as u32;
    }
    pair.iter_mut().for_each(|code| *code = place[*code as usize]);
    let (first, second) = order.iter().map(|&code| met[code as usize]).unzip();
    (Pairs { models, first, second }, pair)
}

fn logistic(value: f64) -> f64 {
    1.0 / (1.0 + (-value).exp())
}
