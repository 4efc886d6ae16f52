//! Battles, counted: pairs of models and, within a pair, cells of battles that are alike.
//!
//! Two battles are alike when they have the same pair, outcome, weight and cluster. A rating needs only the totals of
//! each pair ([`PairScores`]); resampling needs the cells.

use std::ops::Range;

use crate::battles::two_way::Crossing;
use crate::error::CoreError;

/// The outcome of a battle, seen from the first model of its pair. `both_good`, `both_bad` and `tie` are all `Tie`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Outcome {
    /// The first model won.
    Win = 0,
    /// The second model won.
    Loss = 1,
    /// Half a win for each.
    Tie = 2,
}

impl Outcome {
    /// What the outcome is worth to the first model: 1, 0 or ½.
    pub fn score(self) -> f64 {
        match self {
            Self::Win => 1.0,
            Self::Loss => 0.0,
            Self::Tie => 0.5,
        }
    }

    /// The same outcome seen from the second model.
    pub fn reversed(self) -> Self {
        match self {
            Self::Win => Self::Loss,
            Self::Loss => Self::Win,
            Self::Tie => Self::Tie,
        }
    }
}

/// `count` battles that are alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// The model with the lower index.
    pub first: u32,
    /// The model with the higher index.
    pub second: u32,
    /// The outcome for `first`.
    pub outcome: Outcome,
    /// The cluster (a prompt, a rater, a benchmark); 0 where there are none.
    pub cluster: u32,
    /// How many battles.
    pub count: u64,
    /// The weight of each of them; positive.
    pub weight: f64,
}

/// All pairs of models that met, in order of (`first`, `second`).
#[derive(Debug, Clone, Default)]
pub struct Pairs {
    /// Number of models; indices are below it.
    pub models: usize,
    /// The model with the lower index, one entry per pair.
    pub first: Vec<u32>,
    /// The model with the higher index, one entry per pair.
    pub second: Vec<u32>,
}

impl Pairs {
    /// Number of pairs that met.
    pub fn len(&self) -> usize {
        self.first.len()
    }

    /// Whether nobody met.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }
}

/// What a rating needs to know about each pair, in the order of [`Pairs`].
#[derive(Debug, Clone, Default)]
pub struct PairScores {
    /// Sum of the weights of the pair's battles.
    pub matches: Vec<f64>,
    /// Wins of `first` plus half the ties, by weight.
    pub score: Vec<f64>,
}

impl PairScores {
    /// Zero for each of `pairs` pairs.
    pub fn zeros(pairs: usize) -> Self {
        Self { matches: vec![0.0; pairs], score: vec![0.0; pairs] }
    }

    /// Each model's sum of weights and its score (wins plus half the ties).
    pub fn per_model(&self, pairs: &Pairs) -> (Vec<f64>, Vec<f64>) {
        let (mut matches, mut score) = (vec![0.0; pairs.models], vec![0.0; pairs.models]);
        let ends = pairs.first.iter().zip(&pairs.second);
        for ((&first, &second), (&met, &won)) in ends.zip(self.matches.iter().zip(&self.score)) {
            matches[first as usize] += met;
            matches[second as usize] += met;
            score[first as usize] += won;
            score[second as usize] += met - won;
        }
        (matches, score)
    }
}

/// One model's record, by weight of battles.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Record {
    /// Sum of the weights of its battles.
    pub matches: f64,
    /// Battles won.
    pub wins: f64,
    /// Battles with any kind of tie.
    pub ties: f64,
    /// Battles lost.
    pub losses: f64,
}

/// All battles as cells, in order of (first, second, outcome, cluster, weight).
///
/// Kept as columns, nine bytes per cell (seventeen with weights). More than 2³² − 1 battles that are alike are several
/// cells.
#[derive(Debug, Clone)]
pub struct Cells {
    pairs: Pairs,
    columns: Columns,
    /// The cells of pair `p` are at positions `start[p]..start[p + 1]`.
    start: Vec<usize>,
    clusters: usize,
    /// Where clusters are crossings of two columns: which values meet in each.
    crossing: Option<Crossing>,
}

/// One entry per cell.
#[derive(Debug, Clone, Default)]
pub(crate) struct Columns {
    pub(crate) outcome: Vec<Outcome>,
    /// Empty where there are no clusters.
    pub(crate) cluster: Vec<u32>,
    pub(crate) count: Vec<u32>,
    /// Empty where every battle weighs 1.
    pub(crate) weight: Vec<f64>,
}

/// Takes cells in their order, one by one.
#[derive(Debug)]
pub(crate) struct Builder {
    pairs: Pairs,
    columns: Columns,
    start: Vec<usize>,
}

impl Builder {
    pub(crate) fn new(models: usize) -> Self {
        Self { pairs: Pairs { models, ..Pairs::default() }, columns: Columns::default(), start: Vec::new() }
    }

    /// Make room for so many clustered cells, and no more.
    pub(crate) fn reserve(&mut self, cells: usize) {
        self.columns.outcome.reserve_exact(cells);
        self.columns.cluster.reserve_exact(cells);
        self.columns.count.reserve_exact(cells);
    }

    /// Add a cell that follows all others; `first < second < models`.
    pub(crate) fn push(&mut self, cell: &Cell) {
        let position = self.columns.count.len();
        if self.pairs.first.last() != Some(&cell.first) || self.pairs.second.last() != Some(&cell.second) {
            self.pairs.first.push(cell.first);
            self.pairs.second.push(cell.second);
            self.start.push(position);
        }
        let columns = &mut self.columns;
        if cell.weight != 1.0 && columns.weight.is_empty() {
            columns.weight.resize(position, 1.0);
        }
        let is_weighted = cell.weight != 1.0 || !columns.weight.is_empty();
        let mut left = cell.count;
        while left > 0 {
            let part = left.min(u64::from(u32::MAX));
            left -= part;
            columns.outcome.push(cell.outcome);
            columns.cluster.push(cell.cluster);
            columns.count.push(part as u32);
            if is_weighted {
                columns.weight.push(cell.weight);
            }
        }
    }

    pub(crate) fn finish(mut self, clusters: usize) -> Cells {
        self.start.push(self.columns.count.len());
        if clusters == 0 {
            self.columns.cluster = Vec::new();
        }
        Cells { pairs: self.pairs, columns: self.columns, start: self.start, clusters, crossing: None }
    }
}

impl Cells {
    /// Take cells that are already in order, with `first < second < models` and `cluster < clusters`.
    pub(crate) fn from_ordered(models: usize, clusters: usize, cells: impl IntoIterator<Item = Cell>) -> Self {
        let mut builder = Builder::new(models);
        cells.into_iter().for_each(|cell| builder.push(&cell));
        builder.finish(clusters)
    }

    /// The pairs that met.
    pub fn pairs(&self) -> &Pairs {
        &self.pairs
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.columns.count.len()
    }

    /// Whether there are no battles.
    pub fn is_empty(&self) -> bool {
        self.columns.count.is_empty()
    }

    /// Every cell, in order.
    pub fn iter(&self) -> impl Iterator<Item = Cell> {
        (0..self.pairs.len()).flat_map(|pair| self.of_pair(pair))
    }

    /// The cells of one pair.
    pub fn of_pair(&self, pair: usize) -> impl Iterator<Item = Cell> {
        self.positions(pair).map(move |position| self.cell(pair, position))
    }

    /// The positions of the cells of one pair.
    pub(crate) fn positions(&self, pair: usize) -> Range<usize> {
        self.start[pair]..self.start[pair + 1]
    }

    /// The cell of this pair at this position.
    #[inline]
    pub(crate) fn cell(&self, pair: usize, position: usize) -> Cell {
        let columns = &self.columns;
        Cell {
            first: self.pairs.first[pair],
            second: self.pairs.second[pair],
            outcome: columns.outcome[position],
            cluster: columns.cluster.get(position).copied().unwrap_or(0),
            count: u64::from(columns.count[position]),
            weight: columns.weight.get(position).copied().unwrap_or(1.0),
        }
    }

    /// The cells as columns.
    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Number of clusters; 0 when battles came without.
    pub fn clusters(&self) -> usize {
        self.clusters
    }

    /// The values that meet in each cluster, where clusters are crossings of two columns.
    pub fn crossing(&self) -> Option<&Crossing> {
        self.crossing.as_ref()
    }

    /// The same cells, their clusters being crossings of two columns.
    ///
    /// # Errors
    /// [`CoreError::BadArgument`] when the crossing does not fit the clusters.
    pub fn crossed(self, crossing: Crossing) -> Result<Self, CoreError> {
        crossing.check(&self)?;
        Ok(Self { crossing: Some(crossing), ..self })
    }

    /// Number of battles, whatever their weight.
    pub fn battles(&self) -> u64 {
        self.columns.count.iter().map(|&count| u64::from(count)).sum()
    }

    /// The totals of every pair.
    pub fn scores(&self) -> PairScores {
        let mut scores = PairScores::zeros(self.pairs.len());
        for pair in 0..self.pairs.len() {
            for cell in self.of_pair(pair) {
                let weight = cell.count as f64 * cell.weight;
                scores.matches[pair] += weight;
                scores.score[pair] += weight * cell.outcome.score();
            }
        }
        scores
    }

    /// Every model's record.
    pub fn records(&self) -> Vec<Record> {
        let mut records = vec![Record::default(); self.pairs.models];
        for cell in self.iter() {
            let weight = cell.count as f64 * cell.weight;
            let ends = [(cell.first, cell.outcome), (cell.second, cell.outcome.reversed())];
            for (model, outcome) in ends {
                let record = &mut records[model as usize];
                record.matches += weight;
                match outcome {
                    Outcome::Win => record.wins += weight,
                    Outcome::Loss => record.losses += weight,
                    Outcome::Tie => record.ties += weight,
                }
            }
        }
        records
    }

    /// The same battles without their clusters: what a bootstrap over battles should see, so that its draws do not
    /// depend on clusters that it does not use.
    pub fn without_clusters(&self) -> Self {
        let mut builder = Builder::new(self.pairs.models);
        for pair in 0..self.pairs.len() {
            let mut cells: Vec<Cell> = self.of_pair(pair).map(|cell| Cell { cluster: 0, ..cell }).collect();
            cells.sort_by_key(|cell| (cell.outcome, cell.weight.to_bits()));
            merge_alike(&mut cells);
            cells.iter().for_each(|cell| builder.push(cell));
        }
        builder.finish(0)
    }

    /// The same cells with other numbers of battles, one per cell; cells without any are left out.
    ///
    /// # Errors
    /// [`CoreError::LengthMismatch`] unless there is one number per cell.
    pub fn recounted(&self, counts: &[u64]) -> Result<Self, CoreError> {
        if counts.len() != self.len() {
            let (found, expected) = (counts.len(), self.len());
            return Err(CoreError::LengthMismatch { column: "counts", found, expected });
        }
        let kept = self.iter().zip(counts).filter(|&(_, &count)| count > 0);
        let cells = kept.map(|(cell, &count)| Cell { count, ..cell });
        let recounted = Self::from_ordered(self.pairs.models, self.clusters, cells);
        Ok(Self { crossing: self.crossing.clone(), ..recounted })
    }

    /// Only the battles among `models` (ascending indices), which are renumbered from 0 in that order; so are the clusters
    /// that have a battle among them, and the values of both columns where clusters are crossings.
    pub fn among(&self, models: &[usize]) -> Self {
        let mut number = vec![u32::MAX; self.pairs.models];
        for (new, &old) in models.iter().enumerate() {
            number[old] = new as u32;
        }
        let ends = |pair: usize| [self.pairs.first[pair], self.pairs.second[pair]].map(|old| number[old as usize]);
        let inside = |pair: &usize| ends(*pair).iter().all(|&end| end != u32::MAX);
        let kept: Vec<usize> = (0..self.pairs.len()).filter(inside).collect();
        let mut has_battle = vec![false; self.clusters];
        if self.clusters > 0 {
            kept.iter().flat_map(|&pair| self.of_pair(pair)).for_each(|cell| has_battle[cell.cluster as usize] = true);
        }
        let (cluster_number, clusters) = renumbered(&has_battle);
        let mut builder = Builder::new(models.len());
        for pair in kept {
            let [first, second] = ends(pair);
            for cell in self.of_pair(pair) {
                let cluster = cluster_number.get(cell.cluster as usize).copied().unwrap_or(0);
                builder.push(&Cell { first, second, cluster, ..cell });
            }
        }
        let crossing = self.crossing.as_ref().map(|crossing| crossing.of(&has_battle));
        Self { crossing, ..builder.finish(clusters) }
    }
}

/// The position of every true entry among the true ones, and how many there are.
pub(crate) fn renumbered(is_kept: &[bool]) -> (Vec<u32>, usize) {
    let mut count = 0;
    let number = is_kept.iter().map(|&is| {
        count += usize::from(is);
        count.saturating_sub(1) as u32
    });
    (number.collect(), count)
}

/// Count neighbours that are alike as one.
pub(crate) fn merge_alike(cells: &mut Vec<Cell>) {
    cells.dedup_by(|next, kept| {
        let alike = *kept == Cell { count: kept.count, ..*next };
        kept.count += if alike { next.count } else { 0 };
        alike
    });
}
