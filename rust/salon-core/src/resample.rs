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
use crate::crossing::Crossing;
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
    Clusters(ClusterSampler),
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
            pair: Vec::with_capacity(cells.cells().len()),
        };
        for pair in 0..cells.pairs().len() {
            sampler.pair.extend(cells.of_pair(pair).iter().map(|_| pair as u32));
        }
        if battles >= FEW_BATTLES {
            sampler.add_poisson_tables();
        }
        let counts: Vec<f64> = cells.cells().iter().map(|cell| cell.count as f64).collect();
        if battles > 0 {
            sampler.any_cell = sampler.tables.add(0, &counts);
        }
        sampler
    }

    fn add_poisson_tables(&mut self) {
        // Three standard deviations below N: one replicate in 740 has to be thrown away, and 3 √N are drawn one by one.
        let thinned = 1.0 - 3.0 / (self.battles as f64).sqrt();
        let mut handles: HashMap<u64, u32> = HashMap::new();
        for cell in self.cells.cells() {
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
            let cell = self.cells.cells()[position];
            let pair = self.pair[position] as usize;
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
pub struct ClusterSampler {
    clusters: usize,
    crossing: Option<Crossing>,
    /// The runs of pair `p` are `first_run[p]..first_run[p + 1]`.
    first_run: Vec<usize>,
    /// One run per pair and outcome: what it is worth to the first model, and where its entries end.
    runs: Vec<(f64, usize)>,
    /// The cluster of every entry: a cell, or, without weights, a battle.
    cluster: Vec<u32>,
    /// The weight of every entry; empty when all weigh 1.
    weight: Vec<f64>,
}

impl ClusterSampler {
    fn new(cells: &Cells) -> Self {
        let all = cells.cells();
        // Four bytes per entry instead of twelve: the cells are read once for every eight replicates.
        let plain = cells.battles() <= 2 * all.len() as u64 && all.iter().all(|cell| cell.weight == 1.0);
        let mut sampler = Self {
            clusters: cells.clusters(),
            crossing: cells.crossing().cloned(),
            first_run: vec![0],
            runs: Vec::new(),
            cluster: Vec::with_capacity(all.len()),
            weight: Vec::new(),
        };
        for pair in 0..cells.pairs().len() {
            for run in cells.of_pair(pair).chunk_by(|one, next| one.outcome == next.outcome) {
                for cell in run {
                    let entries = if plain { cell.count as usize } else { 1 };
                    sampler.cluster.extend(std::iter::repeat_n(cell.cluster, entries));
                    if !plain {
                        sampler.weight.push(cell.count as f64 * cell.weight);
                    }
                }
                sampler.runs.push((run[0].outcome.score(), sampler.cluster.len()));
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
        let sizes = self.crossing.as_ref().map_or([self.clusters, 0], |crossing| crossing.sizes);
        let [mut one, mut two] = sizes.map(|size| vec![[0.0; LANES]; size]);
        for lane in 0..lanes {
            let mut stream = Stream::new(seed, first + lane as u64);
            drawn(&mut stream, lane, &mut one);
            drawn(&mut stream, lane, &mut two);
        }
        let Some(crossing) = &self.crossing else {
            return one;
        };
        let values = crossing.first.iter().zip(&crossing.second);
        let product = |(&left, &right): (&u32, &u32)| {
            let (left, right) = (&one[left as usize], &two[right as usize]);
            std::array::from_fn(|lane| left[lane] * right[lane])
        };
        values.map(product).collect()
    }

    /// The weight that some entries have in each lane.
    fn sums(&self, entries: Range<usize>, times: &[[f32; LANES]]) -> [f64; LANES] {
        let mut sums = [0.0; LANES];
        let clusters = &self.cluster[entries.clone()];
        if self.weight.is_empty() {
            for &cluster in clusters {
                let times = &times[cluster as usize];
                for lane in 0..LANES {
                    sums[lane] += f64::from(times[lane]);
                }
            }
        } else {
            for (&cluster, &weight) in clusters.iter().zip(&self.weight[entries]) {
                let times = &times[cluster as usize];
                for lane in 0..LANES {
                    sums[lane] += weight * f64::from(times[lane]);
                }
            }
        }
        sums
    }
}
