//! Linear systems whose matrix is a weighted graph Laplacian, plus a diagonal where there is a prior.
//!
//! The curvature of every Bradley-Terry likelihood is such a matrix: `Σ w (e_i − e_j)(e_i − e_j)ᵀ` over the pairs. Two
//! ways to solve it: a dense Cholesky factor for few models, which can be kept and used again, and conjugate gradients
//! with a diagonal preconditioner, whose memory grows with the pairs that met and never with the square of the models.

use crate::battles::cells::Pairs;
use crate::cancel::Watch;
use crate::error::CoreError;
use crate::uncertainty::resample::LANES;

/// The matrix `Σ w (e_i − e_j)(e_i − e_j)ᵀ + diag(extra)`.
#[derive(Debug)]
pub struct Laplacian<'a> {
    /// Which entries are not zero.
    pub pairs: &'a Pairs,
    /// One non-negative weight per pair.
    pub weight: Vec<f64>,
    /// Non-negative additions to the diagonal, one per model; all 0 without a prior.
    pub extra: Vec<f64>,
}

impl Laplacian<'_> {
    pub(crate) fn diagonal(&self) -> Vec<f64> {
        let mut diagonal = self.extra.clone();
        for (pair, &weight) in self.weight.iter().enumerate() {
            diagonal[self.pairs.first[pair] as usize] += weight;
            diagonal[self.pairs.second[pair] as usize] += weight;
        }
        diagonal
    }

    pub(crate) fn is_singular(&self) -> bool {
        self.extra.iter().all(|&extra| extra == 0.0)
    }

    fn times(&self, vector: &[f64], product: &mut [f64]) {
        for ((out, &extra), &value) in product.iter_mut().zip(&self.extra).zip(vector) {
            *out = extra * value;
        }
        for (pair, &weight) in self.weight.iter().enumerate() {
            let (first, second) = (self.pairs.first[pair] as usize, self.pairs.second[pair] as usize);
            let flow = weight * (vector[first] - vector[second]);
            product[first] += flow;
            product[second] -= flow;
        }
    }

    /// Solve by conjugate gradients until the residual is below `tolerance` times the right side.
    ///
    /// Without `extra` the matrix is singular, and the right side should sum to 0: what rounding adds to that sum is
    /// taken off, as no solution could account for it. The solution is then known up to a constant. Models without any
    /// weight stay at 0.
    ///
    /// # Errors
    /// [`CoreError::Cancelled`].
    pub fn solve_iteratively(&self, right: &[f64], tolerance: f64, watch: &Watch) -> Result<Vec<f64>, CoreError> {
        let inverse: Vec<f64> = self.diagonal().iter().map(|&d| if d > 0.0 { 1.0 / d } else { 0.0 }).collect();
        let mut solution = vec![0.0; right.len()];
        let mut product = vec![0.0; right.len()];
        let mut residual = right.to_vec();
        if self.is_singular() {
            let present = inverse.iter().filter(|&&d| d > 0.0).count().max(1);
            let mean = right.iter().sum::<f64>() / present as f64;
            residual.iter_mut().zip(&inverse).filter(|(_, d)| **d > 0.0).for_each(|(value, _)| *value -= mean);
        }
        let mut scaled: Vec<f64> = residual.iter().zip(&inverse).map(|(r, d)| r * d).collect();
        let mut direction = scaled.clone();
        let mut energy = dot(&residual, &scaled);
        let goal = tolerance * tolerance * energy;
        // In exact arithmetic as many steps as models suffice; rounding may need some more.
        for _ in 0..2 * right.len() + 10 {
            if energy <= goal {
                break;
            }
            watch.check()?;
            self.times(&direction, &mut product);
            let step = energy / dot(&direction, &product);
            if !step.is_finite() {
                break;
            }
            for model in 0..right.len() {
                solution[model] += step * direction[model];
                residual[model] -= step * product[model];
                scaled[model] = residual[model] * inverse[model];
            }
            let next = dot(&residual, &scaled);
            let ratio = next / energy;
            energy = next;
            for (to, &from) in direction.iter_mut().zip(&scaled) {
                *to = from + ratio * *to;
            }
        }
        Ok(solution)
    }

    /// The Cholesky factor; where there is no prior, of the matrix plus a multiple of the matrix of ones, which
    /// changes no solution for a right side that sums to 0.
    pub fn factor(&self) -> Factor {
        let size = self.pairs.models;
        let diagonal = self.diagonal();
        let lift = if self.is_singular() { diagonal.iter().sum::<f64>() / (size * size) as f64 } else { 0.0 };
        let mut lower = vec![lift; size * size];
        for (model, &value) in diagonal.iter().enumerate() {
            // A model without battles gets a harmless equation of its own.
            lower[model * size + model] += if value > 0.0 { value } else { 1.0 };
        }
        for (pair, &weight) in self.weight.iter().enumerate() {
            let (first, second) = (self.pairs.first[pair] as usize, self.pairs.second[pair] as usize);
            lower[second * size + first] -= weight;
        }
        Factor::of(size, lower)
    }
}

/// A dense lower triangular factor L of a positive definite matrix L·Lᵀ.
#[derive(Debug)]
pub struct Factor {
    size: usize,
    lower: Vec<f64>,
}

impl Factor {
    /// Row by row, so that all inner products run over contiguous memory. Reads the lower triangle of `matrix`.
    fn of(size: usize, mut matrix: Vec<f64>) -> Self {
        for row in 0..size {
            let (above, this) = matrix.split_at_mut(row * size);
            for column in 0..row {
                let other = &above[column * size..column * size + column + 1];
                let value = this[column] - dot(&this[..column], &other[..column]);
                this[column] = value / other[column];
            }
            let rest = this[row] - dot(&this[..row], &this[..row]);
            // Rounding can eat a pivot of a nearly singular matrix; the caller sees that by not converging.
            this[row] = rest.max(f64::MIN_POSITIVE).sqrt();
        }
        Self { size, lower: matrix }
    }

    /// Solve L·Lᵀ·x = `right`, in place.
    pub fn solve(&self, right: &mut [f64]) {
        for row in 0..self.size {
            let values = &self.lower[row * self.size..row * self.size + row + 1];
            right[row] = (right[row] - dot(&values[..row], &right[..row])) / values[row];
        }
        for row in (0..self.size).rev() {
            let values = &self.lower[row * self.size..row * self.size + row + 1];
            let value = right[row] / values[row];
            right[row] = value;
            for (to, &factor) in right[..row].iter_mut().zip(values) {
                *to -= factor * value;
            }
        }
    }
}

impl Factor {
    /// [`Factor::solve`] for eight right sides at once: the factor is read once for all of them.
    pub fn solve_lanes(&self, right: &mut [[f64; LANES]]) {
        for row in 0..self.size {
            let values = &self.lower[row * self.size..row * self.size + row + 1];
            let (above, this) = right.split_at_mut(row);
            let product = dot_lanes(&values[..row], above);
            (0..LANES).for_each(|lane| this[0][lane] = (this[0][lane] - product[lane]) / values[row]);
        }
        for row in (0..self.size).rev() {
            let values = &self.lower[row * self.size..row * self.size + row + 1];
            let (above, this) = right.split_at_mut(row);
            this[0] = this[0].map(|value| value / values[row]);
            for (to, &factor) in above.iter_mut().zip(values) {
                (0..LANES).for_each(|lane| to[lane] -= factor * this[0][lane]);
            }
        }
    }
}

/// The inner products of one vector with eight, in two partial sums each.
fn dot_lanes(left: &[f64], right: &[[f64; LANES]]) -> [f64; LANES] {
    let (mut even, mut odd) = ([0.0; LANES], [0.0; LANES]);
    let (lefts, rights) = (left.chunks_exact(2), right.chunks_exact(2));
    if let ([last], [values]) = (lefts.remainder(), rights.remainder()) {
        even = values.map(|value| last * value);
    }
    for (l, r) in lefts.zip(rights) {
        (0..LANES).for_each(|lane| even[lane] += l[0] * r[0][lane]);
        (0..LANES).for_each(|lane| odd[lane] += l[1] * r[1][lane]);
    }
    std::array::from_fn(|lane| even[lane] + odd[lane])
}

/// The inner product, in eight partial sums that the compiler can keep in vector registers.
fn dot(left: &[f64], right: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (left, right) = (left.chunks_exact(8), right.chunks_exact(8));
    let tail: f64 = left.remainder().iter().zip(right.remainder()).map(|(l, r)| l * r).sum();
    for (l, r) in left.zip(right) {
        for lane in 0..8 {
            sums[lane] += l[lane] * r[lane];
        }
    }
    tail + sums.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(models: u32) -> Pairs {
        let mut pairs =
            Pairs { models: models as usize, first: (0..models - 1).collect(), second: (1..models).collect() };
        pairs.first.push(0);
        pairs.second.push(models - 1);
        pairs
    }

    #[test]
    fn both_solvers_agree() {
        let pairs = ring(20);
        for extra in [0.0, 0.5] {
            let matrix = Laplacian { pairs: &pairs, weight: (1..=20).map(f64::from).collect(), extra: vec![extra; 20] };
            let mut right: Vec<f64> = (0..20).map(|i| f64::from(i % 3)).collect();
            let mean = right.iter().sum::<f64>() / 20.0;
            right.iter_mut().for_each(|value| *value -= mean);
            let iterative = matrix.solve_iteratively(&right, 1e-14, &Watch::default()).unwrap();
            let mut direct = right.clone();
            matrix.factor().solve(&mut direct);
            let shift = iterative.iter().sum::<f64>() / 20.0;
            for (a, b) in iterative.iter().zip(&direct) {
                let offset = if extra == 0.0 { shift } else { 0.0 };
                assert!((a - offset - b).abs() < 1e-10, "{a} {b}");
            }
        }
    }
}
