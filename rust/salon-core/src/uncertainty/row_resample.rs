//! Resampled rows: how often each row of battles counts in one bootstrap replicate.
//!
//! For models that need more of a battle than the totals of its pair. Battles are drawn ([`crate::uncertainty::multinomial`]), or the
//! values of one column of clusters; of two columns, those of each, and a row counts as often as the product of both
//! (pigeonhole bootstrap: Owen 2007, doi:10.1214/07-AOAS122).

use crate::battles::cells::Cells;
use crate::error::CoreError;
use crate::random::Stream;
use crate::uncertainty::multinomial::Multinomial;

/// The group of every row, and the number of groups.
pub type Grouping = (Vec<u32>, usize);

/// Draws replicates of rows that stand for one battle or several.
#[derive(Debug)]
pub enum RowSampler {
    /// Battles are drawn.
    Battles(Multinomial),
    /// Groups are drawn; of several groupings, those of each.
    Groups {
        /// Battles per row.
        counts: Vec<f64>,
        /// One or two.
        groupings: Vec<Grouping>,
    },
}

impl RowSampler {
    /// A sampler of battles, or, where there are groupings, of groups.
    ///
    /// # Errors
    /// [`CoreError::BadArgument`] for a grouping of the wrong length or with a group that there is not.
    pub fn new(counts: &[u64], groupings: Vec<Grouping>) -> Result<Self, CoreError> {
        for (group, size) in &groupings {
            if group.len() != counts.len() || group.iter().any(|&number| number as usize >= *size) {
                return Err(CoreError::BadArgument("every row needs a group"));
            }
        }
        if groupings.is_empty() {
            return Ok(Self::Battles(Multinomial::new(counts)));
        }
        Ok(Self::Groups { counts: counts.iter().map(|&count| count as f64).collect(), groupings })
    }

    /// A sampler of cells.
    ///
    /// # Errors
    /// [`CoreError::BadArgument`] for clusters that are asked for but not there.
    pub fn of_cells(cells: &Cells, by_cluster: bool) -> Result<Self, CoreError> {
        if by_cluster && cells.clusters() == 0 {
            return Err(CoreError::BadArgument("the battles have no clusters"));
        }
        let counts: Vec<u64> = cells.iter().map(|cell| cell.count).collect();
        let cluster = || cells.iter().map(|cell| cell.cluster);
        let groupings = match (by_cluster, cells.crossing()) {
            (false, _) => Vec::new(),
            (true, None) => vec![(cluster().collect(), cells.clusters())],
            (true, Some(crossing)) => {
                let of = |values: &[u32]| cluster().map(|number| values[number as usize]).collect();
                vec![(of(&crossing.first), crossing.sizes[0]), (of(&crossing.second), crossing.sizes[1])]
            }
        };
        Self::new(&counts, groupings)
    }

    /// Fill `times`, one entry per row, with replicate `index` of `seed`.
    pub fn draw(&self, seed: u64, index: u64, times: &mut Vec<f64>) {
        let mut stream = Stream::new(seed, index);
        match self {
            Self::Battles(multinomial) => multinomial.draw(&mut stream, times),
            Self::Groups { counts, groupings } => {
                times.copy_from_slice(counts);
                for (group, size) in groupings {
                    let mut drawn = vec![0.0_f64; *size];
                    for _ in 0..*size {
                        drawn[stream.below(*size as u64) as usize] += 1.0;
                    }
                    times.iter_mut().zip(group).for_each(|(times, &group)| *times *= drawn[group as usize]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(sampler: &RowSampler, rows: usize) -> Vec<f64> {
        let (mut times, mut sum) = (vec![0.0; rows], vec![0.0; rows]);
        for index in 0..4_000 {
            sampler.draw(7, index, &mut times);
            sum.iter_mut().zip(&times).for_each(|(sum, times)| *sum += times / 4_000.0);
        }
        sum
    }

    #[test]
    fn rows_are_drawn_as_often_as_they_stand_for_battles_on_average() {
        let counts = [3, 1, 5, 2];
        let groupings = [vec![], vec![(vec![0, 0, 1, 2], 3)], vec![(vec![0, 0, 1, 2], 3), (vec![1, 0, 1, 0], 2)]];
        for groupings in groupings {
            let sampler = RowSampler::new(&counts, groupings).unwrap();
            for (mean, count) in mean(&sampler, 4).into_iter().zip(counts) {
                assert!((mean / count as f64 - 1.0).abs() < 0.15, "{mean} {count}");
            }
        }
    }

    #[test]
    fn rows_of_a_group_are_drawn_together() {
        let sampler = RowSampler::new(&[2, 1, 4], vec![(vec![0, 0, 1], 2)]).unwrap();
        let mut times = vec![0.0; 3];
        for index in 0..50 {
            sampler.draw(1, index, &mut times);
            assert_eq!(times[0], 2.0 * times[1]);
            assert_eq!(times[1] + times[2] / 4.0, 2.0);
        }
    }

    #[test]
    fn a_group_that_there_is_not_is_refused() {
        assert!(RowSampler::new(&[1, 1], vec![(vec![0, 2], 2)]).is_err());
        assert!(RowSampler::new(&[1, 1], vec![(vec![0], 1)]).is_err());
    }
}
