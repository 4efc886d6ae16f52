//! Resampled battles: the totals of every pair in one bootstrap replicate.
//!
//! **By battles.** A replicate draws N of the N battles with replacement, so cell counts are multinomial: they are drawn
//! exactly, cell by cell and without touching the battles ([`crate::multinomial`]). Rows keep their weight when they are
//! drawn: cells are split by weight, and N counts rows.
//!
//! **By clusters.** A replicate draws C of the C clusters with replacement and takes all battles of each drawn one, as
//! often as it was drawn (Efron & Tibshirani 1993, chapter 8). Eight replicates are summed in one pass over the cells. Where
//! clusters are crossings of two columns, the values of each column are drawn, and a crossing counts as often as the
//! product of both (pigeonhole bootstrap, Owen 2007).

use std::ops::Range;

use crate::cells::{Cells, PairScores};
use crate::crossing::Crossing;
use crate::multinomial::{Multinomial, Tally};
use crate::random::Stream;

/// Replicates that are made together.
pub const LANES: usize = 8;
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
    counts: Multinomial,
    /// The pair of every cell.
    pair: Vec<u32>,
}

/// The totals of every pair, as counts of cells come in.
struct PairTally<'a, 'b> {
    cells: &'a Cells,
    pair: &'a [u32],
    scores: &'b mut PairScores,
}

impl Tally for PairTally<'_, '_> {
    fn clear(&mut self) {
        self.scores.matches.fill(0.0);
        self.scores.score.fill(0.0);
    }

    #[inline]
    fn add(&mut self, position: usize, count: u64) {
        let cell = &self.cells.cells()[position];
        let pair = self.pair[position] as usize;
        let weight = count as f64 * cell.weight;
        self.scores.matches[pair] += weight;
        self.scores.score[pair] += weight * cell.outcome.score();
    }
}

impl<'a> BattleSampler<'a> {
    fn new(cells: &'a Cells) -> Self {
        let counts: Vec<u64> = cells.cells().iter().map(|cell| cell.count).collect();
        let mut pair = Vec::with_capacity(counts.len());
        for number in 0..cells.pairs().len() {
            pair.extend(cells.of_pair(number).iter().map(|_| number as u32));
        }
        Self { cells, counts: Multinomial::new(&counts), pair }
    }

    fn draw(&self, stream: &mut Stream, scores: &mut PairScores) {
        self.counts.draw(stream, &mut PairTally { cells: self.cells, pair: &self.pair, scores });
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
