//! Clustered battles among few models: one short list per pair, four bytes per battle.
//!
//! Where prompts are many, nearly every battle is the only one of its pair, outcome and prompt, so that nothing is won by
//! counting early. A list therefore holds outcome and cluster of every battle as one number; a list that turns out to hold
//! the same numbers again and again begins to count. Memory is that of the different (pair, outcome, cluster), four to
//! eight bytes each, whatever the number of battles.

use crate::battles::cells::{Builder, Cell, Cells, Outcome};
use crate::error::CoreError;

/// Clusters have codes below 2 to the power of this.
pub(crate) const CLUSTER_BITS: u32 = 30;
const OUTCOMES: [Outcome; 3] = [Outcome::Win, Outcome::Loss, Outcome::Tie];
/// A list is first looked at when it is this long.
const FIRST_LOOK: usize = 1024;

/// Battles by pair of model codes.
#[derive(Debug)]
pub(crate) struct Lists {
    bits: u32,
    /// Number of the list of every pair of codes, from 1; 0: they have not met.
    number: Vec<u32>,
    /// The codes of each list, the lower one first.
    ends: Vec<[u32; 2]>,
    lists: Vec<List>,
}

/// The battles of one pair.
#[derive(Debug, Default)]
struct List {
    /// Outcome for the lower code in the two highest bits, cluster in the others.
    entries: Vec<u32>,
    /// How many battles each of the first entries stands for; all others stand for one.
    counts: Vec<u32>,
    look_at: usize,
}

impl List {
    #[inline]
    fn push(&mut self, entry: u32) {
        self.entries.push(entry);
        if self.entries.len() >= self.look_at.max(FIRST_LOOK) {
            self.look();
        }
    }

    /// Look again when the list has grown by as much as makes the sorting worth while.
    fn look(&mut self) {
        self.settle();
        self.look_at = if self.counts.is_empty() { 4 } else { 2 } * self.entries.len();
    }

    /// Sort; count what is alike, when the list counts already or that would halve it.
    fn settle(&mut self) {
        if self.counts.is_empty() {
            self.entries.sort_unstable();
            let different = self.entries.chunk_by(|one, next| one == next).count();
            if 2 * different > self.entries.len() {
                return;
            }
        }
        let ones = std::iter::repeat_n(1, self.entries.len() - self.counts.len());
        let counts = self.counts.iter().copied().chain(ones);
        let mut counted: Vec<(u32, u32)> = self.entries.iter().copied().zip(counts).collect();
        counted.sort_unstable();
        counted.dedup_by(|next, kept| {
            let total = kept.1.checked_add(next.1).filter(|_| kept.0 == next.0);
            total.is_some_and(|total| {
                kept.1 = total;
                true
            })
        });
        (self.entries, self.counts) = counted.into_iter().unzip();
    }

    /// Number clusters anew, turn outcomes around where the pair is `reversed`, and sort.
    fn renumber(&mut self, reversed: bool, cluster_number: &[u32]) {
        for entry in &mut self.entries {
            let (outcome, cluster) = split(*entry);
            *entry = joined(if reversed { outcome.reversed() } else { outcome }, cluster_number[cluster as usize]);
        }
        self.settle();
    }

    /// Different entries with their counts; the list must be settled.
    fn counted(&self) -> impl Iterator<Item = (u32, u64)> {
        let groups = self.entries.chunk_by(|one, next| one == next);
        groups.scan(0, |position, group| {
            let from = *position;
            *position += group.len();
            let counts = self.counts.get(from..*position);
            let total = counts.map_or(group.len() as u64, |counts| counts.iter().map(|&count| u64::from(count)).sum());
            Some((group[0], total))
        })
    }
}

fn joined(outcome: Outcome, cluster: u32) -> u32 {
    (outcome as u32) << CLUSTER_BITS | cluster
}

fn split(entry: u32) -> (Outcome, u32) {
    (OUTCOMES[(entry >> CLUSTER_BITS) as usize], entry & ((1 << CLUSTER_BITS) - 1))
}

impl Lists {
    /// Lists for codes below 2 to the power of `bits`.
    pub(crate) fn new(bits: u32) -> Self {
        Self { bits, number: vec![0; 1 << (2 * bits)], ends: Vec::new(), lists: Vec::new() }
    }

    /// Add one battle between two different codes, with the outcome for the first.
    #[inline]
    pub(crate) fn push(&mut self, first: u32, second: u32, outcome: Outcome, cluster: u32) {
        let (ends, outcome) =
            if first < second { ([first, second], outcome) } else { ([second, first], outcome.reversed()) };
        let number = &mut self.number[(ends[0] << self.bits | ends[1]) as usize];
        if *number == 0 {
            self.ends.push(ends);
            self.lists.push(List::default());
            *number = self.lists.len() as u32;
        }
        self.lists[*number as usize - 1].push(joined(outcome, cluster));
    }

    /// Everything that was added, list by list, with codes instead of numbers; lists are given up as they are read.
    pub(crate) fn drain(self) -> impl Iterator<Item = Cell> {
        self.ends.into_iter().zip(self.lists).flat_map(|(ends, mut list)| {
            list.settle();
            list.counted().map(|(entry, count)| cell(ends, entry, count)).collect::<Vec<_>>()
        })
    }

    /// The battles as cells, with models and clusters renumbered: code `c` becomes `model_number[c]`.
    ///
    /// # Errors
    /// [`CoreError::BadArgument`] when two codes that met share a number, or a code has none in range.
    pub(crate) fn finish(
        mut self,
        models: usize,
        model_number: &[u32],
        clusters: usize,
        cluster_number: &[u32],
    ) -> Result<Cells, CoreError> {
        if cluster_number.iter().any(|&number| number as usize >= clusters) {
            return Err(CoreError::BadArgument("a cluster code has no number"));
        }
        let number = |code: u32| model_number.get(code as usize).copied().unwrap_or(u32::MAX);
        let ends: Vec<[u32; 2]> = self.ends.iter().map(|ends| ends.map(number)).collect();
        if ends.iter().flatten().any(|&number| number as usize >= models) {
            return Err(CoreError::BadArgument("a model code has no number"));
        }
        if ends.iter().any(|ends| ends[0] == ends[1]) {
            return Err(CoreError::BadArgument("two model codes share a number"));
        }
        let renumber = |lists: &mut [List], ends: &[[u32; 2]]| {
            lists.iter_mut().zip(ends).try_for_each(|(list, ends)| {
                let known = list.entries.iter().all(|&entry| (split(entry).1 as usize) < cluster_number.len());
                known.then(|| list.renumber(ends[0] > ends[1], cluster_number))
            })
        };
        let middle = ends.len() / 2;
        let ((left, right), (left_ends, right_ends)) = (self.lists.split_at_mut(middle), ends.split_at(middle));
        let done = std::thread::scope(|scope| {
            let other = scope.spawn(|| renumber(left, left_ends));
            let own = renumber(right, right_ends);
            other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).and(own)
        });
        done.ok_or(CoreError::BadArgument("a cluster code has no number"))?;
        let mut order: Vec<usize> = (0..ends.len()).collect();
        let sorted = |place: usize| [ends[place][0].min(ends[place][1]), ends[place][0].max(ends[place][1])];
        order.sort_unstable_by_key(|&place| sorted(place));
        let mut builder = Builder::new(models);
        builder.reserve(self.lists.iter().map(|list| list.counted().count()).sum());
        for place in order {
            let list = std::mem::take(&mut self.lists[place]);
            list.counted().for_each(|(entry, count)| builder.push(&cell(sorted(place), entry, count)));
        }
        Ok(builder.finish(clusters))
    }
}

fn cell(ends: [u32; 2], entry: u32, count: u64) -> Cell {
    let (outcome, cluster) = split(entry);
    Cell { first: ends[0], second: ends[1], outcome, cluster, count, weight: 1.0 }
}
