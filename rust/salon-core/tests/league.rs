//! From batches to intervals: what the whole core promises.

use salon_core::battles::aggregate::{Aggregator, Batch};
use salon_core::battles::cells::{Cells, Outcome, PairScores};
use salon_core::battles::graph::Graph;
use salon_core::cancel::Watch;
use salon_core::error::CoreError;
use salon_core::linalg::sparse_cholesky::Elimination;
use salon_core::model::bradley_terry::{Fit, Likelihood, Settings};
use salon_core::model::firth::Estimator;
use salon_core::random::Stream;
use salon_core::uncertainty::bootstrap::{Plan, bootstrap};
use salon_core::uncertainty::resample::Resampler;

const MENU: [Option<Outcome>; 3] = [Some(Outcome::Win), Some(Outcome::Loss), Some(Outcome::Tie)];
const SETTINGS: Settings = Settings { tolerance: 1e-9, max_iterations: 100, prior_ties: 0.0, ridge: 0.0 };

/// Battles among `models` models of which lower numbers are stronger.
fn columns(models: u32, battles: usize, seed: u64) -> [Vec<u32>; 3] {
    let mut stream = Stream::new(seed, 0);
    let mut columns = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..battles {
        let first = stream.below(u64::from(models)) as u32;
        let second = (first + 1 + stream.below(u64::from(models) - 1) as u32) % models;
        let odds = if first < second { 6 } else { 3 };
        let draw = stream.below(10);
        columns[0].push(first);
        columns[1].push(second);
        columns[2].push(if draw < odds { 0 } else { u32::from(draw == 9) + 1 });
    }
    columns
}

fn cells_of(models: u32, [first, second, outcome]: &[Vec<u32>; 3], cluster: Option<&[u32]>, clusters: usize) -> Cells {
    let mut aggregator = Aggregator::default();
    for chunk in 0..first.len().div_ceil(1000) {
        let rows = chunk * 1000..first.len().min((chunk + 1) * 1000);
        let batch = Batch {
            first: &first[rows.clone()],
            second: &second[rows.clone()],
            outcome: &outcome[rows.clone()],
            weight: None,
            cluster: cluster.map(|column| &column[rows.clone()]),
        };
        aggregator.add(&batch, &MENU).unwrap();
    }
    let numbers: Vec<u32> = (0..models).collect();
    let cluster_numbers: Vec<u32> = (0..clusters as u32).collect();
    aggregator.finish(models as usize, &numbers, clusters, &cluster_numbers).unwrap()
}

fn fit(cells: &Cells, settings: &Settings) -> Fit {
    let scores = cells.scores();
    let start = vec![0.0; cells.pairs().models];
    Likelihood::new(cells.pairs(), &scores, settings.prior_ties).maximise(&start, settings, &Watch::default()).unwrap()
}

#[test]
fn two_models_get_the_logarithm_of_their_odds() {
    let cells = cells_of(2, &[vec![0, 1, 0, 0], vec![1, 0, 1, 1], vec![0, 0, 0, 0]], None, 0);
    let fitted = fit(&cells, &SETTINGS);
    assert!(fitted.converged);
    assert!((fitted.log_strengths[0] - fitted.log_strengths[1] - 3.0_f64.ln()).abs() < 1e-12);
}

#[test]
fn expected_scores_equal_observed_ones_at_the_answer() {
    for models in [5, 300] {
        let cells = cells_of(models, &columns(models, 40_000, 1), None, 0);
        let fitted = fit(&cells, &SETTINGS);
        assert!(fitted.converged && fitted.gradient_norm < 1e-9, "{models}: {}", fitted.gradient_norm);
    }
}

#[test]
fn a_chain_far_wider_than_a_float_can_exponentiate_is_fitted() {
    // Each model beats the next 9,999 times of 10,000: 80 models span 720 units of log-strength.
    let mut rows = [Vec::new(), Vec::new(), Vec::new()];
    for model in 0..79 {
        for battle in 0..10_000 {
            rows[0].push(model);
            rows[1].push(model + 1);
            rows[2].push(u32::from(battle == 0));
        }
    }
    let settings = Settings { max_iterations: 2000, ..SETTINGS };
    let fitted = fit(&cells_of(80, &rows, None, 0), &settings);
    assert!(fitted.converged);
    let step = 9999.0_f64.ln();
    assert!((fitted.log_strengths[0] - fitted.log_strengths[79] - 79.0 * step).abs() < 1e-6);
}

#[test]
fn a_prior_keeps_an_unbeaten_model_finite() {
    let cells = cells_of(2, &[vec![0; 5], vec![1; 5], vec![0; 5]], None, 0);
    let fitted = fit(&cells, &Settings { prior_ties: 1.0, ..SETTINGS });
    assert!(fitted.converged);
    assert!((0.5..5.0).contains(&fitted.log_strengths[0]));
    assert!((fitted.log_strengths[0] + fitted.log_strengths[1]).abs() < 1e-9);
}

#[test]
fn the_table_and_the_sorted_rows_count_alike() {
    let rows = columns(40, 20_000, 2);
    let weights = vec![1.0; 20_000];
    let table = cells_of(40, &rows, None, 0);
    let mut aggregator = Aggregator::default();
    let batch = Batch { first: &rows[0], second: &rows[1], outcome: &rows[2], weight: Some(&weights), cluster: None };
    aggregator.add(&batch, &MENU).unwrap();
    let sorted = aggregator.finish(40, &(0..40).collect::<Vec<_>>(), 0, &[]).unwrap();
    assert!(table.iter().eq(sorted.iter()));
}

#[test]
fn the_lists_of_pairs_and_the_sorted_rows_count_alike() {
    // 6 models make long lists: among 4 clusters they count, among 100,000 they do not.
    for (models, clusters) in [(6, 4), (6, 100_000), (40, 300)] {
        let rows = columns(models, 60_000, 8);
        let mut stream = Stream::new(9, u64::from(clusters));
        let cluster: Vec<u32> = (0..60_000).map(|_| stream.below(u64::from(clusters)) as u32).collect();
        let model_number: Vec<u32> = (0..models).rev().collect();
        let cluster_number: Vec<u32> = (0..clusters).rev().collect();
        let weights = vec![1.0; 60_000];
        let counted = |weight: Option<&[f64]>, last: [u32; 2]| {
            let mut aggregator = Aggregator::default();
            for chunk in 0..6 {
                let part = chunk * 10_000..(chunk + 1) * 10_000;
                let batch = Batch {
                    first: &rows[0][part.clone()],
                    second: &rows[1][part.clone()],
                    outcome: &rows[2][part.clone()],
                    weight: weight.map(|weight| &weight[part.clone()]),
                    cluster: Some(&cluster[part.clone()]),
                };
                aggregator.add(&batch, &MENU).unwrap();
            }
            let [first, second] = [&last[..1], &last[1..]];
            let weight = weight.map(|weight| &weight[..1]);
            aggregator.add(&Batch { first, second, outcome: &[0], weight, cluster: Some(&[0]) }, &MENU).unwrap();
            let numbers: Vec<u32> = model_number.iter().copied().chain(models..5000).collect();
            aggregator.finish(5000, &numbers, clusters as usize, &cluster_number).unwrap()
        };
        // The last battle makes one of them leave its lists for rows.
        for last in [[1, 0], [0, 4999]] {
            assert!(counted(None, last).iter().eq(counted(Some(&weights), last).iter()));
        }
    }
}

#[test]
fn lists_without_numbers_for_their_codes_are_errors() {
    let batch = Batch { first: &[0, 1], second: &[1, 2], outcome: &[0, 2], weight: None, cluster: Some(&[0, 1]) };
    let finished = |model_number: &[u32], cluster_number: &[u32]| {
        let mut aggregator = Aggregator::default();
        aggregator.add(&batch, &MENU).unwrap();
        aggregator.finish(3, model_number, 2, cluster_number)
    };
    assert!(finished(&[0, 1, 2], &[0, 1]).is_ok());
    for (models, clusters) in [(&[0, 1][..], &[0, 1][..]), (&[0, 1, 3], &[0, 1]), (&[0, 1, 1], &[0, 1])] {
        assert!(matches!(finished(models, clusters), Err(CoreError::BadArgument(_))));
    }
    for clusters in [&[0][..], &[0, 2]] {
        assert!(matches!(finished(&[0, 1, 2], clusters), Err(CoreError::BadArgument(_))));
    }
}

#[test]
fn renumbering_models_turns_outcomes_around() {
    let batch = Batch { first: &[0, 1], second: &[1, 2], outcome: &[0, 2], weight: None, cluster: None };
    let mut aggregator = Aggregator::default();
    aggregator.add(&batch, &MENU).unwrap();
    let cells = aggregator.finish(3, &[2, 1, 0], 0, &[]).unwrap();
    let seen: Vec<_> = cells.iter().map(|cell| (cell.first, cell.second, cell.outcome)).collect();
    assert_eq!(seen, [(0, 1, Outcome::Tie), (1, 2, Outcome::Loss)]);
}

#[test]
fn wrong_rows_are_errors_and_never_panics() {
    let good = Batch { first: &[0], second: &[1], outcome: &[0], weight: None, cluster: None };
    let wrong = [
        Batch { second: &[0], ..good },
        Batch { outcome: &[9], ..good },
        Batch { second: &[], ..good },
        Batch { first: &[u32::MAX], ..good },
        Batch { weight: Some(&[f64::NAN]), ..good },
        Batch { weight: Some(&[-1.0]), ..good },
        Batch { cluster: Some(&[]), ..good },
    ];
    for batch in wrong {
        assert!(Aggregator::default().add(&batch, &MENU).is_err(), "{batch:?}");
    }
    for numbers in [&[0_u32][..], &[0, 7], &[0, 0]] {
        let mut aggregator = Aggregator::default();
        aggregator.add(&good, &MENU).unwrap();
        assert!(aggregator.finish(2, numbers, 0, &[]).is_err());
    }
}

#[test]
fn strong_components_agree_with_a_search_from_every_model() {
    for seed in 0..200 {
        let models = 2 + (seed % 7) as u32;
        let cells = cells_of(models, &columns(models, 1 + (seed % 9) as usize, seed), None, 0);
        let (scores, size) = (cells.scores(), models as usize);
        let mut reach = vec![vec![false; size]; size];
        (0..size).for_each(|model| reach[model][model] = true);
        for pair in 0..cells.pairs().len() {
            let (a, b) = (cells.pairs().first[pair] as usize, cells.pairs().second[pair] as usize);
            reach[a][b] |= scores.score[pair] > 0.0;
            reach[b][a] |= scores.score[pair] < scores.matches[pair];
        }
        for middle in 0..size {
            for from in 0..size {
                for to in 0..size {
                    reach[from][to] |= reach[from][middle] && reach[middle][to];
                }
            }
        }
        let graph = Graph::new(cells.pairs());
        let component = graph.components(&scores);
        for a in 0..size {
            for b in 0..size {
                assert_eq!(component[a] == component[b], reach[a][b] && reach[b][a]);
            }
        }
        let whole = component.iter().all(|&number| number == 0);
        assert_eq!(graph.is_strongly_connected(&scores, &vec![true; size]), whole);
    }
}

#[test]
fn replicates_hold_as_many_battles_as_there_are_and_scatter_like_a_multinomial() {
    for battles in [1_000, 50_000] {
        let cells = cells_of(4, &columns(4, battles, 3), None, 0);
        let (resampler, observed) = (Resampler::new(&cells, false), cells.scores());
        let mut lanes = [observed.clone()];
        let (mut sum, mut squares) = (0.0, 0.0);
        for index in 0..4_000 {
            resampler.draw(5, index, &mut lanes);
            assert_eq!(lanes[0].matches.iter().sum::<f64>(), battles as f64);
            sum += lanes[0].matches[0];
            squares += lanes[0].matches[0].powi(2);
        }
        let share = observed.matches[0] / battles as f64;
        let variance = squares / 4_000.0 - (sum / 4_000.0_f64).powi(2);
        let expected = battles as f64 * share * (1.0 - share);
        assert!((sum / 4_000.0 - observed.matches[0]).abs() < 5.0 * (expected / 4_000.0).sqrt());
        assert!((variance / expected - 1.0).abs() < 0.12, "{variance} {expected}");
    }
}

#[test]
fn cluster_replicates_take_whole_clusters() {
    let rows = columns(3, 300, 4);
    let cluster: Vec<u32> = (0..300).map(|row| row / 100).collect();
    let cells = cells_of(3, &rows, Some(&cluster), 3);
    let mut lanes = [cells.scores()];
    for index in 0..50 {
        Resampler::new(&cells, true).draw(0, index, &mut lanes);
        assert_eq!(lanes[0].matches.iter().sum::<f64>(), 300.0);
    }
}

#[test]
fn the_bootstrap_is_the_same_on_any_number_of_threads() {
    let rows = columns(12, 3_000, 6);
    let cluster: Vec<u32> = (0..3_000).map(|row| row % 40).collect();
    let cells = cells_of(12, &rows, Some(&cluster), 40);
    let estimate = fit(&cells, &SETTINGS).log_strengths;
    for by_cluster in [false, true] {
        let run = |threads| {
            let plan =
                Plan { replicates: 53, seed: 9, by_cluster, baseline: 0, threads, estimator: Estimator::default() };
            bootstrap(&cells, &estimate, &SETTINGS, &plan, &Watch::default()).unwrap().log_strengths
        };
        let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        let one = bits(run(1));
        assert_eq!(one, bits(run(2)));
        assert_eq!(one, bits(run(7)));
    }
}

#[test]
fn replicates_fitted_together_are_those_fitted_alone() {
    // A ring, in which each model met four others.
    let mut ring = columns(90, 9_000, 6);
    ring[1] = ring[0].iter().zip((1..=2).cycle()).map(|(first, steps)| (first + steps) % 90).collect();
    // Most models never met, twice; all did; and all did with so many models that there is no dense Newton step.
    for (models, rows, prior_ties, is_sparse) in [
        (90, columns(90, 150, 3), 1.0, true),
        (90, ring, 0.0, true),
        (12, columns(12, 4_000, 3), 0.0, false),
        (260, columns(260, 15_000, 3), 0.5, false),
    ] {
        let cells = cells_of(models, &rows, None, 0);
        assert_eq!(Elimination::plan(cells.pairs()).is_some(), is_sparse);
        let settings = Settings { prior_ties, ..SETTINGS };
        let estimate = fit(&cells, &settings).log_strengths;
        let plan = Plan {
            replicates: 11,
            seed: 4,
            by_cluster: false,
            baseline: 0,
            threads: 2,
            estimator: Estimator::default(),
        };
        let all = bootstrap(&cells, &estimate, &settings, &plan, &Watch::default()).unwrap();
        assert_eq!(all.unconverged, 0);
        let mut compared = 0;
        for (index, row) in all.log_strengths.chunks(models as usize).enumerate() {
            let mut scores = [PairScores::zeros(cells.pairs().len())];
            Resampler::new(&cells, false).draw(plan.seed, index as u64, &mut scores);
            let alone = Likelihood::new(cells.pairs(), &scores[0], prior_ties);
            let alone = alone.maximise(&estimate, &settings, &Watch::default()).unwrap().log_strengths;
            for (together, alone) in row.iter().zip(alone).filter(|(together, _)| together.is_finite()) {
                assert!((together - alone).abs() < 1e-7, "{together} {alone}");
                compared += 1;
            }
        }
        assert!(compared > models as usize);
    }
}

#[test]
fn degenerate_replicates_are_counted_and_not_a_number() {
    // One win each: half of all replicates draw the same battle twice.
    let cells = cells_of(2, &[vec![0, 1], vec![1, 0], vec![0, 0]], None, 0);
    let plan =
        Plan { replicates: 400, seed: 0, by_cluster: false, baseline: 0, threads: 2, estimator: Estimator::default() };
    let found = bootstrap(&cells, &[0.0, 0.0], &SETTINGS, &plan, &Watch::default()).unwrap();
    let missing = found.log_strengths.iter().filter(|value| value.is_nan()).count();
    assert_eq!(missing, 2 * found.degenerate);
    assert!((150..250).contains(&found.degenerate));
}

#[test]
fn cancelled_work_stops() {
    let cells = cells_of(5, &columns(5, 1_000, 8), None, 0);
    let watch = Watch::default();
    watch.cancel();
    let plan = Plan {
        replicates: 1_000_000,
        seed: 0,
        by_cluster: false,
        baseline: 0,
        threads: 2,
        estimator: Estimator::default(),
    };
    let outcome = bootstrap(&cells, &[0.0; 5], &SETTINGS, &plan, &watch);
    assert_eq!(outcome.err(), Some(CoreError::Cancelled));
}
