//! Cells of several groups (scenarios, raters, labels), taken apart in one pass.
//!
//! Groups arrive as properties of clusters: battles were counted with a cluster for every group (or crossing of a group
//! with what is resampled), so thousands of groups cost one reading of the battles.

use crate::battles::cells::{Cell, Cells};
use crate::error::CoreError;
use crate::uncertainty::sandwich::{Place, by_group};

/// The battles of one group.
#[derive(Debug, Clone)]
pub struct Part {
    /// Numbers of the models that play in it, ascending; its cells number them from 0 in this order.
    pub models: Vec<u32>,
    /// Numbers of the clusters that lie in it, ascending; its cells number them from 0 in this order.
    pub clusters: Vec<u32>,
    /// Its battles.
    pub cells: Cells,
}

impl Cells {
    /// One part per group; `group[cluster]` names the group of every cluster.
    ///
    /// # Errors
    /// [`CoreError::BadArgument`] when `group` has not one entry per cluster, each below `groups`.
    pub fn parts(&self, group: &[u32], groups: usize) -> Result<Vec<Part>, CoreError> {
        if group.len() != self.clusters() || group.iter().any(|&number| number as usize >= groups) {
            return Err(CoreError::BadArgument("every cluster needs a group"));
        }
        let (start, order) = by_group(self, group, groups);
        let (mut model_number, mut cluster_number) = (vec![0; self.pairs().models], vec![0; self.clusters()]);
        let own = |number: usize| &order[start[number]..start[number + 1]];
        Ok((0..groups).map(|number| part(self, own(number), &mut model_number, &mut cluster_number)).collect())
    }
}

/// Renumber the cells of one group; their order stays, as numbers keep their order.
fn part(all: &Cells, own: &[Place], model_number: &mut [u32], cluster_number: &mut [u32]) -> Part {
    let cells = || own.iter().map(|place| all.cell(place.pair as usize, place.position as usize));
    let models = ascending(cells().flat_map(|cell| [cell.first, cell.second]), model_number);
    let clusters = ascending(cells().map(|cell| cell.cluster), cluster_number);
    let renumbered = cells().map(|cell| Cell {
        first: model_number[cell.first as usize],
        second: model_number[cell.second as usize],
        cluster: cluster_number[cell.cluster as usize],
        ..cell
    });
    let cells = Cells::from_ordered(models.len(), clusters.len(), renumbered);
    Part { models, clusters, cells }
}

/// The distinct values in ascending order; `number` then holds the position of each.
fn ascending(values: impl Iterator<Item = u32>, number: &mut [u32]) -> Vec<u32> {
    let mut distinct: Vec<u32> = values.collect();
    distinct.sort_unstable();
    distinct.dedup();
    for (position, &value) in distinct.iter().enumerate() {
        number[value as usize] = position as u32;
    }
    distinct
}
