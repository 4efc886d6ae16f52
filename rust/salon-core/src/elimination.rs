//! Sparse factors for leagues in which most models never met, such as the battles of a single rater.
//!
//! Models are eliminated in an order of small degree (Tinney & Walker 1967, doi:10.1109/PROC.1967.6011): whoever has
//! the fewest neighbours goes next, and its neighbours become neighbours of each other. The order depends on the pairs
//! alone, so one plan serves every Newton step and every replicate; [`Factor`] fills it with numbers. A league of 170
//! models and 200 battles takes some thousand operations where a dense factor takes a million.

use crate::cells::Pairs;
use crate::laplacian::Laplacian;

/// Larger leagues are not planned.
const MOST_MODELS: usize = 1024;
/// Most products of one factorization.
const MOST_PRODUCTS: usize = 1 << 20;
/// A product here costs as much as this many of a dense factor, whose memory is contiguous.
const DISCOUNT: usize = 4;

/// In which order models are eliminated, and what that touches.
#[derive(Debug)]
pub struct Elimination {
    /// The models, first to last; the k-th of them owns column k.
    order: Vec<u32>,
    /// The entries of column k are `start[k]..start[k + 1]`.
    start: Vec<usize>,
    /// The row of every entry, a place in `order`; ascending within a column.
    row: Vec<u32>,
    /// The entry that holds each pair.
    entry: Vec<u32>,
    /// For each column in turn, for each two of its entries: the entry of the row of one in the column of the other.
    target: Vec<u32>,
}

impl Elimination {
    /// A plan for `pairs`; `None` where a dense factor is no slower.
    pub fn plan(pairs: &Pairs) -> Option<Self> {
        let models = pairs.models;
        if !(2..=MOST_MODELS).contains(&models) || 8 * pairs.len() > models * models {
            return None;
        }
        let mut graph = Neighbours::new(pairs);
        let most = MOST_PRODUCTS.min(models.pow(3) / (6 * DISCOUNT));
        let (mut order, mut columns, mut products) = (Vec::with_capacity(models), Vec::with_capacity(models), 0);
        for _ in 0..models {
            let (model, neighbours) = graph.eliminate_least();
            products += neighbours.len() * (neighbours.len() + 1) / 2;
            if products > most {
                return None;
            }
            order.push(model);
            columns.push(neighbours);
        }
        Some(Self::of(pairs, order, columns))
    }

    fn of(pairs: &Pairs, order: Vec<u32>, columns: Vec<Vec<u32>>) -> Self {
        let mut place = vec![0; order.len()];
        for (position, &model) in order.iter().enumerate() {
            place[model as usize] = position as u32;
        }
        let (mut start, mut row) = (vec![0], Vec::new());
        for column in columns {
            row.extend(column.into_iter().map(|model| place[model as usize]));
            let from = start[start.len() - 1];
            row[from..].sort_unstable();
            start.push(row.len());
        }
        let mut plan = Self { order, start, row, entry: Vec::new(), target: Vec::new() };
        let ends = pairs.first.iter().zip(&pairs.second);
        plan.entry = ends.map(|(&one, &two)| plan.find(place[one as usize], place[two as usize])).collect();
        let mut target = Vec::new();
        for column in 0..plan.order.len() {
            let rows = &plan.row[plan.start[column]..plan.start[column + 1]];
            for (position, &one) in rows.iter().enumerate() {
                target.extend(rows[position + 1..].iter().map(|&two| plan.find(one, two)));
            }
        }
        plan.target = target;
        plan
    }

    /// The entry of two places of the order.
    fn find(&self, one: u32, two: u32) -> u32 {
        let (column, row) = (one.min(two) as usize, one.max(two));
        let from = self.start[column];
        let found = self.row[from..self.start[column + 1]].partition_point(|&other| other < row);
        (from + found) as u32
    }
}

/// Who still neighbours whom, as sets of bits.
struct Neighbours {
    words: usize,
    sets: Vec<u64>,
    /// The number of neighbours; `None` once eliminated.
    degree: Vec<Option<u32>>,
}

impl Neighbours {
    fn new(pairs: &Pairs) -> Self {
        let words = pairs.models.div_ceil(64);
        let mut sets = vec![0_u64; words * pairs.models];
        for (&first, &second) in pairs.first.iter().zip(&pairs.second) {
            for (one, two) in [(first as usize, second as usize), (second as usize, first as usize)] {
                sets[one * words + two / 64] |= 1 << (two % 64);
            }
        }
        let count = |set: &[u64]| Some(set.iter().map(|word| word.count_ones()).sum());
        let degree = sets.chunks(words.max(1)).map(count).collect();
        Self { words, sets, degree }
    }

    /// Take out a model with the fewest neighbours, the lowest of these; it and its neighbours, which are joined.
    fn eliminate_least(&mut self) -> (u32, Vec<u32>) {
        let alive = self.degree.iter().enumerate().filter_map(|(model, degree)| degree.map(|degree| (degree, model)));
        let (_, model) = alive.min().unwrap_or_default();
        self.degree[model] = None;
        let own = self.sets[model * self.words..(model + 1) * self.words].to_vec();
        let members =
            |(at, &word): (usize, &u64)| (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| 64 * at + bit);
        let neighbours: Vec<usize> = own.iter().enumerate().flat_map(members).collect();
        for &other in &neighbours {
            let set = &mut self.sets[other * self.words..(other + 1) * self.words];
            set.iter_mut().zip(&own).for_each(|(to, &from)| *to |= from);
            for gone in [model, other] {
                set[gone / 64] &= !(1 << (gone % 64));
            }
            self.degree[other] = Some(set.iter().map(|word| word.count_ones()).sum());
        }
        (model as u32, neighbours.into_iter().map(|other| other as u32).collect())
    }
}

/// The factor L·D·Lᵀ of a matrix, by a plan.
#[derive(Debug)]
pub struct Factor<'a> {
    plan: &'a Elimination,
    /// L below its diagonal of ones, by entries of the plan.
    lower: Vec<f64>,
    /// 1/D; 0 for the model whose value is held at 0 because the matrix is singular.
    inverse: Vec<f64>,
    /// The places of the models with any weight, when their solutions are known up to a constant; else nobody.
    floating: Vec<usize>,
}

impl<'a> Factor<'a> {
    /// Factor `matrix`, whose pairs are those of the plan; a model without any weight gets a harmless equation of its own.
    pub fn of(plan: &'a Elimination, matrix: &Laplacian<'_>) -> Self {
        let given = matrix.diagonal();
        let mut diagonal: Vec<f64> = plan.order.iter().map(|&model| given[model as usize]).collect();
        let singular = matrix.is_singular();
        let floating: Vec<usize> = (0..diagonal.len()).filter(|&place| singular && diagonal[place] > 0.0).collect();
        diagonal.iter_mut().filter(|value| **value <= 0.0).for_each(|value| *value = 1.0);
        let mut lower = vec![0.0; plan.row.len()];
        for (&entry, &weight) in plan.entry.iter().zip(&matrix.weight) {
            lower[entry as usize] -= weight;
        }
        let mut inverse = vec![0.0; diagonal.len()];
        let mut targets = plan.target.iter();
        for column in 0..diagonal.len() {
            let is_held = floating.last() == Some(&column);
            // Rounding can eat a pivot of a nearly singular matrix; the caller sees that by not converging.
            inverse[column] = if is_held { 0.0 } else { 1.0 / diagonal[column].max(f64::MIN_POSITIVE) };
            let end = plan.start[column + 1];
            for one in plan.start[column]..end {
                let share = lower[one] * inverse[column];
                diagonal[plan.row[one] as usize] -= lower[one] * share;
                for (two, &target) in (one + 1..end).zip(&mut targets) {
                    lower[target as usize] -= share * lower[two];
                }
                lower[one] = share;
            }
        }
        Self { plan, lower, inverse, floating }
    }

    /// Solve for `LANES` right sides at once, in place. Of a singular matrix, whose right sides should sum to 0, the
    /// solution with mean 0 over the models with any weight.
    pub fn solve<const LANES: usize>(&self, right: &mut [[f64; LANES]]) {
        let plan = self.plan;
        let mut value: Vec<[f64; LANES]> = plan.order.iter().map(|&model| right[model as usize]).collect();
        for column in 0..value.len() {
            let from = value[column];
            for entry in plan.start[column]..plan.start[column + 1] {
                let to = &mut value[plan.row[entry] as usize];
                (0..LANES).for_each(|lane| to[lane] -= self.lower[entry] * from[lane]);
            }
        }
        for column in (0..value.len()).rev() {
            let mut sum = value[column].map(|value| value * self.inverse[column]);
            for entry in plan.start[column]..plan.start[column + 1] {
                let from = &value[plan.row[entry] as usize];
                (0..LANES).for_each(|lane| sum[lane] -= self.lower[entry] * from[lane]);
            }
            value[column] = sum;
        }
        let mut mean = [0.0; LANES];
        for &place in &self.floating {
            (0..LANES).for_each(|lane| mean[lane] += value[place][lane] / self.floating.len() as f64);
        }
        for &place in &self.floating {
            (0..LANES).for_each(|lane| value[place][lane] -= mean[lane]);
        }
        for (&model, from) in plan.order.iter().zip(&value) {
            right[model as usize] = *from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    /// Pairs of a few battles drawn at random, with weights.
    fn sparse(models: u32, battles: usize, seed: u64) -> (Pairs, Vec<f64>) {
        let mut stream = Stream::new(seed, 0);
        let mut met: Vec<(u32, u32)> =
            (1..models).map(|model| (stream.below(u64::from(model)) as u32, model)).collect();
        for _ in 0..battles {
            let (one, two) = (stream.below(u64::from(models)) as u32, stream.below(u64::from(models)) as u32);
            if one != two {
                met.push((one.min(two), one.max(two)));
            }
        }
        met.sort_unstable();
        met.dedup();
        let weight = met.iter().map(|_| (1 + stream.below(9)) as f64).collect();
        let (first, second) = met.into_iter().unzip();
        (Pairs { models: models as usize, first, second }, weight)
    }

    #[test]
    fn sparse_and_dense_factors_solve_alike() {
        for (seed, extra) in [(1, 0.0), (2, 0.25), (3, 0.0), (4, 2.0)] {
            let (pairs, weight) = sparse(90, 60, seed);
            let plan = Elimination::plan(&pairs).unwrap();
            let matrix = Laplacian { pairs: &pairs, weight, extra: vec![extra; 90] };
            let mut right: Vec<f64> = (0..90).map(|i| f64::from(i % 5)).collect();
            let mean = right.iter().sum::<f64>() / 90.0;
            right.iter_mut().for_each(|value| *value -= mean);
            let mut lanes: Vec<[f64; 2]> = right.iter().map(|&value| [value, -2.0 * value]).collect();
            Factor::of(&plan, &matrix).solve(&mut lanes);
            matrix.factor().solve(&mut right);
            for (lane, dense) in lanes.iter().zip(&right) {
                assert!((lane[0] - dense).abs() < 1e-9 && (lane[1] + 2.0 * dense).abs() < 2e-9, "{lane:?} {dense}");
            }
        }
    }

    #[test]
    fn a_model_whose_battles_weigh_nothing_stays_at_zero() {
        let pairs = Pairs { models: 9, first: vec![0, 1, 2, 3, 4, 5, 6, 7], second: vec![1, 2, 3, 4, 5, 6, 7, 8] };
        let plan = Elimination::plan(&pairs).unwrap();
        let weight = vec![1.0, 2.0, 1.0, 3.0, 0.0, 0.0, 0.0, 0.0];
        let matrix = Laplacian { pairs: &pairs, weight, extra: vec![0.0; 9] };
        let mut right = [[0.0]; 9];
        (right[0], right[4]) = ([1.0], [-1.0]);
        Factor::of(&plan, &matrix).solve(&mut right);
        assert!((right[0][0] - right[1][0] - 1.0).abs() < 1e-12);
        assert!(right[..5].iter().map(|value| value[0]).sum::<f64>().abs() < 1e-12);
        assert!(right[5..].iter().all(|value| *value == [0.0]));
    }

    #[test]
    fn leagues_where_most_models_met_are_not_planned() {
        let pairs = |models: u32| -> Pairs {
            let (first, second) = (0..models).flat_map(|one| (one + 1..models).map(move |two| (one, two))).unzip();
            Pairs { models: models as usize, first, second }
        };
        assert!([0, 1, 2, 3, 10, 100].into_iter().all(|models| Elimination::plan(&pairs(models)).is_none()));
    }
}
