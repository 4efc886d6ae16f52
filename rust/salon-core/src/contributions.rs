//! What each cluster (a prompt) contributes to the ratings: the schedule stays, the outcomes of all battles outside the
//! cluster become draws, and the league is fitted again (MEF, Eq. 2 and the paragraph before it).
//!
//! Every such league lies close to the league of draws alone, whose answer is θ = 0. Its curvature there is factored once and
//! serves all clusters; a few chord steps take each of them to its exact answer. Whatever the clusters, a finite answer exists
//! when the real league has one: a group of models that wins all battles against the rest, with everything outside the
//! cluster drawn, wins them all in the real league too.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::battles::cells::{Cells, PairScores};
use crate::cancel::Watch;
use crate::error::CoreError;
use crate::linalg::sparse_cholesky::Elimination;
use crate::model::bradley_terry::{Likelihood, Settings};
use crate::uncertainty::sandwich::by_group;

/// Clusters that one worker takes at a time.
const BLOCK: usize = 16;

/// All contributions.
#[derive(Debug, Clone)]
pub struct Contributions {
    /// θ, `clusters × models`, row by row.
    pub log_strengths: Vec<f64>,
    /// Clusters whose fit did not reach the tolerance; their values are kept.
    pub unconverged: usize,
}

/// Fit the league of every cluster. The result does not depend on the number of threads.
///
/// # Errors
/// [`CoreError::Cancelled`]; [`CoreError::BadArgument`] without clusters or threads.
pub fn contributions(
    cells: &Cells,
    settings: &Settings,
    threads: usize,
    watch: &Watch,
) -> Result<Contributions, CoreError> {
    if cells.clusters() == 0 || threads == 0 {
        return Err(CoreError::BadArgument("contributions need clusters, and at least one thread"));
    }
    let models = cells.pairs().models;
    let itself: Vec<u32> = (0..cells.clusters() as u32).collect();
    let (start, order) = by_group(cells, &itself, cells.clusters());
    let matches = cells.scores().matches;
    let drawn = PairScores { score: matches.iter().map(|met| 0.5 * met).collect(), matches };
    let zero = vec![0.0; models];
    let elimination = Elimination::plan(cells.pairs());
    let (pairs, prior) = (cells.pairs(), settings.prior_ties);
    let chord = Likelihood::new(pairs, &drawn, prior).eliminated(elimination.as_ref()).chord(&zero);

    let mut log_strengths = vec![0.0; cells.clusters() * models];
    let blocks: Vec<Mutex<&mut [f64]>> = log_strengths.chunks_mut(BLOCK * models.max(1)).map(Mutex::new).collect();
    let (next, unconverged) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let worker = || -> Result<(), CoreError> {
        let mut scores = drawn.clone();
        loop {
            let block = next.fetch_add(1, Ordering::Relaxed);
            let Some(Ok(mut rows)) = blocks.get(block).map(Mutex::try_lock) else {
                return Ok(());
            };
            for (offset, row) in rows.chunks_mut(models).enumerate() {
                watch.check()?;
                let cluster = block * BLOCK + offset;
                let own = &order[start[cluster]..start[cluster + 1]];
                for place in own {
                    let cell = cells.cell(place.pair as usize, place.position as usize);
                    let change = cell.count as f64 * cell.weight * (cell.outcome.score() - 0.5);
                    scores.score[place.pair as usize] += change;
                }
                let likelihood = Likelihood::new(pairs, &scores, prior).eliminated(elimination.as_ref());
                let (theta, converged) = likelihood.maximise_nearby(&zero, chord.as_ref(), settings, watch)?;
                row.copy_from_slice(&theta);
                unconverged.fetch_add(usize::from(!converged), Ordering::Relaxed);
                for place in own {
                    // Put back, not subtracted: no rounding travels from one cluster to the next.
                    let pair = place.pair as usize;
                    scores.score[pair] = drawn.score[pair];
                }
                watch.advance(1);
            }
        }
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(worker)).collect();
        let mut outcome = worker();
        for other in others {
            outcome = outcome.and(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        outcome
    })?;
    drop(blocks);
    Ok(Contributions { log_strengths, unconverged: unconverged.into_inner() })
}
