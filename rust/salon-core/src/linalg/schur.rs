//! Newton systems of models that have strengths and, beside them, a few further parameters.
//!
//! The negative Hessian is `[[L, B], [Bᵀ, C]]`: a graph Laplacian over the models, one column of `B` per further
//! parameter, and a small corner `C`. Eliminating the strengths leaves the Schur complement `S = C − Bᵀ L⁻ B`, whose
//! size is the number of further parameters; `Y = L⁻ B` also gives their covariance without a matrix of all models.

use crate::cancel::Watch;
use crate::error::CoreError;
use crate::linalg::laplacian::{Factor, Laplacian};

/// Up to this many models, systems are solved by a dense factor.
const DENSE: usize = 256;
/// Residual of an iterative solution, relative to its right side.
const RESIDUAL: f64 = 1e-10;
/// A pivot of the Schur complement below this share of its diagonal counts as zero.
const SINGULAR: f64 = 1e-12;

/// The system of one Newton step.
#[derive(Debug)]
pub struct Bordered<'a> {
    /// The curvature of the strengths.
    pub strengths: Laplacian<'a>,
    /// `B`, column after column, each as long as there are models.
    pub border: Vec<f64>,
    /// `C`, row by row.
    pub corner: Vec<f64>,
}

/// What a solved system gives.
#[derive(Debug, Clone)]
pub struct Solved {
    /// The step of the strengths, known up to a constant where there is no prior.
    pub strengths: Vec<f64>,
    /// The step of the further parameters.
    pub further: Vec<f64>,
    /// `Y = L⁻ B`, column after column.
    pub projected: Vec<f64>,
    /// `S`, row by row.
    pub schur: Vec<f64>,
}

impl Bordered<'_> {
    /// Solve for the step along a gradient; `None` when the further parameters are not determined.
    ///
    /// # Errors
    /// [`CoreError::Cancelled`].
    pub fn solve(&self, strengths: &[f64], further: &[f64], watch: &Watch) -> Result<Option<Solved>, CoreError> {
        let (models, size) = (strengths.len(), further.len());
        let factor = (models <= DENSE).then(|| self.strengths.factor());
        let mut projected = Vec::with_capacity(self.border.len());
        for column in 0..size {
            projected.extend(self.divide(factor.as_ref(), &self.border[column * models..][..models], watch)?);
        }
        let mut step = self.divide(factor.as_ref(), strengths, watch)?;
        let mut schur = self.corner.clone();
        for row in 0..size {
            for column in 0..size {
                schur[row * size + column] -=
                    inner(&self.border[row * models..][..models], &projected[column * models..][..models]);
            }
        }
        let right: Vec<f64> =
            (0..size).map(|k| further[k] - inner(&projected[k * models..][..models], strengths)).collect();
        let Some(lower) = cholesky(&schur, &self.corner, size) else {
            return Ok(None);
        };
        let further = solve_with(&lower, &right);
        for (column, &change) in further.iter().enumerate() {
            for (to, &value) in step.iter_mut().zip(&projected[column * models..][..models]) {
                *to -= change * value;
            }
        }
        Ok(Some(Solved { strengths: step, further, projected, schur }))
    }

    fn divide(&self, factor: Option<&Factor>, right: &[f64], watch: &Watch) -> Result<Vec<f64>, CoreError> {
        match factor {
            Some(factor) => {
                let mut solution = right.to_vec();
                factor.solve(&mut solution);
                Ok(solution)
            }
            None => self.strengths.solve_iteratively(right, RESIDUAL, watch),
        }
    }
}

/// The inverse of a small positive definite matrix, row by row; `None` when it is singular to rounding.
pub fn inverse(matrix: &[f64], size: usize) -> Option<Vec<f64>> {
    let lower = cholesky(matrix, matrix, size)?;
    let columns = (0..size).flat_map(|column| {
        let unit: Vec<f64> = (0..size).map(|row| f64::from(u8::from(row == column))).collect();
        solve_with(&lower, &unit)
    });
    Some(columns.collect())
}

/// The lower factor of `matrix`; `None` when a pivot is next to nothing beside the diagonal of `scale`.
fn cholesky(matrix: &[f64], scale: &[f64], size: usize) -> Option<Vec<f64>> {
    let mut lower = matrix.to_vec();
    for row in 0..size {
        for column in 0..row {
            let dot: f64 = (0..column).map(|k| lower[row * size + k] * lower[column * size + k]).sum();
            lower[row * size + column] = (lower[row * size + column] - dot) / lower[column * size + column];
        }
        let dot: f64 = (0..row).map(|k| lower[row * size + k].powi(2)).sum();
        let pivot = lower[row * size + row] - dot;
        let enough = pivot.is_finite() && pivot > SINGULAR * scale[row * size + row].abs();
        if !enough {
            return None;
        }
        lower[row * size + row] = pivot.sqrt();
    }
    Some(lower)
}

fn solve_with(lower: &[f64], right: &[f64]) -> Vec<f64> {
    let size = right.len();
    let mut solution = right.to_vec();
    for row in 0..size {
        let dot: f64 = (0..row).map(|k| lower[row * size + k] * solution[k]).sum();
        solution[row] = (solution[row] - dot) / lower[row * size + row];
    }
    for row in (0..size).rev() {
        let dot: f64 = (row + 1..size).map(|k| lower[k * size + row] * solution[k]).sum();
        solution[row] = (solution[row] - dot) / lower[row * size + row];
    }
    solution
}

fn inner(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(l, r)| l * r).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::battles::cells::Pairs;

    #[test]
    fn a_solved_step_satisfies_both_blocks() {
        let pairs = Pairs { models: 3, first: vec![0, 0, 1], second: vec![1, 2, 2] };
        let strengths = Laplacian { pairs: &pairs, weight: vec![2.0, 1.0, 3.0], extra: vec![0.5; 3] };
        let system = Bordered { strengths, border: vec![0.4, -0.1, -0.3], corner: vec![2.0] };
        let solved = system.solve(&[1.0, -0.5, 0.25], &[0.7], &Watch::default()).unwrap().unwrap();
        let [a, b, c] = solved.strengths[..] else { panic!() };
        let further = solved.further[0];
        let first = 0.5 * a + 2.0 * (a - b) + (a - c) + 0.4 * further;
        let corner = 0.4 * a - 0.1 * b - 0.3 * c + 2.0 * further;
        assert!((first - 1.0).abs() < 1e-12, "{first}");
        assert!((corner - 0.7).abs() < 1e-12, "{corner}");
    }

    #[test]
    fn a_parameter_that_nothing_determines_is_seen() {
        let pairs = Pairs { models: 2, first: vec![0], second: vec![1] };
        let strengths = Laplacian { pairs: &pairs, weight: vec![1.0], extra: vec![0.0; 2] };
        // The border is the first model's strength again.
        let system = Bordered { strengths, border: vec![1.0, -1.0], corner: vec![1.0] };
        assert!(system.solve(&[1.0, -1.0], &[1.0], &Watch::default()).unwrap().is_none());
    }

    #[test]
    fn the_inverse_of_a_small_matrix_is_its_inverse() {
        let inverse = inverse(&[4.0, 1.0, 1.0, 3.0], 2).unwrap();
        let expected = [3.0 / 11.0, -1.0 / 11.0, -1.0 / 11.0, 4.0 / 11.0];
        assert!(inverse.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15));
    }
}
