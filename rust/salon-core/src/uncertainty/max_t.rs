//! How far the farthest of many differences lies from its centre: what simultaneous statements are made of.

use crate::cancel::Watch;
use crate::error::CoreError;

/// For each row of deviations d (one per model), the largest (d_i − d_j) · `inverse[i, j]` over all i ≠ j; −∞ for a row
/// without any. An entry of 0 in `inverse` leaves its ordered pair out, and NaN in d its model.
///
/// `deviations` is rows × models and `inverse` models × models, row by row; entries of `inverse` are not negative.
///
/// # Errors
/// [`CoreError::BadArgument`] for shapes that do not fit, [`CoreError::Cancelled`].
pub fn largest_gaps(deviations: &[f64], models: usize, inverse: &[f64], watch: &Watch) -> Result<Vec<f64>, CoreError> {
    if models == 0 || inverse.len() != models * models || deviations.len() % models != 0 {
        return Err(CoreError::BadArgument("deviations and inverse errors have different models"));
    }
    // The pairs that count, as (i, j, 1/se): once per call, not once per row.
    let pairs: Vec<(u32, u32, f64)> = (0..models * models)
        .filter(|&at| at / models != at % models && inverse[at] > 0.0)
        .map(|at| ((at / models) as u32, (at % models) as u32, inverse[at]))
        .collect();
    let mut largest = Vec::with_capacity(deviations.len() / models);
    for row in deviations.chunks(models) {
        watch.check()?;
        let mut most = f64::NEG_INFINITY;
        for &(i, j, scale) in &pairs {
            // A comparison with NaN is false, so that unknown models are left out.
            let gap = (row[i as usize] - row[j as usize]) * scale;
            if gap > most {
                most = gap;
            }
        }
        largest.push(most);
    }
    Ok(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_that_is_left_out_and_a_model_that_is_unknown_do_not_count() {
        let deviations = [3.0, 0.0, -1.0, f64::NAN, 2.0, 0.0];
        let all = largest_gaps(&deviations, 3, &[1.0; 9], &Watch::default()).unwrap();
        assert_eq!(all, [4.0, 2.0]);
        let mut some = [1.0; 9];
        (some[2], some[5]) = (0.0, 0.0); // nobody is held against the last model
        assert_eq!(largest_gaps(&deviations, 3, &some, &Watch::default()).unwrap(), [3.0, -2.0]);
        assert_eq!(largest_gaps(&deviations, 3, &[0.0; 9], &Watch::default()).unwrap(), [f64::NEG_INFINITY; 2]);
    }
}
