//! Firth's bias reduction: the strengths that maximise the likelihood times the square root of the determinant of its
//! curvature (Jeffreys' prior).
//!
//! Source: Firth 1993, doi:10.1093/biomet/80.1.27; for logistic likelihoods the estimate is finite wherever the curvature
//! has full rank (Kosmidis & Firth 2021, doi:10.1093/biomet/asaa052), here as soon as battles connect all models.
//! The score of the penalised likelihood is that of a likelihood in which every pair has h further drawn battles, with
//! h = m p (1 − p) (e_i − e_j)ᵀ H⁺ (e_i − e_j), the leverage of the pair. All h together are the number of models less one.
//! So each round takes the leverages at θ, and a few damped Newton steps with the drawn battles added.

use crate::battles::cells::{PairScores, Pairs};
use crate::cancel::Watch;
use crate::error::CoreError;
use crate::linalg::sparse_cholesky::Elimination;
use crate::model::bradley_terry::{Fit, Likelihood, Settings};
use crate::uncertainty::resample::LANES;

/// What is maximised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Estimator {
    /// The likelihood, with its prior.
    #[default]
    MaximumLikelihood,
    /// The likelihood times the square root of the determinant of its curvature; without another prior.
    Firth,
}

/// Most Newton steps with the same leverages, which cost several of them.
const STEPS: usize = 4;

/// Maximise the penalised likelihood of battles that connect all models.
///
/// # Errors
/// [`CoreError::Cancelled`].
pub fn maximise(
    pairs: &Pairs,
    scores: &PairScores,
    elimination: Option<&Elimination>,
    start: &[f64],
    settings: &Settings,
    watch: &Watch,
) -> Result<Fit, CoreError> {
    let few = Settings { max_iterations: STEPS, prior_ties: 0.0, ..*settings };
    let plain = Likelihood::new(pairs, scores, 0.0).eliminated(elimination);
    let mut theta = start.to_vec();
    let mut iterations = 0;
    loop {
        iterations += 1;
        let drawn = leverages(&plain, &theta, watch)?;
        let matches = scores.matches.iter().zip(&drawn).map(|(matches, drawn)| matches + drawn).collect();
        let score = scores.score.iter().zip(&drawn).map(|(score, drawn)| score + 0.5 * drawn).collect();
        let augmented = PairScores { matches, score };
        let fit = Likelihood::new(pairs, &augmented, 0.0).eliminated(elimination).maximise(&theta, &few, watch)?;
        if fit.converged && fit.iterations == 1 || fit.iterations == 0 || iterations >= settings.max_iterations {
            return Ok(Fit { iterations, converged: fit.converged && fit.iterations == 1, ..fit });
        }
        theta = fit.log_strengths;
    }
}

/// The same where battles need not connect all models: NaN for those whom no chain of battles joins to the others.
///
/// # Errors
/// [`CoreError::Cancelled`].
pub(crate) fn maximise_joined(
    pairs: &Pairs,
    scores: &PairScores,
    joined: &[bool],
    start: &[f64],
    settings: &Settings,
    watch: &Watch,
) -> Result<Fit, CoreError> {
    let members: Vec<usize> = (0..joined.len()).filter(|&model| joined[model]).collect();
    let mut number = vec![0; joined.len()];
    members.iter().enumerate().for_each(|(new, &old)| number[old] = new as u32);
    let mut part = Pairs { models: members.len(), ..Pairs::default() };
    let mut part_scores = PairScores::default();
    for (pair, (&first, &second)) in pairs.first.iter().zip(&pairs.second).enumerate() {
        if joined[first as usize] && joined[second as usize] && scores.matches[pair] > 0.0 {
            part.first.push(number[first as usize]);
            part.second.push(number[second as usize]);
            part_scores.matches.push(scores.matches[pair]);
            part_scores.score.push(scores.score[pair]);
        }
    }
    let begin: Vec<f64> = members.iter().map(|&old| start[old]).collect();
    let fit = maximise(&part, &part_scores, Elimination::plan(&part).as_ref(), &begin, settings, watch)?;
    let mut log_strengths = vec![f64::NAN; joined.len()];
    members.iter().zip(&fit.log_strengths).for_each(|(&old, &value)| log_strengths[old] = value);
    Ok(Fit { log_strengths, ..fit })
}

/// The leverage of each pair at θ, from 0 to 1.
fn leverages(likelihood: &Likelihood<'_>, theta: &[f64], watch: &Watch) -> Result<Vec<f64>, CoreError> {
    let pairs = likelihood.pairs();
    let curvature = likelihood.curvature_at(theta);
    let factor = likelihood.factored(&curvature);
    let mut variance = vec![0.0; pairs.len()];
    let mut of_model = vec![Vec::new(); pairs.models];
    for (pair, (&first, &second)) in pairs.first.iter().zip(&pairs.second).enumerate() {
        of_model[first as usize].push((pair, second as usize));
        of_model[second as usize].push((pair, first as usize));
    }
    let mean = 1.0 / pairs.models as f64;
    for begin in (0..pairs.models).step_by(LANES) {
        watch.check()?;
        // Eight columns of the pseudo-inverse, each up to a constant, which no difference of its entries sees.
        let mut columns = vec![[-mean; LANES]; pairs.models];
        for (lane, column) in columns.iter_mut().skip(begin).take(LANES).enumerate() {
            column[lane] += 1.0;
        }
        factor.solve_lanes(&mut columns);
        for (lane, model) in (begin..pairs.models.min(begin + LANES)).enumerate() {
            for &(pair, other) in &of_model[model] {
                variance[pair] += columns[model][lane] - columns[other][lane];
            }
        }
    }
    Ok(curvature.weight.iter().zip(&variance).map(|(weight, variance)| (weight * variance).clamp(0.0, 1.0)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(models: u32) -> (Pairs, PairScores) {
        let ends = (1..models).map(|second| (second - 1, second)).chain([(0, models - 1)]);
        let (first, second): (Vec<u32>, Vec<u32>) = ends.unzip();
        let matches: Vec<f64> = (0..models).map(|pair| 1.0 + f64::from(pair % 3)).collect();
        (Pairs { models: models as usize, first, second }, PairScores { score: matches.clone(), matches })
    }

    #[test]
    fn leverages_add_up_to_the_models_less_one() {
        for models in [3, 8, 9, 20] {
            let (pairs, scores) = ring(models);
            let theta: Vec<f64> = (0..models).map(|model| f64::from(model * model % 7) / 3.0).collect();
            for plan in [None, Elimination::plan(&pairs)] {
                let likelihood = Likelihood::new(&pairs, &scores, 0.0).eliminated(plan.as_ref());
                let sum: f64 = leverages(&likelihood, &theta, &Watch::default()).unwrap().iter().sum();
                assert!((sum - f64::from(models - 1)).abs() < 1e-9, "{models} {sum}");
            }
        }
    }

    #[test]
    fn a_model_without_battles_changes_no_other_and_has_no_strength() {
        let (pairs, scores) = ring(5);
        let settings = Settings { tolerance: 1e-10, max_iterations: 100, prior_ties: 0.0, ridge: 0.0 };
        let alone = maximise(&pairs, &scores, None, &[0.0; 5], &settings, &Watch::default()).unwrap();
        let more = Pairs { models: 6, ..pairs };
        let joined = [true, true, true, true, true, false];
        let part = maximise_joined(&more, &scores, &joined, &[0.0; 6], &settings, &Watch::default()).unwrap();
        assert!(alone.converged && part.converged && part.log_strengths[5].is_nan());
        for (one, other) in alone.log_strengths.iter().zip(&part.log_strengths) {
            assert!((one - other).abs() < 1e-9, "{one} {other}");
        }
    }
}
