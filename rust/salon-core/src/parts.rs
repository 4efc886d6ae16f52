//! Cells of several groups (scenarios, raters, labels), taken apart in one pass.
//!
//! Groups arrive as properties of clusters: battles were counted with a cluster for every group (or crossing of a group
//! with what is resampled), so thousands of groups cost one reading of the battles.

use crate::cells::{Cell, Cells};
use crate::error::CoreError;

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
        let mut own: Vec<Vec<Cell>> = vec![Vec::new(); groups];
        for cell in self.cells() {
            own[group[cell.cluster as usize] as usize].push(*cell);
        }
        let (mut model_number, mut cluster_number) = (vec![0; self.pairs().models], vec![0; self.clusters()]);
        Ok(own.into_iter().map(|cells| part(cells, &mut model_number, &mut cluster_number)).collect())
    }
}

/// Renumber the cells of one group; the order of cells stays, as numbers keep their order.
fn part(mut cells: Vec<Cell>, model_number: &mut [u32], cluster_number: &mut [u32]) -> Part {
    let models = ascending(cells.iter().flat_map(|cell| [cell.first, cell.second]), model_number);
    let clusters = ascending(cells.iter().map(|cell| cell.cluster), cluster_number);
    for cell in &mut cells {
        cell.first = model_number[cell.first as usize];
        cell.second = model_number[cell.second as usize];
        cell.cluster = cluster_number[cell.cluster as usize];
    }
    let cells = Cells::from_ordered(models.len(), clusters.len(), cells);
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
