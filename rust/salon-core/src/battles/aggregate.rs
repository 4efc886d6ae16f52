//! Batches of battles, one row each, into cells.
//!
//! Rows name models by codes that are dense but in any order (the order in which a reader met the names). Battles
//! without weight and cluster among at most 1,024 codes are counted in a square table, those with a cluster kept in one
//! list per pair ([`crate::uncertainty::clustered_counts`]); all others are kept as rows that are sorted and merged now and then.

use crate::battles::cells::{Cell, Cells, Outcome};
use crate::error::CoreError;
use crate::uncertainty::clustered_counts::{CLUSTER_BITS, Lists};

/// The table holds every ordered pair of codes up to 2 to the power of this.
const TABLE_BITS: u32 = 10;
/// Rows are merged first when there are this many.
const FIRST_MERGE: usize = 1 << 22;
/// More rows than this are sorted by two threads.
const WORTH_A_THREAD: usize = 1 << 18;

/// One batch of battles: columns of equal length.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// Code of the first model shown.
    pub first: &'a [u32],
    /// Code of the second model shown.
    pub second: &'a [u32],
    /// Code of the outcome, an index into the menu given to [`Aggregator::add`].
    pub outcome: &'a [u32],
    /// Weight of each battle; without it every battle weighs 1.
    pub weight: Option<&'a [f64]>,
    /// Code of each battle's cluster.
    pub cluster: Option<&'a [u32]>,
}

impl Batch<'_> {
    fn check_lengths(&self) -> Result<(), CoreError> {
        let expected = self.first.len();
        let columns = [
            ("second", Some(self.second.len())),
            ("outcome", Some(self.outcome.len())),
            ("weight", self.weight.map(<[f64]>::len)),
            ("cluster", self.cluster.map(<[u32]>::len)),
        ];
        for (column, length) in columns {
            if let Some(found) = length.filter(|&found| found != expected) {
                return Err(CoreError::LengthMismatch { column, found, expected });
            }
        }
        Ok(())
    }
}

/// Battles that are alike, before models have their final numbers.
#[derive(Debug, Clone, Copy)]
struct Row {
    first: u32,
    second: u32,
    outcome: Outcome,
    cluster: u32,
    weight: f64,
    count: u32,
}

impl Row {
    /// Orders rows by first, second, outcome, cluster and weight (positive floats sort like their bits). Packed, because
    /// comparing two numbers is several times quicker than comparing five.
    fn key(&self) -> (u128, u64) {
        let pair = u128::from(self.first) << 96 | u128::from(self.second) << 64;
        let kind = u128::from(self.outcome as u8) << 32 | u128::from(self.cluster);
        (pair | kind, self.weight.to_bits())
    }
}

/// Collects batches and turns them into [`Cells`].
#[derive(Debug)]
pub struct Aggregator {
    /// Counts of ordered code pairs by outcome; `None` once rows are kept instead.
    table: Option<Table>,
    /// Clustered battles of few models; `None` once rows are kept instead.
    lists: Option<Lists>,
    rows: Vec<Row>,
    merge_at: usize,
}

#[derive(Debug)]
struct Table {
    bits: u32,
    counts: Vec<[u64; 4]>,
}

impl Table {
    fn new(bits: u32) -> Self {
        Self { bits, counts: vec![[0; 4]; 1 << (2 * bits)] }
    }

    /// The same counts in a table for codes up to 2 to the power of `bits`.
    fn widened(&self, bits: u32) -> Self {
        let mut wide = Self::new(bits);
        for (position, &counts) in self.counts.iter().enumerate() {
            let (first, second) = (position >> self.bits, position & ((1 << self.bits) - 1));
            wide.counts[first << bits | second] = counts;
        }
        wide
    }
}

impl Default for Aggregator {
    fn default() -> Self {
        Self { table: Some(Table::new(5)), lists: None, rows: Vec::new(), merge_at: FIRST_MERGE }
    }
}

impl Aggregator {
    /// Add one batch. `menu` gives the outcome of each outcome code; `None` marks a code that is no outcome.
    ///
    /// # Errors
    /// [`CoreError::LengthMismatch`], or [`CoreError::BadRow`] for the first row with an outcome off the menu, a model
    /// against itself, or a weight that is not positive and finite. After an error the aggregator is spoilt.
    pub fn add(&mut self, batch: &Batch<'_>, menu: &[Option<Outcome>]) -> Result<(), CoreError> {
        batch.check_lengths()?;
        let largest = batch.first.iter().chain(batch.second).max();
        let Some(&largest) = largest else {
            return Ok(());
        };
        if largest >= u32::MAX - 1 {
            return Err(CoreError::BadArgument("a model code is out of range"));
        }
        let bits = u32::BITS - largest.leading_zeros();
        if batch.weight.is_some() || batch.cluster.is_some() || bits > TABLE_BITS {
            self.leave_table(batch.weight.is_none() && batch.cluster.is_some());
        }
        let largest_cluster = batch.cluster.and_then(|cluster| cluster.iter().max()).copied().unwrap_or(0);
        if batch.weight.is_some() || bits > TABLE_BITS || largest_cluster >> CLUSTER_BITS != 0 {
            self.leave_lists();
        }
        if let Some(lists) = &mut self.lists {
            return list_rows(lists, batch, menu);
        }
        match &mut self.table {
            Some(table) => {
                if bits > table.bits {
                    *table = table.widened(bits);
                }
                count_rows(table, batch, menu)
            }
            None => self.keep_rows(batch, menu),
        }
    }

    /// Everything that was added, with models and clusters renumbered: code `c` becomes `model_number[c]`.
    ///
    /// # Errors
    /// [`CoreError::BadArgument`] when a code has no number, or numbers are not below the given sizes.
    pub fn finish(
        mut self,
        models: usize,
        model_number: &[u32],
        clusters: usize,
        cluster_number: &[u32],
    ) -> Result<Cells, CoreError> {
        if clusters == 0 {
            self.leave_lists();
        }
        if let Some(lists) = self.lists {
            return lists.finish(models, model_number, clusters, cluster_number);
        }
        self.leave_table(false);
        for row in &mut self.rows {
            let number = |code: u32| model_number.get(code as usize).copied().filter(|&n| (n as usize) < models);
            let (Some(first), Some(second)) = (number(row.first), number(row.second)) else {
                return Err(CoreError::BadArgument("a model code has no number"));
            };
            if first == second {
                return Err(CoreError::BadArgument("two model codes share a number"));
            }
            if clusters > 0 {
                let number = cluster_number.get(row.cluster as usize);
                row.cluster = *number
                    .filter(|&&n| (n as usize) < clusters)
                    .ok_or(CoreError::BadArgument("a cluster code has no number"))?;
            }
            if first > second {
                row.outcome = row.outcome.reversed();
            }
            (row.first, row.second) = (first.min(second), first.max(second));
        }
        self.merge();
        Ok(Cells::from_ordered(models, clusters, into_cells(&self.rows)))
    }

    fn keep_rows(&mut self, batch: &Batch<'_>, menu: &[Option<Outcome>]) -> Result<(), CoreError> {
        self.rows.reserve(batch.first.len());
        for row in 0..batch.first.len() {
            let outcome = checked_outcome(batch, menu, row)?;
            let weight = batch.weight.map_or(1.0, |weights| weights[row]);
            if !(weight > 0.0 && weight.is_finite()) {
                let problem = "the weight is not positive and finite";
                return Err(CoreError::BadRow { row, problem });
            }
            let (first, second) = (batch.first[row], batch.second[row]);
            self.rows.push(Row {
                first: first.min(second),
                second: first.max(second),
                outcome: if first < second { outcome } else { outcome.reversed() },
                cluster: batch.cluster.map_or(0, |clusters| clusters[row]),
                weight,
                count: 1,
            });
        }
        if self.rows.len() >= self.merge_at {
            let before = self.rows.len();
            self.merge();
            // Rows that hardly merge are not worth sorting often.
            let growth = if self.rows.len() > before / 2 { 4 } else { 2 };
            self.merge_at = FIRST_MERGE.max(growth * self.rows.len());
        }
        Ok(())
    }

    /// Turn the lists, if there are any, into rows.
    fn leave_lists(&mut self) {
        let Some(lists) = self.lists.take() else {
            return;
        };
        for Cell { first, second, outcome, cluster, count, weight } in lists.drain() {
            self.add_rows(Row { first, second, outcome, cluster, weight, count: 0 }, count);
        }
    }

    /// Add `count` battles like `row`.
    fn add_rows(&mut self, row: Row, count: u64) {
        let mut left = count;
        while left > 0 {
            let part = left.min(u64::from(u32::MAX));
            left -= part;
            self.rows.push(Row { count: part as u32, ..row });
        }
    }

    /// Turn the table, if there still is one, into rows; or an empty one into lists, if they are `wanted`.
    fn leave_table(&mut self, wanted: bool) {
        let Some(table) = self.table.take() else {
            return;
        };
        let menu = [Outcome::Win, Outcome::Loss, Outcome::Tie];
        for (position, counts) in table.counts.iter().enumerate() {
            let first = (position >> table.bits) as u32;
            let second = (position & ((1 << table.bits) - 1)) as u32;
            for (outcome, &count) in menu.into_iter().zip(counts) {
                let turned = if first < second { outcome } else { outcome.reversed() };
                let (first, second) = (first.min(second), first.max(second));
                self.add_rows(Row { first, second, outcome: turned, cluster: 0, weight: 1.0, count: 0 }, count);
            }
        }
        self.lists = (wanted && self.rows.is_empty()).then(|| Lists::new(TABLE_BITS));
    }

    /// Sort the rows and merge those that are alike (as far as their count fits into 32 bits).
    fn merge(&mut self) {
        if self.rows.len() > WORTH_A_THREAD {
            let middle = self.rows.len() / 2;
            let (left, right) = self.rows.split_at_mut(middle);
            std::thread::scope(|scope| {
                scope.spawn(|| left.sort_unstable_by_key(Row::key));
                right.sort_unstable_by_key(Row::key);
            });
        }
        // The stable sort finds two sorted halves and merges them in one pass.
        self.rows.sort_by_key(Row::key);
        self.rows.dedup_by(|next, kept| {
            let total = kept.count.checked_add(next.count);
            match total.filter(|_| kept.key() == next.key()) {
                Some(count) => {
                    kept.count = count;
                    true
                }
                None => false,
            }
        });
    }
}

fn checked_outcome(batch: &Batch<'_>, menu: &[Option<Outcome>], row: usize) -> Result<Outcome, CoreError> {
    if batch.first[row] == batch.second[row] {
        let problem = "a model against itself";
        return Err(CoreError::BadRow { row, problem });
    }
    let outcome = menu.get(batch.outcome[row] as usize).copied().flatten();
    outcome.ok_or(CoreError::BadRow { row, problem: "the outcome is not on the menu" })
}

fn list_rows(lists: &mut Lists, batch: &Batch<'_>, menu: &[Option<Outcome>]) -> Result<(), CoreError> {
    for row in 0..batch.first.len() {
        let outcome = checked_outcome(batch, menu, row)?;
        lists.push(batch.first[row], batch.second[row], outcome, batch.cluster.map_or(0, |cluster| cluster[row]));
    }
    Ok(())
}

fn count_rows(table: &mut Table, batch: &Batch<'_>, menu: &[Option<Outcome>]) -> Result<(), CoreError> {
    // 3 counts what is off the menu, so that the loop has no branch to mispredict; the offender is found afterwards.
    let column = |outcome: &Option<Outcome>| outcome.map_or(3, |outcome| outcome as u8);
    let columns: Vec<u8> = menu.iter().map(column).collect();
    let bits = table.bits;
    let mut wrong = false;
    for ((&first, &second), &outcome) in batch.first.iter().zip(batch.second).zip(batch.outcome) {
        let column = columns.get(outcome as usize).copied().unwrap_or(3);
        wrong |= first == second || column == 3;
        table.counts[(first as usize) << bits | second as usize][(column & 3) as usize] += 1;
    }
    if wrong {
        for row in 0..batch.first.len() {
            checked_outcome(batch, menu, row)?;
        }
    }
    Ok(())
}

fn into_cells(rows: &[Row]) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::with_capacity(rows.len());
    for row in rows {
        let cell = Cell {
            first: row.first,
            second: row.second,
            outcome: row.outcome,
            cluster: row.cluster,
            count: u64::from(row.count),
            weight: row.weight,
        };
        match cells.last_mut() {
            Some(last) if Cell { count: 0, ..*last } == (Cell { count: 0, ..cell }) => last.count += cell.count,
            _ => cells.push(cell),
        }
    }
    cells
}
