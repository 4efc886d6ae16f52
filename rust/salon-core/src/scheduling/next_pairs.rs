//! Which models should meet next, on which prompt, with which of their samples, and on which side.
//!
//! Four rules choose pairs. `Uniform` shuffles all pairs, and again when every pair is planned. `Mef` draws with
//! probabilities proportional to p(1 − p)/(1 + matches), the paper's rule: few matches first, win probability near ½ first;
//! a planned match counts at once, so a pair that was just drawn is less likely to be drawn again. `Information` takes,
//! match by match, the pair whose result says most about the ratings: the largest p(1 − p)·Var(θ_i − θ_j), which is the
//! largest growth of ln det of the information matrix (D-optimality). Gains only ever fall as matches are added, so a heap
//! of old gains, one per row of pairs, finds the largest exactly (Minoux 1978); [`crate::scheduling::information_gain`] keeps them.
//! `Proportional` draws with probabilities proportional to that gain. Here, too, old gains serve: a pair is drawn in
//! proportion to them and kept with probability new/old (rejection sampling, von Neumann 1951), which is exact while no gain
//! rises.

use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::cancel::Watch;
use crate::error::CoreError;
use crate::random::Stream;
use crate::scheduling::information_gain::{Candidate, Gains};

/// How pairs are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Every pair alike.
    Uniform,
    /// Weight p(1 − p)/(1 + matches).
    Mef,
    /// Largest gain of information first.
    Information,
    /// In proportion to the gain of information.
    Proportional,
}

/// What is known before the next match.
#[derive(Debug, Clone, Copy)]
pub struct Standing<'a> {
    /// θ, one per model.
    pub log_strengths: &'a [f64],
    /// Matches between each two models, a symmetric matrix row by row.
    pub matches: &'a [f64],
    /// Covariance of θ, a symmetric matrix row by row; only `Information` and `Proportional` read it.
    pub covariance: &'a [f64],
}

/// What each model has made: (model, prompt) entries, with at least one sample each.
#[derive(Debug, Clone, Copy)]
pub struct Shelf<'a> {
    /// The entries of model `m` are `start[m]..start[m + 1]`.
    pub start: &'a [usize],
    /// The prompt of each entry; ascending within a model.
    pub prompt: &'a [u32],
    /// The number of samples of each entry; at least 1.
    pub samples: &'a [u32],
}

/// A match to be played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Planned {
    /// Model a.
    pub a: u32,
    /// Model b.
    pub b: u32,
    /// The entry of a on the shelf; 0 without a shelf.
    pub entry_a: usize,
    /// The entry of b, of the same prompt.
    pub entry_b: usize,
    /// Which sample of a.
    pub sample_a: u32,
    /// Which sample of b.
    pub sample_b: u32,
    /// Whether a is shown on the left.
    pub a_left: bool,
}

/// Plan `count` matches. Fewer come back only when no two models share a prompt: then none do.
///
/// # Errors
/// [`CoreError::LengthMismatch`] when the columns do not fit together, [`CoreError::BadArgument`] for a shelf without
/// order or samples or for numbers that are not finite, [`CoreError::Cancelled`].
pub fn schedule(
    standing: &Standing<'_>,
    shelf: Option<&Shelf<'_>>,
    rule: Rule,
    count: usize,
    seed: u64,
    watch: &Watch,
) -> Result<Vec<Planned>, CoreError> {
    check(standing, shelf, rule)?;
    let mut planner = Planner {
        shelf,
        count,
        pairs: Stream::new(seed, 0),
        details: Stream::new(seed, 1),
        planned: Vec::with_capacity(count.min(1 << 20)),
    };
    match rule {
        Rule::Uniform => planner.in_rounds(standing.log_strengths.len(), watch)?,
        Rule::Mef => planner.by_weight(standing, watch)?,
        Rule::Information => planner.by_information(standing, watch)?,
        Rule::Proportional => planner.in_proportion(standing, watch)?,
    }
    Ok(planner.planned)
}

fn check(standing: &Standing<'_>, shelf: Option<&Shelf<'_>>, rule: Rule) -> Result<(), CoreError> {
    let models = standing.log_strengths.len();
    let fits = |column, found, expected| {
        if found == expected { Ok(()) } else { Err(CoreError::LengthMismatch { column, found, expected }) }
    };
    fits("matches", standing.matches.len(), models * models)?;
    if matches!(rule, Rule::Information | Rule::Proportional) {
        fits("covariance", standing.covariance.len(), models * models)?;
    }
    let columns = [standing.log_strengths, standing.matches, standing.covariance];
    if columns.iter().any(|column| column.iter().any(|value| !value.is_finite())) {
        return Err(CoreError::BadArgument("numbers must be finite"));
    }
    if standing.matches.iter().any(|&matches| matches < 0.0) {
        return Err(CoreError::BadArgument("matches must not be negative"));
    }
    let Some(shelf) = shelf else {
        return Ok(());
    };
    fits("start", shelf.start.len(), models + 1)?;
    fits("samples", shelf.samples.len(), shelf.prompt.len())?;
    let ordered = shelf.start.windows(2).all(|two| two[0] <= two[1]);
    if !ordered || shelf.start[0] != 0 || shelf.start[models] != shelf.prompt.len() {
        return Err(CoreError::BadArgument("start must rise from 0 to the number of entries"));
    }
    let ascending =
        |model: usize| shelf.prompt[shelf.start[model]..shelf.start[model + 1]].windows(2).all(|two| two[0] < two[1]);
    if !(0..models).all(ascending) {
        return Err(CoreError::BadArgument("prompts must ascend within a model"));
    }
    if shelf.samples.contains(&0) {
        return Err(CoreError::BadArgument("an entry needs a sample"));
    }
    Ok(())
}

/// p(1 − p) of a match: what its result says about the difference of two log-strengths.
pub(crate) fn information(gap: f64) -> f64 {
    let odds = (-gap.abs()).exp();
    odds / ((1.0 + odds) * (1.0 + odds))
}

/// How often the watch is looked at.
const LOOK: usize = 256;
/// Prompts tried at random before all common prompts are listed.
const TRIES: usize = 16;

struct Planner<'a> {
    shelf: Option<&'a Shelf<'a>>,
    count: usize,
    pairs: Stream,
    details: Stream,
    planned: Vec<Planned>,
}

impl Planner<'_> {
    fn full(&self) -> bool {
        self.planned.len() >= self.count
    }

    /// Rounds of all pairs, each in a random order.
    fn in_rounds(&mut self, models: usize, watch: &Watch) -> Result<(), CoreError> {
        let mut pairs = all_pairs(models);
        while !self.full() && !pairs.is_empty() {
            let mut order: Vec<(u64, (u32, u32))> = pairs.iter().map(|&pair| (self.pairs.bits(), pair)).collect();
            order.sort_unstable();
            let mut apart = Vec::new();
            for (position, &(_, (first, second))) in order.iter().enumerate() {
                if position % LOOK == 0 {
                    watch.check()?;
                }
                if self.full() {
                    break;
                }
                if !self.add(first, second) {
                    apart.push((first, second));
                }
            }
            apart.sort_unstable();
            pairs.retain(|pair| apart.binary_search(pair).is_err());
        }
        Ok(())
    }

    /// Match by match, in proportion to p(1 − p)/(1 + matches).
    fn by_weight(&mut self, standing: &Standing<'_>, watch: &Watch) -> Result<(), CoreError> {
        let theta = standing.log_strengths;
        let pairs = all_pairs(theta.len());
        let ends = |&(first, second): &(u32, u32)| (first as usize, second as usize);
        let even: Vec<f64> =
            pairs.iter().map(ends).map(|(first, second)| information(theta[first] - theta[second])).collect();
        let mut met: Vec<f64> =
            pairs.iter().map(ends).map(|(first, second)| standing.matches[first * theta.len() + second]).collect();
        let mut weights = Weights::new(even.iter().zip(&met).map(|(even, met)| even / (1.0 + met)).collect());
        let mut draws = 0_usize;
        while !self.full() && weights.total() > 0.0 {
            draws += 1;
            if draws % LOOK == 0 {
                watch.check()?;
            }
            let drawn = weights.find(self.pairs.share() * weights.total());
            let (first, second) = pairs[drawn];
            if self.add(first, second) {
                met[drawn] += 1.0;
                weights.set(drawn, even[drawn] / (1.0 + met[drawn]));
            } else {
                weights.set(drawn, 0.0);
            }
        }
        Ok(())
    }

    /// Match by match, the largest gain; equal gains in a random order.
    fn by_information(&mut self, standing: &Standing<'_>, watch: &Watch) -> Result<(), CoreError> {
        let mut gains = Gains::new(standing, &mut self.pairs);
        // Each row's best pair as it was when last looked at: never too low.
        let mut heap: BinaryHeap<Candidate> = (1..gains.models).filter_map(|row| gains.best_of(row)).collect();
        let mut looks = 0_usize;
        while !self.full() {
            let Some(mut top) = heap.peek_mut() else {
                break;
            };
            looks += 1;
            if looks % LOOK == 0 {
                watch.check()?;
            }
            let Some(best) = gains.best_of(top.row) else {
                PeekMut::pop(top);
                continue;
            };
            *top = best;
            drop(top);
            if heap.peek() != Some(&best) {
                continue;
            }
            if self.add(best.column as u32, best.row as u32) {
                gains.learn(best.row, best.column);
            } else {
                gains.rule_out(best.row, best.column);
            }
        }
        Ok(())
    }

    /// Match by match, in proportion to the gain.
    fn in_proportion(&mut self, standing: &Standing<'_>, watch: &Watch) -> Result<(), CoreError> {
        let mut gains = Gains::new(standing, &mut self.pairs);
        let pairs = all_pairs(gains.models);
        let gain =
            |gains: &mut Gains, (first, second): (u32, u32)| gains.of_pair(second as usize, first as usize).max(0.0);
        // What each gain was when last looked at: never too low.
        let mut weights = Weights::new(pairs.iter().map(|&pair| gain(&mut gains, pair)).collect());
        let mut draws = 0_usize;
        while !self.full() && weights.total() > 0.0 {
            draws += 1;
            if draws % LOOK == 0 {
                watch.check()?;
            }
            let drawn = weights.find(self.pairs.share() * weights.total());
            let (before, now) = (weights.of(drawn), gain(&mut gains, pairs[drawn]));
            weights.set(drawn, now);
            if self.pairs.share() * before >= now {
                continue;
            }
            let (first, second) = pairs[drawn];
            if self.add(first, second) {
                gains.learn(second as usize, first as usize);
            } else {
                gains.rule_out(second as usize, first as usize);
                weights.set(drawn, 0.0);
            }
        }
        Ok(())
    }

    /// Plan one match of the pair; false when the two share no prompt.
    fn add(&mut self, first: u32, second: u32) -> bool {
        let Some((entry_first, entry_second)) = self.common_prompt(first as usize, second as usize) else {
            return false;
        };
        let [sample_first, sample_second] = [entry_first, entry_second]
            .map(|entry| self.shelf.map_or(0, |shelf| self.details.below(u64::from(shelf.samples[entry])) as u32));
        let toss = self.details.bits() >> 62;
        let ends = [(first, entry_first, sample_first), (second, entry_second, sample_second)];
        let ((a, entry_a, sample_a), (b, entry_b, sample_b)) =
            if toss & 1 == 0 { (ends[0], ends[1]) } else { (ends[1], ends[0]) };
        self.planned.push(Planned { a, b, entry_a, entry_b, sample_a, sample_b, a_left: toss & 2 == 0 });
        true
    }

    /// Entries of one prompt, uniform among those that both models have.
    fn common_prompt(&mut self, first: usize, second: usize) -> Option<(usize, usize)> {
        let Some(shelf) = self.shelf else {
            return Some((0, 0));
        };
        let [one, other] = [first, second].map(|model| shelf.start[model]..shelf.start[model + 1]);
        if one.is_empty() || other.is_empty() {
            return None;
        }
        let find = |entry: usize| {
            shelf.prompt[other.clone()].binary_search(&shelf.prompt[entry]).ok().map(|found| other.start + found)
        };
        for _ in 0..TRIES {
            let entry = one.start + self.details.below(one.len() as u64) as usize;
            if let Some(found) = find(entry) {
                return Some((entry, found));
            }
        }
        let common: Vec<(usize, usize)> = one.filter_map(|entry| find(entry).map(|found| (entry, found))).collect();
        if common.is_empty() {
            return None;
        }
        Some(common[self.details.below(common.len() as u64) as usize])
    }
}

/// All pairs of models, the lower one first, in ascending order.
fn all_pairs(models: usize) -> Vec<(u32, u32)> {
    (0..models as u32).flat_map(|first| (first + 1..models as u32).map(move |second| (first, second))).collect()
}

/// Weights that change one by one, with their sum: a binary tree of partial sums.
struct Weights {
    /// A power of two; the weights are `tree[leaves..]`, the sum of all is `tree[1]`.
    leaves: usize,
    tree: Vec<f64>,
}

impl Weights {
    fn new(weights: Vec<f64>) -> Self {
        let leaves = weights.len().next_power_of_two();
        let mut tree = vec![0.0; 2 * leaves];
        tree[leaves..leaves + weights.len()].copy_from_slice(&weights);
        for node in (1..leaves).rev() {
            tree[node] = tree[2 * node] + tree[2 * node + 1];
        }
        Self { leaves, tree }
    }

    fn total(&self) -> f64 {
        self.tree[1]
    }

    fn of(&self, at: usize) -> f64 {
        self.tree[self.leaves + at]
    }

    fn set(&mut self, at: usize, weight: f64) {
        let mut node = self.leaves + at;
        self.tree[node] = weight;
        while node > 1 {
            node /= 2;
            self.tree[node] = self.tree[2 * node] + self.tree[2 * node + 1];
        }
    }

    /// The weight within which `position`, from 0 to below the total, falls; never one of 0.
    fn find(&self, mut position: f64) -> usize {
        let mut node = 1;
        while node < self.leaves {
            let left = self.tree[2 * node];
            if position < left || self.tree[2 * node + 1] == 0.0 {
                node *= 2;
            } else {
                position -= left;
                node = 2 * node + 1;
            }
        }
        node - self.leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(rule: Rule, theta: &[f64], matches: &[f64], count: usize, seed: u64) -> Vec<Planned> {
        let models = theta.len();
        let covariance: Vec<f64> =
            (0..models * models).map(|at| if at / models == at % models { 4.0 } else { 0.0 }).collect();
        let standing = Standing { log_strengths: theta, matches, covariance: &covariance };
        schedule(&standing, None, rule, count, seed, &Watch::default()).unwrap()
    }

    fn pair(planned: &Planned) -> (u32, u32) {
        (planned.a.min(planned.b), planned.a.max(planned.b))
    }

    #[test]
    fn uniform_plans_every_pair_once_before_any_again() {
        let planned = plan(Rule::Uniform, &[0.0, 0.3, -0.2, 1.0], &[0.0; 16], 12, 5);
        for round in planned.chunks(6) {
            let seen: std::collections::HashSet<_> = round.iter().map(pair).collect();
            assert_eq!(seen.len(), 6);
        }
    }

    #[test]
    fn a_pair_that_lags_behind_catches_up() {
        let matches = [0.0, 0.0, 100.0, 0.0, 0.0, 100.0, 100.0, 100.0, 0.0];
        let planned = plan(Rule::Mef, &[0.0; 3], &matches, 100, 9);
        let lagging = planned.iter().filter(|planned| pair(planned) == (0, 1)).count();
        assert!(lagging > 55, "{lagging}");
    }

    #[test]
    fn proportional_draws_follow_gains_that_fall_as_matches_are_planned() {
        // Three equal models, variances 4, no covariance: all gains are 2, then that of the first pair is 2/3, of others 5/3.
        let mut again = 0;
        for seed in 0..9_000 {
            let planned = plan(Rule::Proportional, &[0.0; 3], &[0.0; 9], 2, seed);
            again += u32::from(pair(&planned[0]) == pair(&planned[1]));
        }
        // Expected 9000 · (2/3) / (2/3 + 10/3) = 1500.
        assert!((1_380..1_620).contains(&again), "{again}");
    }

    #[test]
    fn the_first_draw_follows_the_weights() {
        // Pair weights of three equal models: 1/4 · 1/(1 + matches).
        let matches = [0.0, 1.0, 3.0, 1.0, 0.0, 0.0, 3.0, 0.0, 0.0];
        let mut counts = [0_u32; 3];
        for seed in 0..14_000 {
            match pair(&plan(Rule::Mef, &[0.0; 3], &matches, 1, seed)[0]) {
                (0, 1) => counts[0] += 1,
                (0, 2) => counts[1] += 1,
                _ => counts[2] += 1,
            }
        }
        // Expected 4000, 2000, 8000.
        assert!((3_800..4_200).contains(&counts[0]) && (1_850..2_150).contains(&counts[1]), "{counts:?}");
    }

    #[test]
    fn information_meets_everybody_before_anybody_twice() {
        let planned = plan(Rule::Information, &[0.0; 10], &[0.0; 100], 5, 1);
        let seen: std::collections::HashSet<_> = planned.iter().flat_map(|match_| [match_.a, match_.b]).collect();
        assert_eq!(seen.len(), 10);
    }

    #[test]
    fn both_sides_and_both_orders_are_alike_often() {
        let planned = plan(Rule::Uniform, &[0.0; 8], &[0.0; 64], 10_000, 3);
        let left = planned.iter().filter(|planned| planned.a_left).count();
        let lower = planned.iter().filter(|planned| planned.a < planned.b).count();
        assert!((4_800..5_200).contains(&left) && (4_800..5_200).contains(&lower));
    }

    #[test]
    fn prompts_are_uniform_among_the_common_ones_and_samples_exist() {
        // Model 0 has prompts 0..40, model 1 only 38 and 39 of those; model 2 shares none.
        let prompt: Vec<u32> = (0..40).chain([38, 39, 50]).chain([60]).collect();
        let samples: Vec<u32> = prompt.iter().map(|prompt| 1 + prompt % 3).collect();
        let shelf = Shelf { start: &[0, 40, 43, 44], prompt: &prompt, samples: &samples };
        let covariance = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        let standing = Standing { log_strengths: &[0.0; 3], matches: &[0.0; 9], covariance: &covariance };
        for rule in [Rule::Uniform, Rule::Mef, Rule::Information] {
            let planned = schedule(&standing, Some(&shelf), rule, 1_000, 2, &Watch::default()).unwrap();
            assert_eq!(planned.len(), 1_000);
            let last = planned.iter().filter(|planned| prompt[planned.entry_a] == 39).count();
            assert!((420..580).contains(&last), "{last}");
            for one in planned {
                assert!(one.a < 2 && one.b < 2);
                assert_eq!(prompt[one.entry_a], prompt[one.entry_b]);
                assert!(one.sample_a < samples[one.entry_a] && one.sample_b < samples[one.entry_b]);
            }
        }
    }

    #[test]
    fn nobody_to_meet_is_an_empty_plan_and_wrong_columns_are_errors() {
        assert!(plan(Rule::Uniform, &[0.0], &[0.0], 5, 0).is_empty());
        assert!(plan(Rule::Information, &[], &[], 5, 0).is_empty());
        let standing = Standing { log_strengths: &[0.0; 2], matches: &[0.0; 3], covariance: &[] };
        let wrong = schedule(&standing, None, Rule::Uniform, 1, 0, &Watch::default());
        assert!(matches!(wrong, Err(CoreError::LengthMismatch { column: "matches", .. })));
        let standing = Standing { log_strengths: &[0.0, f64::NAN], matches: &[0.0; 4], covariance: &[] };
        assert!(schedule(&standing, None, Rule::Mef, 1, 0, &Watch::default()).is_err());
        let shelf = Shelf { start: &[0, 2, 2], prompt: &[1, 1], samples: &[1, 1] };
        let standing = Standing { log_strengths: &[0.0; 2], matches: &[0.0; 4], covariance: &[] };
        assert!(schedule(&standing, Some(&shelf), Rule::Mef, 1, 0, &Watch::default()).is_err());
    }
}
