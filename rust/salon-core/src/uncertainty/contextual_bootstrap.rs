//! The bootstrap distribution of a model with covariates: strengths and coefficients of every resampled league.

use crate::battles::cells::PairScores;
use crate::battles::graph::Graph;
use crate::cancel::Watch;
use crate::error::CoreError;
use crate::model::bradley_terry::Settings;
use crate::model::contextual::{Design, Rows, fit_nearby};
use crate::uncertainty::bootstrap::{Ending, Endings, Plan, Replicates};
use crate::uncertainty::row_resample::{Grouping, RowSampler};
use crate::workers::in_blocks;

/// Log-odds of a row beyond which a fit that did not converge is on its way to infinity.
const CERTAIN: f64 = 20.0;

/// Resample rows, by battles or by groups, and fit each replicate from `estimate` (θ) and `coefficients` (β), the fit to
/// all of them. `plan.by_cluster` says whether there are groupings.
///
/// Rows of the result hold θ, then β. NaN is as for [`crate::uncertainty::bootstrap`]; a replicate is degenerate when no finite
/// answer exists, for reasons of the strengths or of the covariates.
///
/// # Errors
/// [`CoreError::Cancelled`]; [`CoreError`] for rows, groups or an estimate that do not fit together.
pub fn bootstrap_contextual(
    rows: &Rows<'_>,
    (estimate, coefficients): (&[f64], &[f64]),
    groupings: Vec<Grouping>,
    settings: &Settings,
    plan: &Plan,
    watch: &Watch,
) -> Result<Replicates, CoreError> {
    let design = Design::new(rows)?;
    let (models, size) = (rows.models, design.size);
    let fits = estimate.len() == models && coefficients.len() == size && plan.baseline < models && plan.threads > 0;
    if !fits || plan.by_cluster == groupings.is_empty() {
        return Err(CoreError::BadArgument("the estimate, the baseline, the threads or the groups do not fit"));
    }
    let counts: Vec<u64> = rows.count.iter().map(|&count| count as u64).collect();
    let sampler = RowSampler::new(&counts, groupings)?;
    let graph = Graph::new(&design.pairs);
    let fit = |times: &[f64], row: &mut [f64]| -> Result<Ending, CoreError> {
        let drawn = Rows { count: times, ..*rows };
        let scores = scores_of(&drawn, &design);
        let present: Vec<bool> = scores.per_model(&design.pairs).0.iter().map(|&matches| matches > 0.0).collect();
        if settings.prior_ties == 0.0 && !graph.is_strongly_connected(&scores, &present) {
            return Ok(Ending::Degenerate);
        }
        let found = fit_nearby(&drawn, &design, settings, (estimate, coefficients), watch)?;
        if !found.converged && (!found.determined || found.largest_log_odds > CERTAIN) {
            return Ok(Ending::Degenerate);
        }
        let joined = graph.joined_to(plan.baseline, &scores);
        for ((to, value), is) in row.iter_mut().zip(found.log_strengths).zip(joined) {
            *to = if is { value } else { f64::NAN };
        }
        row[models..].copy_from_slice(&found.coefficients);
        Ok(if found.converged { Ending::Converged } else { Ending::Unconverged })
    };
    let width = models + size;
    let mut values = vec![f64::NAN; plan.replicates * width];
    let endings = Endings::default();
    in_blocks(
        &mut values,
        width,
        plan.threads,
        || vec![0.0; counts.len()],
        |times, index, row| {
            watch.check()?;
            sampler.draw(plan.seed, index as u64, times);
            endings.count(fit(times, row)?);
            watch.advance(1);
            Ok(())
        },
    )?;
    Ok(endings.of(values))
}

fn scores_of(rows: &Rows<'_>, design: &Design) -> PairScores {
    let mut scores = PairScores::zeros(design.pairs.len());
    for row in 0..rows.first.len() {
        let (pair, mass) = (design.pair[row] as usize, rows.count[row] * rows.weight[row]);
        let share = if rows.first[row] < rows.second[row] { rows.score[row] } else { 1.0 - rows.score[row] };
        scores.matches[pair] += mass;
        scores.score[pair] += mass * share;
    }
    scores
}
