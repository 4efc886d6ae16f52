//! Influences, crossed clusters, contributions and parts: what the core promises about uncertainty.

use salon_core::battles::aggregate::{Aggregator, Batch};
use salon_core::battles::cells::{Cells, Outcome, PairScores};
use salon_core::battles::two_way::{Crosser, Crossing};
use salon_core::cancel::Watch;
use salon_core::contributions::contributions;
use salon_core::error::CoreError;
use salon_core::model::bradley_terry::{Likelihood, Settings};
use salon_core::random::Stream;
use salon_core::uncertainty::resample::Resampler;
use salon_core::uncertainty::sandwich::{information, score_products, third_moments};

const MENU: [Option<Outcome>; 3] = [Some(Outcome::Win), Some(Outcome::Loss), Some(Outcome::Tie)];
const SETTINGS: Settings = Settings { tolerance: 1e-11, max_iterations: 100, prior_ties: 0.0, ridge: 0.0 };
const MODELS: u32 = 5;
const CLUSTERS: usize = 12;

/// Random battles among five models, in twelve clusters.
fn league(battles: usize, seed: u64) -> Cells {
    let mut stream = Stream::new(seed, 0);
    let mut columns: [Vec<u32>; 4] = Default::default();
    for battle in 0..battles {
        let first = stream.below(u64::from(MODELS)) as u32;
        let second = (first + 1 + stream.below(u64::from(MODELS) - 1) as u32) % MODELS;
        let outcome = if stream.below(10) < if first < second { 6 } else { 3 } { 0 } else { 1 + (battle % 2) as u32 };
        let cluster = (battle % CLUSTERS) as u32;
        for (column, value) in columns.iter_mut().zip([first, second, outcome, cluster]) {
            column.push(value);
        }
    }
    let [first, second, outcome, cluster] = &columns;
    let mut aggregator = Aggregator::default();
    let batch = Batch { first, second, outcome, weight: None, cluster: Some(cluster) };
    aggregator.add(&batch, &MENU).unwrap();
    let numbers: Vec<u32> = (0..MODELS).collect();
    let cluster_numbers: Vec<u32> = (0..CLUSTERS as u32).collect();
    aggregator.finish(MODELS as usize, &numbers, CLUSTERS, &cluster_numbers).unwrap()
}

fn fitted(cells: &Cells) -> Vec<f64> {
    let scores = cells.scores();
    let likelihood = Likelihood::new(cells.pairs(), &scores, 0.0);
    likelihood.maximise(&[0.0; MODELS as usize], &SETTINGS, &Watch::default()).unwrap().log_strengths
}

fn crossing() -> Crossing {
    let first = (0..CLUSTERS as u32).map(|cluster| cluster / 4).collect();
    let second = (0..CLUSTERS as u32).map(|cluster| cluster % 4).collect();
    Crossing { first, second, sizes: [3, 4] }
}

#[test]
fn scores_of_all_battles_together_vanish_at_the_estimate() {
    let cells = league(900, 1);
    let theta = fitted(&cells);
    let one_group = vec![0; CLUSTERS];
    let products = score_products(&cells, &theta, Some((&one_group, 1)), &Watch::default()).unwrap();
    assert!(products.iter().all(|value| value.abs() < 1e-12), "{products:?}");
}

#[test]
fn rows_of_information_and_of_products_sum_to_zero() {
    let (cells, theta) = (league(900, 2), [0.3, -0.1, 0.0, 0.4, -0.6]);
    let group: Vec<u32> = (0..CLUSTERS as u32).collect();
    let watch = Watch::default();
    for matrix in [
        information(&cells, &theta, 0.0).unwrap(),
        score_products(&cells, &theta, None, &watch).unwrap(),
        score_products(&cells, &theta, Some((&group, CLUSTERS)), &watch).unwrap(),
    ] {
        assert!(matrix.chunks(MODELS as usize).all(|row| row.iter().sum::<f64>().abs() < 1e-9));
    }
}

#[test]
fn a_prior_adds_to_the_diagonal_alone() {
    let (cells, theta) = (league(300, 3), [0.0; MODELS as usize]);
    let (without, with) = (information(&cells, &theta, 0.0).unwrap(), information(&cells, &theta, 4.0).unwrap());
    for (position, (before, after)) in without.iter().zip(&with).enumerate() {
        let expected = if position % (MODELS as usize + 1) == 0 { 1.0 } else { 0.0 };
        assert!((after - before - expected).abs() < 1e-12);
    }
}

#[test]
fn wrong_lengths_are_refused_and_a_cancelled_watch_stops() {
    let cells = league(100, 4);
    let (theta, watch) = ([0.0; MODELS as usize], Watch::default());
    assert!(matches!(information(&cells, &theta[1..], 0.0), Err(CoreError::BadArgument(_))));
    assert!(matches!(score_products(&cells, &theta, Some((&[0], 1)), &watch), Err(CoreError::BadArgument(_))));
    assert!(matches!(third_moments(&cells, &theta, None, &[1.0], &watch), Err(CoreError::BadArgument(_))));
    assert!(matches!(contributions(&cells, &SETTINGS, 0, &watch), Err(CoreError::BadArgument(_))));
    let short = Crossing { first: vec![0], second: vec![0], sizes: [1, 1] };
    assert!(matches!(cells.clone().crossed(short), Err(CoreError::BadArgument(_))));
    assert!(matches!(cells.clone().crossed(Crossing { sizes: [3, 3], ..crossing() }), Err(CoreError::BadArgument(_))));
    watch.cancel();
    assert_eq!(contributions(&cells, &SETTINGS, 1, &watch).unwrap_err(), CoreError::Cancelled);
    let group = vec![0; CLUSTERS];
    assert_eq!(score_products(&cells, &theta, Some((&group, 1)), &watch).unwrap_err(), CoreError::Cancelled);
}

#[test]
fn contributions_are_fits_with_all_other_battles_drawn_on_any_number_of_threads() {
    let cells = league(900, 5);
    let found = contributions(&cells, &SETTINGS, 3, &Watch::default()).unwrap();
    assert_eq!(found.unconverged, 0);
    assert_eq!(found.log_strengths, contributions(&cells, &SETTINGS, 1, &Watch::default()).unwrap().log_strengths);
    for (cluster, row) in found.log_strengths.chunks(MODELS as usize).enumerate() {
        let mut scores = cells.scores();
        scores.score = scores.matches.iter().map(|met| 0.5 * met).collect();
        for pair in 0..cells.pairs().len() {
            for cell in cells.of_pair(pair).filter(|cell| cell.cluster as usize == cluster) {
                scores.score[pair] += cell.count as f64 * (cell.outcome.score() - 0.5);
            }
        }
        let likelihood = Likelihood::new(cells.pairs(), &scores, 0.0);
        let exact = likelihood.maximise(&[0.0; MODELS as usize], &SETTINGS, &Watch::default()).unwrap();
        assert!(row.iter().zip(&exact.log_strengths).all(|(a, b)| (a - b).abs() < 1e-9));
    }
}

#[test]
fn crossed_clusters_are_drawn_as_products_of_both_columns() {
    let cells = league(600, 6).crossed(crossing()).unwrap();
    let sampler = Resampler::new(&cells, true);
    let mut lanes: Vec<PairScores> = (0..8).map(|_| PairScores::zeros(cells.pairs().len())).collect();
    let mut total = 0.0;
    for first in (0..800).step_by(8) {
        sampler.draw(9, first, &mut lanes);
        total += lanes.iter().flat_map(|lane| &lane.matches).sum::<f64>();
    }
    // Each column draws as many values as it has, so the product of both is 1 on average.
    assert!((total / 800.0 / 600.0 - 1.0).abs() < 0.05, "{total}");
    let mut alone = [PairScores::zeros(cells.pairs().len())];
    sampler.draw(9, 796, &mut alone);
    assert_eq!(alone[0].matches, lanes[4].matches);
}

#[test]
fn parts_hold_every_battle_once_and_renumber_models_and_clusters() {
    let cells = league(700, 7);
    let group: Vec<u32> = (0..CLUSTERS as u32).map(|cluster| cluster % 3).collect();
    let parts = cells.parts(&group, 3).unwrap();
    assert_eq!(parts.iter().map(|part| part.cells.battles()).sum::<u64>(), 700);
    for (number, part) in parts.iter().enumerate() {
        assert!(part.clusters.iter().all(|&cluster| group[cluster as usize] as usize == number));
        let own = cells.iter().filter(|cell| group[cell.cluster as usize] as usize == number);
        for (cell, whole) in part.cells.iter().zip(own) {
            assert_eq!(
                (part.models[cell.first as usize], part.models[cell.second as usize]),
                (whole.first, whole.second)
            );
            assert_eq!(part.clusters[cell.cluster as usize], whole.cluster);
            assert_eq!((cell.outcome, cell.count), (whole.outcome, whole.count));
        }
    }
    assert!(matches!(cells.parts(&group[1..], 3), Err(CoreError::BadArgument(_))));
    assert!(matches!(cells.parts(&group, 2), Err(CoreError::BadArgument(_))));
}

#[test]
fn a_crosser_numbers_pairs_as_it_meets_them() {
    let mut crosser = Crosser::default();
    assert_eq!(crosser.number(&[7, 7, 1], &[2, 3, 2]).unwrap(), [0, 1, 2]);
    assert_eq!(crosser.number(&[1, 7], &[2, 2]).unwrap(), [2, 0]);
    assert_eq!(crosser.met(), &[vec![7, 7, 1], vec![2, 3, 2]]);
    assert!(matches!(crosser.number(&[1], &[]), Err(CoreError::LengthMismatch { .. })));
}
