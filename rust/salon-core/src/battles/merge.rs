//! Two sets of cells into one, for leagues that grow battle by battle.

use crate::battles::cells::{Cell, Cells, merge_alike};
use crate::error::CoreError;

/// All battles of both, among `models` models: model `m` of `left` becomes `left_number[m]`, of `right` alike. Clusters
/// are left behind.
///
/// # Errors
/// [`CoreError::BadArgument`] when numbers are missing, shared or out of range.
pub fn merged(
    left: &Cells,
    left_number: &[u32],
    right: &Cells,
    right_number: &[u32],
    models: usize,
) -> Result<Cells, CoreError> {
    let mut cells = Vec::with_capacity(left.len() + right.len());
    for (from, number) in [(left, left_number), (right, right_number)] {
        if number.len() != from.pairs().models || number.iter().any(|&n| n as usize >= models) {
            return Err(CoreError::BadArgument("a model has no number, or one out of range"));
        }
        let mut taken = vec![false; models];
        if number.iter().any(|&n| std::mem::replace(&mut taken[n as usize], true)) {
            return Err(CoreError::BadArgument("two models share a number"));
        }
        for cell in from.iter() {
            let (first, second) = (number[cell.first as usize], number[cell.second as usize]);
            let outcome = if first < second { cell.outcome } else { cell.outcome.reversed() };
            cells.push(Cell { first: first.min(second), second: first.max(second), outcome, cluster: 0, ..cell });
        }
    }
    cells.sort_by_key(|cell| (cell.first, cell.second, cell.outcome, cell.weight.to_bits()));
    merge_alike(&mut cells);
    Ok(Cells::from_ordered(models, 0, cells))
}
