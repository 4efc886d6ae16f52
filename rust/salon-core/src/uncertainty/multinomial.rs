//! Exact multinomial counts: how often each of several categories occurs when N of N things are drawn with replacement.
//!
//! First an independent Poisson count for every category, with means scaled down to a total a little below N, then the
//! few draws that are still missing, one by one. Given its total, a vector of Poisson counts is multinomial, and a total
//! above N is thrown away whole, so the sum is multinomial with N draws. Poisson counts come from alias tables that
//! categories of the same count share: one random number each.

use std::collections::HashMap;

use crate::random::Stream;
use crate::uncertainty::alias::AliasTables;

/// With fewer things than this, all of them are drawn one by one.
const FEW: u64 = 4096;
/// A count above this is drawn as a sum of two or more, so that tables stay small and shared.
const LARGEST_TABLE: u64 = 4096;

/// Where counts go. Several may be added for the same category.
pub trait Tally {
    /// Forget all counts.
    fn clear(&mut self);
    /// `count` more of a category.
    fn add(&mut self, category: usize, count: u64);
}

/// Counts per category.
impl Tally for Vec<f64> {
    fn clear(&mut self) {
        self.fill(0.0);
    }

    fn add(&mut self, category: usize, count: u64) {
        self[category] += count as f64;
    }
}

/// Draws N of N things, of which each category has some.
#[derive(Debug)]
pub struct Multinomial {
    things: u64,
    tables: AliasTables,
    /// The Poisson tables of each category: entries `start[c]..start[c + 1]` of `poisson`; empty for few things.
    start: Vec<u32>,
    poisson: Vec<u32>,
    /// The table that draws a category in proportion to its count.
    any: usize,
}

impl Multinomial {
    /// Categories with these counts.
    pub fn new(counts: &[u64]) -> Self {
        let things = counts.iter().sum();
        let mut new = Self { things, tables: AliasTables::default(), start: vec![0], poisson: Vec::new(), any: 0 };
        if things >= FEW {
            new.add_poisson_tables(counts);
        }
        if things > 0 {
            let weights: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
            new.any = new.tables.add(0, &weights);
        }
        new
    }

    fn add_poisson_tables(&mut self, counts: &[u64]) {
        // Three standard deviations below N: one draw in 740 has to be thrown away, and 3 √N are drawn one by one.
        let thinned = 1.0 - 3.0 / (self.things as f64).sqrt();
        let mut handles: HashMap<u64, u32> = HashMap::new();
        for &count in counts {
            let (mut left, mut unit) = (count, 1);
            while left > 0 {
                let part = (left % LARGEST_TABLE) * unit;
                if part > 0 {
                    let tables = &mut self.tables;
                    let handle =
                        *handles.entry(part).or_insert_with(|| tables.add_poisson(part as f64 * thinned) as u32);
                    self.poisson.push(handle);
                }
                left /= LARGEST_TABLE;
                unit *= LARGEST_TABLE;
            }
            self.start.push(self.poisson.len() as u32);
        }
    }

    /// Replace what `tally` holds by one draw.
    pub fn draw(&self, stream: &mut Stream, tally: &mut impl Tally) {
        let mut drawn = self.draw_poisson(stream, tally);
        while drawn > self.things {
            drawn = self.draw_poisson(stream, tally);
        }
        for _ in drawn..self.things {
            tally.add(self.tables.draw(self.any, stream) as usize, 1);
        }
    }

    /// Independent Poisson counts of all categories (none for few things), and their sum.
    fn draw_poisson(&self, stream: &mut Stream, tally: &mut impl Tally) -> u64 {
        tally.clear();
        let mut drawn = 0;
        for (category, ends) in self.start.windows(2).enumerate() {
            let tables = &self.poisson[ends[0] as usize..ends[1] as usize];
            let count: u64 = tables.iter().map(|&handle| self.tables.draw(handle as usize, stream)).sum();
            drawn += count;
            tally.add(category, count);
        }
        drawn
    }
}
