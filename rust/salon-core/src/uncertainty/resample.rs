//! Resampled battles: the totals of every pair in one bootstrap replicate.
//!
//! **By battles.** A replicate draws N of the N battles with replacement, so cell counts are multinomial: they are drawn
//! exactly, cell by cell and without touching the battles ([`crate::uncertainty::multinomial`]). Rows keep their weight when they are
//! drawn: cells are split by weight, and N counts rows.
//!
//! **By clusters.** A replicate draws C of the C clusters with replacement and takes all battles of each drawn one, as
//! often as it was drawn (Efron & Tibshirani 1993, chapter 8). Eight replicates are summed in one pass over the cells. Where
//! clusters are crossings of two columns, the values of each column are drawn, and a crossing counts as often as the
//! product of both (pigeonhole bootstrap, Owen 2007).

use std::ops::Range;

use crate::battles::cells::{Cells, PairScores};
use crate::random::Stream;
use crate::uncertainty::multinomial::{Multinomial, Tally};

/// Replicates that are made together.
pub const LANES: usize = 8;
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
        let pair = self.pair[position] as usize;
        let cell = self.cells.cell(pair, position);
        let weight = count as f64 * cell.weight;
        self.scores.matches[pair] += weight;
        self.scores.score[pair] += weight * cell.outcome.score();
    }
}

impl<'a> BattleSampler<'a> {
    fn new(cells: &'a Cells) -> Self {
        let counts: Vec<u64> = cells.iter().map(|cell| cell.count).collect();
        let mut pair = Vec::with_capacity(counts.len());
        for number in 0..cells.pairs().len() {
            pair.extend(cells.positions(number).map(|_| number as u32));
        }
        Self { cells, counts: Multinomial::new(&counts), pair }
    }

    fn draw(&self, stream: &mut Stream, scores: &mut PairScores) {
        self.counts.draw(stream, &mut PairTally { cells: self.cells, pair: &self.pair, scores });
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
