//! Groups of hashes that differ in few bits, exactly: multi-index hashing (Norouzi, Punjani and Fleet 2012).
//!
//! Two hashes that differ in at most `d` bits agree on one of `d + 1` disjoint groups of bits. So the hashes are sorted
//! by each group in turn, and only those that agree on it are compared. A run that is too long to compare pair by pair
//! is divided again by the bits that are left.

use crate::cancel::Watch;
use crate::error::CoreError;

const MOST_BITS: u32 = 7;
const LONG_RUN: usize = 1024;

/// Label every hash with the smallest index of its group: the connected component of "differs in at most `distance` bits".
///
/// # Errors
/// `BadArgument` for a distance above 7 or more than `u32::MAX` hashes; `Cancelled` when the watcher asks to stop.
pub fn near_duplicates(hashes: &[u64], distance: u32, watch: &Watch) -> Result<Vec<u32>, CoreError> {
    if distance > MOST_BITS {
        return Err(CoreError::BadArgument("the distance must be 0 to 7 bits"));
    }
    let count = u32::try_from(hashes.len()).map_err(|_| CoreError::BadArgument("too many hashes"))?;
    let mut parent: Vec<u32> = (0..count).collect();
    let mut items: Vec<(u64, u32)> = hashes.iter().copied().zip(0..count).collect();
    items.sort_unstable();
    for pair in items.windows(2) {
        if pair[0].0 == pair[1].0 {
            join(&mut parent, pair[0].1, pair[1].1);
        }
    }
    items.dedup_by_key(|item| item.0);
    if distance > 0 {
        search(&mut items, u64::MAX, distance, &mut parent, watch)?;
    }
    Ok((0..count).map(|item| root(&mut parent, item)).collect())
}

/// Join all pairs among `items` that differ in at most `distance` of the `free` bits; they agree on all others.
fn search(
    items: &mut [(u64, u32)],
    free: u64,
    distance: u32,
    parent: &mut [u32],
    watch: &Watch,
) -> Result<(), CoreError> {
    for group in groups(free, distance + 1) {
        watch.check()?;
        items.sort_unstable_by_key(|item| item.0 & group);
        let left = free & !group;
        for run in items.chunk_by_mut(|one, other| (one.0 ^ other.0) & group == 0) {
            if run.len() > LONG_RUN && left.count_ones() > distance {
                search(run, left, distance, parent, watch)?;
            } else {
                compare(run, distance, parent);
            }
        }
    }
    Ok(())
}

fn compare(run: &[(u64, u32)], distance: u32, parent: &mut [u32]) {
    for (place, one) in run.iter().enumerate() {
        for other in &run[place + 1..] {
            if (one.0 ^ other.0).count_ones() <= distance {
                join(parent, one.1, other.1);
            }
        }
    }
}

/// The set bits of `free`, in exactly `count` groups whose sizes differ by one at most; `free` has at least `count` bits.
fn groups(free: u64, count: u32) -> Vec<u64> {
    let bits: Vec<u32> = (0..u64::BITS).filter(|bit| free >> bit & 1 == 1).collect();
    let edge = |group: u32| bits.len() * group as usize / count as usize;
    let mask = |group: u32| bits[edge(group)..edge(group + 1)].iter().fold(0, |mask, bit| mask | 1 << bit);
    (0..count).map(mask).collect()
}

fn root(parent: &mut [u32], mut item: u32) -> u32 {
    while parent[item as usize] != item {
        parent[item as usize] = parent[parent[item as usize] as usize];
        item = parent[item as usize];
    }
    item
}

/// Join two groups; the smaller index becomes their root.
fn join(parent: &mut [u32], one: u32, other: u32) {
    let (one, other) = (root(parent, one), root(parent, other));
    parent[one.max(other) as usize] = one.min(other);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(hashes: &[u64], distance: u32) -> Vec<u32> {
        let mut parent: Vec<u32> = (0..hashes.len() as u32).collect();
        let items: Vec<(u64, u32)> = hashes.iter().copied().zip(0..).collect();
        compare(&items, distance, &mut parent);
        (0..hashes.len() as u32).map(|item| root(&mut parent, item)).collect()
    }

    #[test]
    fn groups_are_those_of_all_pairs_also_where_runs_are_long() {
        let mut state = 1_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state ^ state >> 29
        };
        // Spread over all bits; then crowded into 14 bits, so that every run is long.
        for mask in [u64::MAX, 0x0003_0303_0f03_0003] {
            let hashes: Vec<u64> = (0..3000).map(|_| draw() & mask).collect();
            for distance in 0..=3 {
                let found = near_duplicates(&hashes, distance, &Watch::default()).unwrap();
                assert_eq!(found, plain(&hashes, distance), "mask {mask:x}, distance {distance}");
            }
        }
    }

    #[test]
    fn there_are_as_many_groups_as_asked_for_and_they_divide_the_bits() {
        for count in 1..=MOST_BITS + 1 {
            for bits in count..=64 {
                let free = u64::MAX >> (64 - bits);
                let found = groups(free, count);
                assert_eq!(found.len(), count as usize);
                assert!(found.iter().all(|group| *group != 0), "{bits} bits, {count} groups");
                assert_eq!(found.iter().fold(0, |all, group| all ^ group), free);
            }
        }
    }

    #[test]
    fn a_distance_beyond_seven_bits_is_refused() {
        assert!(near_duplicates(&[1, 2], 8, &Watch::default()).is_err());
    }
}
