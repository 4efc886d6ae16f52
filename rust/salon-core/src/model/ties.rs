//! Models with a tie parameter: Davidson (1970) and Rao & Kupper (1967), fitted by maximum likelihood.
//!
//! With d = θ_i − θ_j, Davidson has P(win) : P(loss) : P(tie) = e^{d/2} : e^{−d/2} : ν, and Rao-Kupper has
//! P(win) = 1/(1 + κ e^{−d}), P(loss) = 1/(1 + κ e^{d}), κ ≥ 1. The parameters are fitted as ln ν and ln κ, in which both
//! log-likelihoods are concave. Newton's method; a step that would lower the likelihood is halved.

use crate::battles::cells::{Cells, Outcome, Pairs};
use crate::cancel::Watch;
use crate::error::CoreError;
use crate::linalg::laplacian::Laplacian;
use crate::linalg::schur::{Bordered, Solved};
use crate::model::bradley_terry::Settings;

/// Which model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TieModel {
    /// A tie is likelier the closer two models are, in proportion to the geometric mean of their strengths.
    Davidson,
    /// A tie is a difference of performances below a threshold.
    RaoKupper,
}

const OUTCOMES: [Outcome; 3] = [Outcome::Win, Outcome::Loss, Outcome::Tie];
/// Below this, a step is not shortened: the likelihood is flat to rounding.
const FULL_STEP: f64 = 1e-6;
const MOST_HALVINGS: usize = 60;

/// A fitted model.
#[derive(Debug, Clone)]
pub struct TieFit {
    /// θ, one per model; mean 0 without a prior.
    pub log_strengths: Vec<f64>,
    /// ln ν or ln κ; −∞ or 0 without any tie.
    pub tie: f64,
    /// Newton steps taken.
    pub iterations: usize,
    /// Whether the last step was within the tolerance.
    pub converged: bool,
    /// Largest slope of the log-likelihood per match, over models and the tie parameter.
    pub gradient_norm: f64,
}

/// Weight of every pair's battles by outcome.
#[derive(Debug)]
struct Totals {
    weight: Vec<[f64; 3]>,
}

/// Value and derivatives of one outcome's log-probability at (d, t).
#[derive(Debug, Clone, Copy)]
struct Terms {
    value: f64,
    in_d: f64,
    in_t: f64,
    /// Negative second derivatives: dd, dt, tt.
    bend: [f64; 3],
}

/// Fit a tie model.
///
/// # Errors
/// [`CoreError::Cancelled`]; [`CoreError::BadArgument`] when every battle is a tie.
pub fn fit_ties(cells: &Cells, model: TieModel, settings: &Settings, watch: &Watch) -> Result<TieFit, CoreError> {
    let problem = Problem::new(cells.pairs(), Totals::of(cells), model, settings.prior_ties)?;
    let (at, iterations, converged) = problem.maximise(problem.start(), settings, watch)?;
    Ok(problem.report(at, iterations, converged))
}

/// Wins, losses and ties of every pair, by weight.
pub(crate) type Outcomes = Vec<[f64; 3]>;

/// The place of an outcome in [`Outcomes`].
pub(crate) fn outcome_number(outcome: Outcome) -> usize {
    OUTCOMES.iter().position(|&known| known == outcome).unwrap_or(0)
}

/// An answer without its covariance.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) log_strengths: Vec<f64>,
    /// ln ν or ln κ.
    pub(crate) tie: f64,
    pub(crate) converged: bool,
}

/// Fit a tie model to outcomes that have a finite answer, from the answer to similar ones.
///
/// # Errors
/// As [`fit_ties`].
pub(crate) fn fit_outcomes(
    pairs: &Pairs,
    outcomes: Outcomes,
    model: TieModel,
    settings: &Settings,
    (estimate, tie): (&[f64], f64),
    watch: &Watch,
) -> Result<Answer, CoreError> {
    let problem = Problem::new(pairs, Totals { weight: outcomes }, model, settings.prior_ties)?;
    let mut at = problem.start();
    at.theta.copy_from_slice(estimate);
    if problem.further == 1 && tie.is_finite() {
        at.tie = tie;
    }
    let (at, _, converged) = problem.maximise(at, settings, watch)?;
    Ok(Answer { log_strengths: at.theta, tie: at.tie, converged })
}

/// Whether a tie model without a prior has a finite answer, given that the graph of wins is strongly connected.
///
/// The likelihood has a direction of no decrease with a growing tie parameter exactly when numbers x exist with
/// x_i − x_j ≥ 1 wherever i beat j, and |x_i − x_j| ≤ 1 wherever they tied. These are difference constraints, which
/// can be met exactly when no cycle has more wins than ties (Bellman-Ford). Two models that beat each other are one.
///
/// # Errors
/// [`CoreError::Cancelled`].
pub fn has_decisive_cycle(cells: &Cells, watch: &Watch) -> Result<bool, CoreError> {
    is_decisive(cells.pairs(), &Totals::of(cells).weight, watch)
}

/// As [`has_decisive_cycle`].
pub(crate) fn is_decisive(pairs: &Pairs, outcomes: &Outcomes, watch: &Watch) -> Result<bool, CoreError> {
    if outcomes.iter().any(|[won, lost, _]| *won > 0.0 && *lost > 0.0) {
        return Ok(true);
    }
    let mut arrows = Vec::new();
    for (pair, [won, lost, tied]) in outcomes.iter().enumerate() {
        let ends = (pairs.first[pair], pairs.second[pair]);
        if *tied > 0.0 {
            arrows.extend([(ends.0, ends.1, 1_i64), (ends.1, ends.0, 1)]);
        }
        if *won > 0.0 {
            arrows.push((ends.0, ends.1, -1));
        }
        if *lost > 0.0 {
            arrows.push((ends.1, ends.0, -1));
        }
    }
    let mut distance = vec![0_i64; pairs.models];
    let mut parent = vec![NOBODY; pairs.models];
    loop {
        watch.check()?;
        let mut changed = false;
        for &(from, to, length) in &arrows {
            let reached = distance[from as usize] + length;
            if reached < distance[to as usize] {
                distance[to as usize] = reached;
                parent[to as usize] = from;
                changed = true;
            }
        }
        if !changed {
            return Ok(false);
        }
        // The parents run in a circle exactly when distances would fall for ever (Tarjan 1981).
        if has_circle(&parent) {
            return Ok(true);
        }
    }
}

const NOBODY: u32 = u32::MAX;

/// Whether following `parent` from somewhere comes back there.
fn has_circle(parent: &[u32]) -> bool {
    let mut seen_from = vec![NOBODY; parent.len()];
    for start in 0..parent.len() as u32 {
        let mut model = start;
        while model != NOBODY && seen_from[model as usize] == NOBODY {
            seen_from[model as usize] = start;
            model = parent[model as usize];
        }
        if model != NOBODY && seen_from[model as usize] == start {
            return true;
        }
    }
    false
}

#[derive(Debug, Clone)]
struct Point {
    theta: Vec<f64>,
    tie: f64,
}

#[derive(Debug)]
struct Problem<'a> {
    pairs: &'a Pairs,
    totals: Totals,
    model: TieModel,
    prior: f64,
    /// 1 when the tie parameter is fitted, 0 when there are no ties.
    further: usize,
}

impl<'a> Problem<'a> {
    fn new(pairs: &'a Pairs, totals: Totals, model: TieModel, prior: f64) -> Result<Self, CoreError> {
        let [won, lost, tied] = totals.sums();
        if won + lost == 0.0 {
            return Err(CoreError::BadArgument("every battle is a tie"));
        }
        Ok(Self { pairs, totals, model, prior, further: usize::from(tied > 0.0) })
    }

    /// The point that no step improves by more than the tolerance, the steps to it, and whether it was reached.
    fn maximise(&self, start: Point, settings: &Settings, watch: &Watch) -> Result<(Point, usize, bool), CoreError> {
        let (mut at, mut iterations, mut converged) = (start, 0, false);
        let mut value = self.value(&at);
        while iterations < settings.max_iterations && !converged {
            watch.check()?;
            let Some(step) = self.step(&at, watch)? else {
                break;
            };
            let reach = reach_of(&step);
            if !reach.is_finite() {
                break;
            }
            (at, value) = self.advance(&at, value, &step, reach);
            iterations += 1;
            converged = reach <= settings.tolerance;
        }
        Ok((at, iterations, converged))
    }

    /// Equal strengths, and the tie parameter that fits the share of ties among equals.
    fn start(&self) -> Point {
        let [won, lost, tied] = self.totals.sums();
        let share = tied / (won + lost + tied);
        let tie = match self.model {
            TieModel::Davidson => (2.0 * share / (1.0 - share)).ln(),
            TieModel::RaoKupper => ((1.0 + share) / (1.0 - share)).ln(),
        };
        Point { theta: vec![0.0; self.pairs.models], tie }
    }

    fn terms(&self, at: &Point, pair: usize) -> [Terms; 3] {
        let d = at.theta[self.pairs.first[pair] as usize] - at.theta[self.pairs.second[pair] as usize];
        match self.model {
            TieModel::Davidson => davidson(d, at.tie),
            TieModel::RaoKupper => rao_kupper(d, at.tie),
        }
    }

    /// The log-likelihood with the prior.
    fn value(&self, at: &Point) -> f64 {
        let prior: f64 = at.theta.iter().map(|&theta| ln_logistic(theta) + ln_logistic(-theta)).sum();
        self.log_likelihood(at) + 0.5 * self.prior * prior
    }

    fn log_likelihood(&self, at: &Point) -> f64 {
        let pair_value = |pair: usize| -> f64 {
            let terms = self.terms(at, pair);
            let weight = self.totals.weight[pair];
            (0..3).filter(|&o| weight[o] > 0.0).map(|o| weight[o] * terms[o].value).sum()
        };
        (0..self.pairs.len()).map(pair_value).sum()
    }

    fn gradient(&self, at: &Point) -> (Vec<f64>, f64) {
        let mut theta: Vec<f64> = at.theta.iter().map(|&value| self.prior * (0.5 - logistic(value))).collect();
        let mut tie = 0.0;
        for pair in 0..self.pairs.len() {
            for (term, weight) in self.terms(at, pair).iter().zip(self.totals.weight[pair]) {
                if weight > 0.0 {
                    theta[self.pairs.first[pair] as usize] += weight * term.in_d;
                    theta[self.pairs.second[pair] as usize] -= weight * term.in_d;
                    tie += weight * term.in_t;
                }
            }
        }
        (theta, tie)
    }

    fn system(&self, at: &Point) -> Bordered<'a> {
        let models = self.pairs.models;
        let (mut curvature, mut border, mut corner) = (vec![0.0; self.pairs.len()], vec![0.0; models], 0.0);
        for pair in 0..self.pairs.len() {
            for (term, weight) in self.terms(at, pair).iter().zip(self.totals.weight[pair]) {
                if weight > 0.0 {
                    curvature[pair] += weight * term.bend[0];
                    border[self.pairs.first[pair] as usize] += weight * term.bend[1];
                    border[self.pairs.second[pair] as usize] -= weight * term.bend[1];
                    corner += weight * term.bend[2];
                }
            }
        }
        let extra = at.theta.iter().map(|&value| self.prior * logistic(value) * logistic(-value)).collect();
        let strengths = Laplacian { pairs: self.pairs, weight: curvature, extra };
        border.truncate(self.further * models);
        Bordered { strengths, border, corner: vec![corner; self.further] }
    }

    fn step(&self, at: &Point, watch: &Watch) -> Result<Option<Solved>, CoreError> {
        let (theta, tie) = self.gradient(at);
        self.system(at).solve(&theta, &vec![tie; self.further], watch)
    }

    /// The point after a step that is halved until it does not lower the likelihood.
    fn advance(&self, at: &Point, value: f64, step: &Solved, reach: f64) -> (Point, f64) {
        let mut length = 1.0;
        let change = step.further.first().copied().unwrap_or(0.0);
        if self.model == TieModel::RaoKupper && change < 0.0 {
            // ln κ stays positive: at most nine tenths of the way to 0.
            length = f64::min(1.0, 0.9 * at.tie / -change);
        }
        for _ in 0..MOST_HALVINGS {
            let theta = at.theta.iter().zip(&step.strengths).map(|(theta, step)| theta + length * step).collect();
            let mut next = Point { theta, tie: at.tie + length * change };
            if self.prior == 0.0 {
                let mean = next.theta.iter().sum::<f64>() / next.theta.len() as f64;
                next.theta.iter_mut().for_each(|theta| *theta -= mean);
            }
            let reached = self.value(&next);
            if reach < FULL_STEP || reached >= value - 1e-12 * value.abs() {
                return (next, reached);
            }
            length /= 2.0;
        }
        (at.clone(), value)
    }

    fn report(&self, at: Point, iterations: usize, converged: bool) -> TieFit {
        let (theta, tie) = self.gradient(&at);
        let mut per_model = vec![0.0; self.pairs.models];
        for pair in 0..self.pairs.len() {
            let weight: f64 = self.totals.weight[pair].iter().sum();
            per_model[self.pairs.first[pair] as usize] += weight;
            per_model[self.pairs.second[pair] as usize] += weight;
        }
        let slopes = theta.iter().zip(&per_model).filter(|(_, weight)| **weight > 0.0);
        let steepest = slopes.map(|(slope, weight)| (slope / weight).abs()).fold(0.0, f64::max);
        let tie_slope = if self.further == 1 { (2.0 * tie / per_model.iter().sum::<f64>()).abs() } else { 0.0 };
        let gradient_norm = steepest.max(tie_slope);
        TieFit { log_strengths: at.theta, tie: at.tie, iterations, converged, gradient_norm }
    }
}

impl Totals {
    fn of(cells: &Cells) -> Self {
        let pairs = cells.pairs().len();
        let mut totals = Self { weight: vec![[0.0; 3]; pairs] };
        for pair in 0..pairs {
            for cell in cells.of_pair(pair) {
                let outcome = outcome_number(cell.outcome);
                totals.weight[pair][outcome] += cell.count as f64 * cell.weight;
            }
        }
        totals
    }

    fn sums(&self) -> [f64; 3] {
        std::array::from_fn(|outcome| self.weight.iter().map(|weights| weights[outcome]).sum())
    }
}

fn davidson(d: f64, tie: f64) -> [Terms; 3] {
    let utilities = [0.5 * d, -0.5 * d, tie];
    let top = utilities.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total = utilities.iter().map(|u| (u - top).exp()).sum::<f64>();
    let [won, lost, tied] = utilities.map(|u| (u - top).exp() / total);
    let mean = 0.5 * (won - lost);
    let bend = [0.25 * (won + lost) - mean * mean, -mean * tied, tied * (1.0 - tied)];
    let terms = |outcome: usize, in_d: f64, in_t: f64| Terms {
        value: utilities[outcome] - top - total.ln(),
        in_d: in_d - mean,
        in_t: in_t - tied,
        bend,
    };
    [terms(0, 0.5, 0.0), terms(1, -0.5, 0.0), terms(2, 0.0, 1.0)]
}

fn rao_kupper(d: f64, tie: f64) -> [Terms; 3] {
    // P(tie) = P(win) · P(loss) · (κ² − 1).
    let (ahead, behind) = (d - tie, -d - tie);
    let (q_win, q_loss) = (logistic(-ahead), logistic(-behind));
    let (s_win, s_loss) = (q_win * (1.0 - q_win), q_loss * (1.0 - q_loss));
    let win = Terms { value: ln_logistic(ahead), in_d: q_win, in_t: -q_win, bend: [s_win, -s_win, s_win] };
    let loss = Terms { value: ln_logistic(behind), in_d: -q_loss, in_t: -q_loss, bend: [s_loss, s_loss, s_loss] };
    let gap = -(-2.0 * tie).exp_m1(); // 1 − κ⁻²
    let bonus = 4.0 * (-2.0 * tie).exp() / (gap * gap);
    let tied = Terms {
        value: win.value + loss.value + 2.0 * tie + gap.ln(),
        in_d: win.in_d + loss.in_d,
        in_t: win.in_t + loss.in_t + 2.0 / gap,
        bend: [s_win + s_loss, s_loss - s_win, s_win + s_loss + bonus],
    };
    [win, loss, tied]
}

fn reach_of(step: &Solved) -> f64 {
    let ends = step.strengths.iter().fold((0.0_f64, 0.0_f64), |(low, high), &v| (low.min(v), high.max(v)));
    let all = step.strengths.iter().chain(&step.further);
    if all.clone().any(|value| !value.is_finite()) {
        return f64::INFINITY;
    }
    step.further.iter().fold(ends.1 - ends.0, |reach, value| reach.max(value.abs()))
}

fn logistic(value: f64) -> f64 {
    1.0 / (1.0 + (-value).exp())
}

fn ln_logistic(value: f64) -> f64 {
    if value > 0.0 { -(-value).exp().ln_1p() } else { value - value.exp().ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::battles::cells::Cell;

    #[test]
    fn a_long_ring_of_wins_is_decisive_unless_ties_outweigh_it() {
        // 0 beats 1 beats 2 … beats 0, each pair but `tied` of them, which only tied.
        let ring = |models: u32, tied: u32| {
            let mut cells: Vec<Cell> = (0..models)
                .map(|model| {
                    let (winner, loser) = (model, (model + 1) % models);
                    let outcome = match (model < tied, winner < loser) {
                        (true, _) => Outcome::Tie,
                        (false, true) => Outcome::Win,
                        (false, false) => Outcome::Loss,
                    };
                    let (first, second) = (winner.min(loser), winner.max(loser));
                    Cell { first, second, outcome, cluster: 0, count: 1, weight: 1.0 }
                })
                .collect();
            cells.sort_by_key(|cell| (cell.first, cell.second));
            Cells::from_ordered(models as usize, 0, cells)
        };
        for (tied, decisive) in [(0, true), (499, true), (500, false), (501, false), (1000, false)] {
            assert_eq!(has_decisive_cycle(&ring(1000, tied), &Watch::default()), Ok(decisive), "{tied} ties");
        }
    }

    #[test]
    fn probabilities_add_up_and_derivatives_are_derivatives() {
        for model in [davidson, rao_kupper] {
            for d in [-3.0, -0.2, 0.0, 1.7] {
                let tie = 0.4;
                let terms = model(d, tie);
                let total: f64 = terms.iter().map(|term| term.value.exp()).sum();
                assert!((total - 1.0).abs() < 1e-14, "{total}");
                let h = 1e-5;
                for (outcome, term) in terms.iter().enumerate() {
                    let (up, down) = (model(d + h, tie)[outcome], model(d - h, tie)[outcome]);
                    let (more, less) = (model(d, tie + h)[outcome], model(d, tie - h)[outcome]);
                    let pairs = [
                        (term.in_d, (up.value - down.value) / (2.0 * h)),
                        (term.in_t, (more.value - less.value) / (2.0 * h)),
                        (term.bend[0], (down.in_d - up.in_d) / (2.0 * h)),
                        (term.bend[1], (less.in_d - more.in_d) / (2.0 * h)),
                        (term.bend[2], (less.in_t - more.in_t) / (2.0 * h)),
                    ];
                    for (analytic, numeric) in pairs {
                        assert!((analytic - numeric).abs() < 1e-8, "{analytic} {numeric}");
                    }
                }
            }
        }
    }
}
