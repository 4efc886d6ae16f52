//! Online Elo: ratings that move after every battle, R ← R + K·(score − expected), in the order of the battles.
//!
//! expected = 1 / (1 + base^((R_other − R_own)/scale)); Elo 1978. The result depends on the order, which is why it can
//! also be averaged over random orders of the same battles, each of them a seeded stream's: the same bits on any number
//! of threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::battles::cells::Outcome;
use crate::cancel::Watch;
use crate::error::CoreError;
use crate::random::Stream;

/// Battles between two looks at the watch.
const LOOK: usize = 1 << 20;

/// How ratings move.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Most points that one battle moves.
    pub k: f64,
    /// Odds of a lead of `scale` points.
    pub base: f64,
    /// Points for odds of `base` to one.
    pub scale: f64,
    /// Every model's first rating.
    pub initial: f64,
}

/// One battle by codes: both models, and what the first got (1, 0 or ½ as 2, 0, 1 halves).
#[derive(Debug, Clone, Copy)]
struct Battle {
    first: u32,
    second: u32,
    halves: u8,
}

/// Ratings on their way through battles.
#[derive(Debug)]
pub struct OnlineElo {
    rules: Rules,
    ratings: Vec<f64>,
    /// Wins, losses and ties per code.
    records: Vec<[u64; 3]>,
    /// All battles, when they are kept for other orders.
    kept: Option<Vec<Battle>>,
}

/// Mean and standard deviation of every code's rating over random orders.
#[derive(Debug, Clone)]
pub struct Orders {
    /// Mean per code.
    pub mean: Vec<f64>,
    /// Standard deviation per code, over orders (n − 1); NaN for one order.
    pub spread: Vec<f64>,
}

impl OnlineElo {
    /// Nobody has played. `keep` the battles if other orders will be asked for.
    pub fn new(rules: Rules, keep: bool) -> Self {
        Self { rules, ratings: Vec::new(), records: Vec::new(), kept: keep.then(Vec::new) }
    }

    /// Play battles in their order. `menu` gives the outcome of each outcome code.
    ///
    /// # Errors
    /// [`CoreError`] for columns of different length, a model against itself, or a code off the menu.
    pub fn add(
        &mut self,
        first: &[u32],
        second: &[u32],
        outcome: &[u32],
        menu: &[Option<Outcome>],
    ) -> Result<(), CoreError> {
        let expected = first.len();
        for (column, found) in [("second", second.len()), ("outcome", outcome.len())] {
            if found != expected {
                return Err(CoreError::LengthMismatch { column, found, expected });
            }
        }
        let codes = first.iter().chain(second).max().map_or(0, |&code| code as usize + 1);
        if codes > self.ratings.len() {
            self.ratings.resize(codes, self.rules.initial);
            self.records.resize(codes, [0; 3]);
        }
        let factor = self.rules.base.ln() / self.rules.scale;
        for row in 0..expected {
            let (a, b) = (first[row], second[row]);
            let found = menu.get(outcome[row] as usize).copied().flatten();
            let outcome = found.ok_or(CoreError::BadRow { row, problem: "the outcome is not on the menu" })?;
            if a == b {
                return Err(CoreError::BadRow { row, problem: "a model against itself" });
            }
            self.records[a as usize][outcome as usize] += 1;
            self.records[b as usize][outcome.reversed() as usize] += 1;
            let battle = Battle { first: a, second: b, halves: (2.0 * outcome.score()) as u8 };
            play(&mut self.ratings, battle, self.rules.k, factor);
            if let Some(kept) = &mut self.kept {
                kept.push(battle);
            }
        }
        Ok(())
    }

    /// The rating of every code, after all battles so far.
    pub fn ratings(&self) -> &[f64] {
        &self.ratings
    }

    /// Wins, losses and ties of every code.
    pub fn records(&self) -> &[[u64; 3]] {
        &self.records
    }

    /// Ratings over `orders` random orders of all battles, on several threads.
    ///
    /// # Errors
    /// [`CoreError::Cancelled`]; [`CoreError::BadArgument`] when battles were not kept, or without orders or threads.
    pub fn over_orders(&self, orders: usize, seed: u64, threads: usize, watch: &Watch) -> Result<Orders, CoreError> {
        let Some(kept) = &self.kept else {
            return Err(CoreError::BadArgument("the battles were not kept"));
        };
        if orders == 0 || threads == 0 || kept.len() > u32::MAX as usize {
            return Err(CoreError::BadArgument(
                "at least one order and one thread are needed, and at most 2^32 battles",
            ));
        }
        let results = Mutex::new(vec![Vec::new(); orders]);
        let next = AtomicUsize::new(0);
        let work = || -> Result<(), CoreError> {
            let mut shuffled = kept.clone();
            loop {
                let order = next.fetch_add(1, Ordering::Relaxed);
                if order >= orders {
                    return Ok(());
                }
                shuffled.copy_from_slice(kept);
                let ratings = self.one_order(&mut shuffled, &mut Stream::new(seed, order as u64), watch)?;
                if let Ok(mut results) = results.lock() {
                    results[order] = ratings;
                }
                watch.advance(1);
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads.min(orders)).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Err(CoreError::Cancelled)))
        })?;
        let results = results.into_inner().unwrap_or_default();
        Ok(summary(&results, self.ratings.len()))
    }

    /// Shuffle `battles` (Fisher-Yates) and play them.
    fn one_order(&self, battles: &mut [Battle], stream: &mut Stream, watch: &Watch) -> Result<Vec<f64>, CoreError> {
        for last in (1..battles.len()).rev() {
            if last % LOOK == 0 {
                watch.check()?;
            }
            battles.swap(last, stream.below(last as u64 + 1) as usize);
        }
        let factor = self.rules.base.ln() / self.rules.scale;
        let mut ratings = vec![self.rules.initial; self.ratings.len()];
        for part in battles.chunks(LOOK) {
            watch.check()?;
            part.iter().for_each(|&battle| play(&mut ratings, battle, self.rules.k, factor));
        }
        Ok(ratings)
    }
}

#[inline]
fn play(ratings: &mut [f64], battle: Battle, k: f64, factor: f64) {
    let (first, second) = (battle.first as usize, battle.second as usize);
    let expected = 1.0 / (1.0 + (factor * (ratings[second] - ratings[first])).exp());
    let change = k * (0.5 * f64::from(battle.halves) - expected);
    ratings[first] += change;
    ratings[second] -= change;
}

fn summary(results: &[Vec<f64>], codes: usize) -> Orders {
    let count = results.len() as f64;
    let mean: Vec<f64> = (0..codes).map(|code| results.iter().map(|one| one[code]).sum::<f64>() / count).collect();
    let squares = |code: usize| results.iter().map(|one| (one[code] - mean[code]).powi(2)).sum::<f64>();
    let spread = (0..codes).map(|code| (squares(code) / (count - 1.0)).sqrt()).collect();
    Orders { mean, spread }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules { k: 32.0, base: 10.0, scale: 400.0, initial: 1000.0 };
    const MENU: [Option<Outcome>; 3] = [Some(Outcome::Win), Some(Outcome::Loss), Some(Outcome::Tie)];

    #[test]
    fn a_win_between_equals_moves_half_of_k() {
        let mut elo = OnlineElo::new(RULES, false);
        elo.add(&[0], &[1], &[0], &MENU).unwrap();
        assert_eq!(elo.ratings(), [1016.0, 984.0]);
        assert_eq!(elo.records(), [[1, 0, 0], [0, 1, 0]]);
    }

    #[test]
    fn orders_are_the_same_on_any_number_of_threads() {
        let mut elo = OnlineElo::new(RULES, true);
        let rows: Vec<u32> = (0..500).collect();
        let first: Vec<u32> = rows.iter().map(|row| row % 7).collect();
        let second: Vec<u32> = rows.iter().map(|row| (row % 7 + 1 + row % 3) % 7).collect();
        let outcome: Vec<u32> = rows.iter().map(|row| row * row % 3).collect();
        elo.add(&first, &second, &outcome, &MENU).unwrap();
        let one = elo.over_orders(9, 5, 1, &Watch::default()).unwrap();
        let three = elo.over_orders(9, 5, 3, &Watch::default()).unwrap();
        assert_eq!(one.mean, three.mean);
        assert_eq!(one.spread, three.spread);
        assert!(one.spread.iter().all(|&spread| spread > 0.0));
    }
}
