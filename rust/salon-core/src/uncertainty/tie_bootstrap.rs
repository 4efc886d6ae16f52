//! The bootstrap distribution of a tie model: strengths and tie parameter of every resampled league.

use crate::battles::cells::{Cells, PairScores};
use crate::battles::graph::Graph;
use crate::cancel::Watch;
use crate::error::CoreError;
use crate::model::bradley_terry::Settings;
use crate::model::ties::{Outcomes, TieModel, fit_outcomes, is_decisive, outcome_number};
use crate::uncertainty::bootstrap::{Ending, Endings, Plan, Replicates};
use crate::uncertainty::row_resample::RowSampler;
use crate::workers::in_blocks;

/// Resample, and fit each replicate from `estimate` (θ) and `tie` (ln ν or ln κ), the fit to all battles.
///
/// Rows hold θ, and last ν or κ. NaN is as for [`crate::uncertainty::bootstrap`]; a replicate is degenerate when no finite answer
/// exists, for reasons of the strengths or of the tie parameter.
///
/// # Errors
/// [`CoreError::Cancelled`]; [`CoreError::BadArgument`] as for [`crate::uncertainty::bootstrap::bootstrap`].
pub fn bootstrap_ties(
    cells: &Cells,
    model: TieModel,
    estimate: &[f64],
    tie: f64,
    settings: &Settings,
    plan: &Plan,
    watch: &Watch,
) -> Result<Replicates, CoreError> {
    let models = cells.pairs().models;
    if estimate.len() != models || plan.baseline >= models || plan.threads == 0 {
        return Err(CoreError::BadArgument("the estimate, the baseline or the number of threads does not fit"));
    }
    let plain = (!plan.by_cluster && cells.clusters() > 0).then(|| cells.without_clusters());
    let cells = plain.as_ref().unwrap_or(cells);
    let sampler = RowSampler::of_cells(cells, plan.by_cluster)?;
    let graph = Graph::new(cells.pairs());
    let fit = |times: &[f64], row: &mut [f64]| -> Result<Ending, CoreError> {
        watch.check()?;
        let outcomes = outcomes_of(cells, times);
        let scores = scores_of(&outcomes);
        let present: Vec<bool> = scores.per_model(cells.pairs()).0.iter().map(|&matches| matches > 0.0).collect();
        let won = outcomes.iter().any(|[won, lost, _]| *won > 0.0 || *lost > 0.0);
        let tied = outcomes.iter().any(|[_, _, tied]| *tied > 0.0);
        let finite = settings.prior_ties > 0.0
            || graph.is_strongly_connected(&scores, &present)
                && (!tied || is_decisive(cells.pairs(), &outcomes, watch)?);
        if !won || !finite {
            return Ok(Ending::Degenerate);
        }
        let joined = graph.joined_to(plan.baseline, &scores);
        let found = fit_outcomes(cells.pairs(), outcomes, model, settings, (estimate, tie), watch)?;
        for ((to, value), is) in row.iter_mut().zip(found.log_strengths).zip(joined) {
            *to = if is { value } else { f64::NAN };
        }
        row[models] = found.tie.exp();
        Ok(if found.converged { Ending::Converged } else { Ending::Unconverged })
    };
    let mut values = vec![f64::NAN; plan.replicates * (models + 1)];
    let endings = Endings::default();
    let times = || vec![0.0; cells.len()];
    in_blocks(&mut values, models + 1, plan.threads, times, |times, index, row| {
        sampler.draw(plan.seed, index as u64, times);
        endings.count(fit(times, row)?);
        watch.advance(1);
        Ok(())
    })?;
    Ok(endings.of(values))
}

fn outcomes_of(cells: &Cells, times: &[f64]) -> Outcomes {
    let mut outcomes = vec![[0.0; 3]; cells.pairs().len()];
    let mut position = 0;
    for (pair, outcome) in outcomes.iter_mut().enumerate() {
        for cell in cells.of_pair(pair) {
            outcome[outcome_number(cell.outcome)] += times[position] * cell.weight;
            position += 1;
        }
    }
    outcomes
}

fn scores_of(outcomes: &Outcomes) -> PairScores {
    PairScores {
        matches: outcomes.iter().map(|counts| counts.iter().sum()).collect(),
        score: outcomes.iter().map(|[won, _, tied]| won + 0.5 * tied).collect(),
    }
}
