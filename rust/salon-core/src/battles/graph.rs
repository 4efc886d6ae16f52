//! Who can be compared with whom: the graph of wins, whose strong components decide whether a finite rating exists.
//!
//! An arrow runs from i to j when i won against j at least once; a tie is an arrow both ways. The Bradley-Terry maximum
//! likelihood estimate is finite and unique exactly when this graph is strongly connected (Ford 1957; Hunter 2004,
//! assumption 1): no group of models won all, or lost all, of its battles against the rest.

use crate::battles::cells::{PairScores, Pairs};

/// Neighbours of every model, prepared once for one set of pairs and asked about many scores.
#[derive(Debug)]
pub struct Graph {
    /// The neighbours of model `m` are entries `start[m]..start[m + 1]`.
    start: Vec<usize>,
    neighbour: Vec<u32>,
    /// The pair of each entry.
    pair: Vec<u32>,
    /// Whether the model is the pair's first.
    is_first: Vec<bool>,
}

/// Which way arrows are followed.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    FromWinner,
    FromLoser,
}

impl Graph {
    /// The neighbours in `pairs`.
    pub fn new(pairs: &Pairs) -> Self {
        let mut start = vec![0_usize; pairs.models + 1];
        for &model in pairs.first.iter().chain(&pairs.second) {
            start[model as usize + 1] += 1;
        }
        for model in 0..pairs.models {
            start[model + 1] += start[model];
        }
        let mut next = start.clone();
        let entries = 2 * pairs.len();
        let (mut neighbour, mut pair_of) = (vec![0; entries], vec![0; entries]);
        let mut is_first = vec![false; entries];
        for pair in 0..pairs.len() {
            let ends = [pairs.first[pair], pairs.second[pair]];
            for (model, other, first) in [(ends[0], ends[1], true), (ends[1], ends[0], false)] {
                let entry = next[model as usize];
                next[model as usize] += 1;
                neighbour[entry] = other;
                pair_of[entry] = pair as u32;
                is_first[entry] = first;
            }
        }
        Self { start, neighbour, pair: pair_of, is_first }
    }

    /// Whether all models that have a battle under `scores` are strongly connected; `present` says which have one.
    ///
    /// Two searches from one model, which stop as soon as everybody is reached.
    pub fn is_strongly_connected(&self, scores: &PairScores, present: &[bool]) -> bool {
        let wanted = present.iter().filter(|&&is| is).count();
        let Some(root) = present.iter().position(|&is| is) else {
            return true;
        };
        [Way::FromWinner, Way::FromLoser].into_iter().all(|way| self.reaches(root, wanted, scores, way))
    }

    fn reaches(&self, root: usize, wanted: usize, scores: &PairScores, way: Way) -> bool {
        let mut seen = vec![false; self.start.len() - 1];
        let mut queue = vec![root as u32];
        seen[root] = true;
        let mut found = 1;
        while let Some(model) = queue.pop() {
            for entry in self.start[model as usize]..self.start[model as usize + 1] {
                let other = self.neighbour[entry];
                if !seen[other as usize] && self.has_arrow(entry, scores, way) {
                    seen[other as usize] = true;
                    found += 1;
                    if found == wanted {
                        return true;
                    }
                    queue.push(other);
                }
            }
        }
        found == wanted
    }

    /// Which models a chain of battles joins to `root`, whoever won them; nobody when `root` has no battle.
    pub fn joined_to(&self, root: usize, scores: &PairScores) -> Vec<bool> {
        let mut joined = vec![false; self.start.len() - 1];
        let mut queue = vec![root];
        while let Some(model) = queue.pop() {
            for entry in self.start[model]..self.start[model + 1] {
                let other = self.neighbour[entry] as usize;
                if !joined[other] && scores.matches[self.pair[entry] as usize] > 0.0 {
                    joined[other] = true;
                    queue.push(other);
                }
            }
        }
        joined
    }

    /// The group of models that a chain of battles joins, whoever won them, of every model; numbered by their lowest model.
    pub fn joined(&self, scores: &PairScores) -> Vec<usize> {
        let mut group = vec![usize::MAX; self.start.len() - 1];
        let mut count = 0;
        for root in 0..group.len() {
            if group[root] != usize::MAX {
                continue;
            }
            group[root] = count;
            let mut queue = vec![root];
            while let Some(model) = queue.pop() {
                for entry in self.start[model]..self.start[model + 1] {
                    let other = self.neighbour[entry] as usize;
                    if group[other] == usize::MAX && scores.matches[self.pair[entry] as usize] > 0.0 {
                        group[other] = count;
                        queue.push(other);
                    }
                }
            }
            count += 1;
        }
        group
    }

    /// Whether the entry's model beat its neighbour (or lost to it, on the way from the loser); a tie is both.
    fn has_arrow(&self, entry: usize, scores: &PairScores, way: Way) -> bool {
        let pair = self.pair[entry] as usize;
        if self.is_first[entry] == (way == Way::FromWinner) {
            scores.score[pair] > 0.0
        } else {
            scores.score[pair] < scores.matches[pair]
        }
    }

    /// The strong component of every model, numbered by size (largest first), then by lowest model index.
    ///
    /// Tarjan's algorithm (1972), without recursion.
    pub fn components(&self, scores: &PairScores) -> Vec<usize> {
        const UNSEEN: usize = usize::MAX;
        let models = self.start.len() - 1;
        let (mut order, mut low) = (vec![UNSEEN; models], vec![0; models]);
        let mut component = vec![UNSEEN; models];
        let (mut path, mut open): (Vec<(usize, usize)>, Vec<usize>) = (Vec::new(), Vec::new());
        let (mut clock, mut count) = (0, 0);
        for root in 0..models {
            if order[root] != UNSEEN {
                continue;
            }
            path.push((root, self.start[root]));
            while let Some(&mut (model, ref mut entry)) = path.last_mut() {
                if order[model] == UNSEEN {
                    (order[model], low[model]) = (clock, clock);
                    clock += 1;
                    open.push(model);
                }
                if *entry < self.start[model + 1] {
                    let this = *entry;
                    *entry += 1;
                    let other = self.neighbour[this] as usize;
                    if !self.has_arrow(this, scores, Way::FromWinner) {
                        continue;
                    }
                    if order[other] == UNSEEN {
                        path.push((other, self.start[other]));
                    } else if component[other] == UNSEEN {
                        low[model] = low[model].min(order[other]);
                    }
                    continue;
                }
                path.pop();
                if let Some(&(parent, _)) = path.last() {
                    low[parent] = low[parent].min(low[model]);
                }
                if low[model] == order[model] {
                    while let Some(member) = open.pop() {
                        component[member] = count;
                        if member == model {
                            break;
                        }
                    }
                    count += 1;
                }
            }
        }
        renumbered(&component, count)
    }
}

fn renumbered(component: &[usize], count: usize) -> Vec<usize> {
    let (mut size, mut lowest) = (vec![0_usize; count], vec![usize::MAX; count]);
    for (model, &number) in component.iter().enumerate() {
        size[number] += 1;
        lowest[number] = lowest[number].min(model);
    }
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&number| (std::cmp::Reverse(size[number]), lowest[number]));
    let mut new = vec![0; count];
    for (position, &number) in order.iter().enumerate() {
        new[number] = position;
    }
    component.iter().map(|&number| new[number]).collect()
}
