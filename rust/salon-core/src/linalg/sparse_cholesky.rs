//! Sparse factors for leagues in which most models never met, such as the battles of a single rater.
//!
//! Models are eliminated in an order of small degree (Tinney & Walker 1967, doi:10.1109/PROC.1967.6011): whoever has
//! the fewest neighbours goes next, and its neighbours become neighbours of each other. The order depends on the pairs
//! alone, so one plan serves every Newton step and every replicate; [`Factor`] fills it with numbers. A league of 170
//! models and 200 battles takes some thousand operations where a dense factor takes a million.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::battles::cells::Pairs;
use crate::linalg::laplacian::Laplacian;

/// Most products of one factorization, for leagues of so many models that a dense factor is the other way.
const MOST_PRODUCTS: usize = 1 << 20;
const MOST_MODELS: usize = 1024;
/// Most products for each model and each pair of a larger league: chains, trees and stars take 1 or 2. With more, the other way,
/// conjugate gradients, is quicker, and a plan that is given up has cost little.
const MOST_PRODUCTS_EACH: usize = 8;
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
        if models < 2 || 8 * pairs.len() > models * models {
            return None;
        }
        let mut graph = Neighbours::new(pairs);
        let most = match models {
            ..=MOST_MODELS => MOST_PRODUCTS.min(models.pow(3) / (6 * DISCOUNT)),
            _ => MOST_PRODUCTS_EACH * (models + pairs.len()),
        };
        let (mut order, mut columns, mut products) = (Vec::with_capacity(models), Vec::with_capacity(models), 0);
        while let Some((model, neighbours)) = graph.eliminate_least() {
            let degree = neighbours.len();
            products += degree * (degree + 1) / 2;
            // The neighbours all neighbour each other now, so that their own columns take at least as many again.
            if products + degree.pow(3).saturating_sub(degree) / 6 > most {
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

/// Which models are still neighbours.
struct Neighbours {
    /// Of each model, ascending; eliminated ones stay in the list and are passed over.
    lists: Vec<Vec<u32>>,
    /// The number of neighbours; `None` once eliminated.
    degree: Vec<Option<u32>>,
    /// Models by degree; an entry whose degree has changed since is passed over.
    queue: BinaryHeap<Reverse<(u32, u32)>>,
}

impl Neighbours {
    fn new(pairs: &Pairs) -> Self {
        let mut lists = vec![Vec::new(); pairs.models];
        for (&first, &second) in pairs.first.iter().zip(&pairs.second) {
            lists[first as usize].push(second);
            lists[second as usize].push(first);
        }
        for list in &mut lists {
            list.sort_unstable();
            list.dedup();
        }
        let degree: Vec<Option<u32>> = lists.iter().map(|list| Some(list.len() as u32)).collect();
        let queue = lists.iter().zip(0..).map(|(list, model)| Reverse((list.len() as u32, model))).collect();
        Self { lists, degree, queue }
    }

    /// Take out a model with the fewest neighbours, the lowest of these; it and its neighbours, which are joined.
    fn eliminate_least(&mut self) -> Option<(u32, Vec<u32>)> {
        let model = loop {
            let Reverse((degree, model)) = self.queue.pop()?;
            if self.degree[model as usize] == Some(degree) {
                break model;
            }
        };
        self.degree[model as usize] = None;
        let mut own = std::mem::take(&mut self.lists[model as usize]);
        own.retain(|&other| self.degree[other as usize].is_some());
        for &other in &own {
            self.join(other, &own);
        }
        Some((model, own))
    }

    /// Make `model` a neighbour of all other `members`, one of whose neighbours was just eliminated.
    fn join(&mut self, model: u32, members: &[u32]) {
        let list = &mut self.lists[model as usize];
        let mut rest = list.as_slice();
        let is_new = |other: &u32| {
            let near = rest.iter().take(8).position(|known| known >= other);
            rest = &rest[near.unwrap_or_else(|| rest.partition_point(|known| known < other))..];
            *other != model && rest.first() != Some(other)
        };
        let new: Vec<u32> = members.iter().copied().filter(is_new).collect();
        if !new.is_empty() {
            list.retain(|&other| self.degree[other as usize].is_some());
            list.extend(&new);
            list.sort_unstable(); // two ascending runs, which are merged
        }
        if let Some(degree) = &mut self.degree[model as usize] {
            *degree = *degree + new.len() as u32 - 1;
            self.queue.push(Reverse((*degree, model)));
        }
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

    /// A chain, a star, a ring around a hub, a grid, and trees with some more pairs: of every shape of a league that is planned.
    fn shapes(models: u32, seed: u64) -> Vec<(Pairs, Vec<f64>)> {
        let pairs = |met: Vec<(u32, u32)>| {
            let weight = (0..met.len()).map(|pair| (1 + (pair as u64 * seed) % 9) as f64).collect();
            let (first, second) = met.into_iter().unzip();
            (Pairs { models: models as usize, first, second }, weight)
        };
        let grid = (0..models).flat_map(|one| [(one, one + 1), (one, one + 10)]);
        vec![
            pairs((1..models).map(|model| (model - 1, model)).collect()),
            pairs((1..models).map(|model| (0, model)).collect()),
            pairs(
                (1..models).flat_map(|model| [(0, model), (model, model + 1)]).filter(|pair| pair.1 < models).collect(),
            ),
            pairs(grid.filter(|pair| pair.1 < models).collect()),
            sparse(models, 0, seed),
            sparse(models, models as usize, seed),
        ]
    }

    #[test]
    fn sparse_and_dense_factors_solve_alike() {
        for (seed, models, extra) in [(1, 90, 0.0), (2, 91, 0.25), (3, 130, 0.0), (4, 64, 2.0), (5, 200, 0.0)] {
            for (pairs, weight) in shapes(models, seed) {
                let plan = Elimination::plan(&pairs).unwrap();
                let matrix = Laplacian { pairs: &pairs, weight, extra: vec![extra; models as usize] };
                let mut right: Vec<f64> = (0..models).map(|i| f64::from(i % 5)).collect();
                let mean = right.iter().sum::<f64>() / f64::from(models);
                right.iter_mut().for_each(|value| *value -= mean);
                let mut lanes: Vec<[f64; 2]> = right.iter().map(|&value| [value, -2.0 * value]).collect();
                Factor::of(&plan, &matrix).solve(&mut lanes);
                matrix.factor().solve(&mut right);
                for (lane, dense) in lanes.iter().zip(&right) {
                    assert!((lane[0] - dense).abs() < 1e-8 && (lane[1] + 2.0 * dense).abs() < 2e-8, "{lane:?} {dense}");
                }
            }
        }
    }

    #[test]
    fn chains_and_stars_of_any_length_fill_nothing_in() {
        for (pairs, _) in shapes(20_000, 1).into_iter().take(2) {
            assert_eq!(Elimination::plan(&pairs).unwrap().row.len(), pairs.len());
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
