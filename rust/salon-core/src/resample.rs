//! Resampled battles: the totals of every pair in one bootstrap replicate.
//!
//! **By battles.** A replicate draws N of the N battles with replacement, so cell counts are multinomial. They are drawn
//! exactly, cell by cell and without touching the battles: first an independent Poisson count for every cell, with
//! means scaled down to a total a little below N, then the few battles that are still missing, one by one. Given its
//! total, a vector of Poisson counts is multinomial, and a total above N is thrown away whole, so the sum is multinomial
//! with N draws. Poisson counts come from alias tables that cells of the same count share: one random number each.
//! Rows keep their weight when they are drawn: cells are split by weight, and N counts rows.
//!
//! **By clusters.** A replicate draws C of the C clusters with replacement and takes all battles of each drawn one, as
//! often as it was drawn (Efron & Tibshirani 1993, chapter 8). Eight replicates are summed in one pass over the cells. Where
//! clusters are crossings of two columns, the values of each column are drawn, and a crossing counts as often as the
//! product of both (pigeonhole bootstrap, Owen 2007).

use std::collections::HashMap;
use std::ops::Range;

use crate::alias::AliasTables;
use crate::cells::{Cells, PairScores};
use crate::random::Stream;

/// Replicates that are made together.
pub const LANES: usize = 8;
/// With fewer battles than this, all of them are drawn one by one.
const FEW_BATTLES: u64 = 4096;
/// A count above this is drawn as a sum of two or more, so that tables stay small and shared.
const LARGEST_TABLE: u64 = 4096;

/// Makes replicates of one set of cells.
#[derive(Debug)]
pub enum Resampler<'a> {
    /// Battles are drawn.
    Battles(BattleSampler<'a>),
    /// Whole clusters are drawn.
    Clusters(ClusterSampler<'a>),
}

impl<'a> Resampler<'a> {
    /// A sampler of battles, or of clusters.
    pub fn new(cells: &'a Cells, by_cluster: bool) -> Self {
        if by_cluster { Self::Clusters(ClusterSampler::new(cells)) } else { Self::Battles(BattleSampler::new(cells)) }
    }

    /// Fill `lanes` (at most [`LANES`]) with the replicates `first, first + 1, …` of `seed`.
    pub fn draw(&self, seed: u64, first: u64, lanes: &mut [PairScores]) {
        match self {
            Self::Battles(sampler) => {
                for (lane, scores) in lanes.iter_mut().enumerate() {
                    sampler.draw(&mut Stream::new(seed, first + lane as u64), scores);
                }
            }
            Self::Clusters(sampler) => sampler.draw(seed, first, lanes),
        }
    }
}

/// Draws battles with replacement; see the module's description.
#[derive(Debug)]
pub struct BattleSampler<'a> {
    cells: &'a Cells,
    battles: u64,
    tables: AliasTables,
    /// The Poisson tables of each cell: entries `start[c]..start[c + 1]` of `poisson`.
    start: Vec<u32>,
    poisson: Vec<u32>,
    /// The table that draws a cell in proportion to its count.
    any_cell: usize,
    /// The pair of every cell.
    pair: Vec<u32>,
}

impl<'a> BattleSampler<'a> {
    fn new(cells: &'a Cells) -> Self {
        let battles = cells.battles();
        let mut sampler = Self {
            cells,
            battles,
            tables: AliasTables::default(),
            start: vec![0],
            poisson: Vec::new(),
            any_cell: 0,
            pair: Vec::with_capacity(cells.len()),
        };
        for pair in 0..cells.pairs().len() {
            sampler.pair.extend(cells.positions(pair).map(|_| pair as u32));
        }
        if battles >= FEW_BATTLES {
            sampler.add_poisson_tables();
        }
        let counts: Vec<f64> = cells.iter().map(|cell| cell.count as f64).collect();
        if battles > 0 {
            sampler.any_cell = sampler.tables.add(0, &counts);
        }
        sampler
    }

    fn add_poisson_tables(&mut self) {
        // Three standard deviations below N: one replicate in 740 has to be thrown away, and 3 √N are drawn one by one.
        let thinned = 1.0 - 3.0 / (self.battles as f64).sqrt();
        let mut handles: HashMap<u64, u32> = HashMap::new();
        for cell in self.cells.iter() {
            let (mut left, mut unit) = (cell.count, 1);
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

    fn draw(&self, stream: &mut Stream, scores: &mut PairScores) {
        let mut drawn = self.draw_poisson(stream, scores);
        while drawn > self.battles {
            drawn = self.draw_poisson(stream, scores);
        }
        for _ in drawn..self.battles {
            let position = self.tables.draw(self.any_cell, stream) as usize;
            let pair = self.pair[position] as usize;
            let cell = self.cells.cell(pair, position);
            scores.matches[pair] += cell.weight;
            scores.score[pair] += cell.weight * cell.outcome.score();
        }
    }

    /// Independent Poisson counts of all cells (none for few battles); the number of battles that they make.
    fn draw_poisson(&self, stream: &mut Stream, scores: &mut PairScores) -> u64 {
        if self.poisson.is_empty() {
            scores.matches.fill(0.0);
            scores.score.fill(0.0);
            return 0;
        }
        let (mut drawn, mut position) = (0, 0);
        for pair in 0..self.cells.pairs().len() {
            let (mut matches, mut score) = (0.0, 0.0);
            for cell in self.cells.of_pair(pair) {
                let tables = &self.poisson[self.start[position] as usize..self.start[position + 1] as usize];
                let count: u64 = tables.iter().map(|&handle| self.tables.draw(handle as usize, stream)).sum();
                let weight = count as f64 * cell.weight;
                drawn += count;
                matches += weight;
                score += weight * cell.outcome.score();
                position += 1;
            }
            scores.matches[pair] = matches;
            scores.score[pair] = score;
        }
        drawn
    }
}

/// Draws clusters with replacement; see the module's description.
#[derive(Debug)]
pub struct ClusterSampler<'a> {
    cells: &'a Cells,
    /// The runs of pair `p` are `first_run[p]..first_run[p + 1]`.
    first_run: Vec<usize>,
    /// One run per pair and outcome: what it is worth to the first model, and where its cells end.
    runs: Vec<(f64, usize)>,
    /// Every cell is a single battle, of weight 1.
    is_plain: bool,
}

impl<'a> ClusterSampler<'a> {
    fn new(cells: &'a Cells) -> Self {
        let columns = cells.columns();
        let is_plain = columns.weight.is_empty() && columns.count.iter().all(|&count| count == 1);
        let mut sampler = Self { cells, first_run: vec![0], runs: Vec::new(), is_plain };
        for pair in 0..cells.pairs().len() {
            let positions = cells.positions(pair);
            let mut end = positions.start;
            for run in columns.outcome[positions].chunk_by(|one, next| one == next) {
                end += run.len();
                sampler.runs.push((run[0].score(), end));
            }
            sampler.first_run.push(sampler.runs.len());
        }
        sampler
    }

    fn draw(&self, seed: u64, first: u64, lanes: &mut [PairScores]) {
        let times = self.times(seed, first, lanes.len());
        let mut begin = 0;
        for pair in 0..self.first_run.len() - 1 {
            let (mut matches, mut score) = ([0.0; LANES], [0.0; LANES]);
            for &(share, end) in &self.runs[self.first_run[pair]..self.first_run[pair + 1]] {
                let sums = self.sums(begin..end, &times);
                for lane in 0..LANES {
                    matches[lane] += sums[lane];
                    score[lane] += share * sums[lane];
                }
                begin = end;
            }
            for (lane, scores) in lanes.iter_mut().enumerate() {
                scores.matches[pair] = matches[lane];
                scores.score[pair] = score[lane];
            }
        }
    }

    /// How often each cluster was drawn in each lane: small whole numbers, exact as 32-bit floats.
    fn times(&self, seed: u64, first: u64, lanes: usize) -> Vec<[f32; LANES]> {
        let drawn = |stream: &mut Stream, lane: usize, times: &mut [[f32; LANES]]| {
            for _ in 0..times.len() {
                times[stream.below(times.len() as u64) as usize][lane] += 1.0;
            }
        };
        let sizes = self.cells.crossing().map_or([self.cells.clusters(), 0], |crossing| crossing.sizes);
        let [mut one, mut two] = sizes.map(|size| vec![[0.0; LANES]; size]);
        for lane in 0..lanes {
            let mut stream = Stream::new(seed, first + lane as u64);
            drawn(&mut stream, lane, &mut one);
            drawn(&mut stream, lane, &mut two);
        }
        let Some(crossing) = self.cells.crossing() else {
            return one;
        };
        let values = crossing.first.iter().zip(&crossing.second);
        let product = |(&left, &right): (&u32, &u32)| {
            let (left, right) = (&one[left as usize], &two[right as usize]);
            std::array::from_fn(|lane| left[lane] * right[lane])
        };
        values.map(product).collect()
    }

    /// The weight that some cells have in each lane.
    fn sums(&self, cells: Range<usize>, times: &[[f32; LANES]]) -> [f64; LANES] {
        let mut sums = [0.0; LANES];
        let columns = self.cells.columns();
        let mut add = |cluster: u32, weight: f64| {
            let times = &times[cluster as usize];
            (0..LANES).for_each(|lane| sums[lane] += weight * f64::from(times[lane]));
        };
        let counted = columns.cluster[cells.clone()].iter().zip(&columns.count[cells.clone()]);
        if self.is_plain {
            counted.for_each(|(&cluster, _)| add(cluster, 1.0));
        } else if columns.weight.is_empty() {
            counted.for_each(|(&cluster, &count)| add(cluster, f64::from(count)));
        } else {
            let weighted = counted.zip(&columns.weight[cells]);
            weighted.for_each(|((&cluster, &count), &weight)| add(cluster, f64::from(count) * weight));
        }
        sums
    }
}
