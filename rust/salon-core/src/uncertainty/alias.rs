//! Draws from a discrete distribution in constant time: Walker's alias method, set up as by Vose (1991).
//!
//! A table has a power of two of slots; one 64-bit number picks the slot by its top bits and decides between slot and
//! alias by its low 32 bits. Probabilities are therefore exact to 2⁻³² of a slot.

use crate::random::Stream;

/// One slot: stay when the low 32 bits lie below `threshold`, else go to `alias`.
#[derive(Debug, Clone, Copy)]
struct Slot {
    threshold: u32,
    alias: u32,
}

/// Several alias tables, side by side in one block of memory.
#[derive(Debug, Default)]
pub struct AliasTables {
    slots: Vec<Slot>,
    tables: Vec<Table>,
}

#[derive(Debug, Clone, Copy)]
struct Table {
    start: usize,
    /// 64 minus the logarithm of the number of slots, less one: see `draw`.
    shift: u32,
    offset: u64,
}

impl AliasTables {
    /// Add a distribution over `offset, offset + 1, …` with the given non-negative weights (not all 0); its handle.
    ///
    /// At most 2³¹ weights; the sum must be positive and finite.
    pub fn add(&mut self, offset: u64, weights: &[f64]) -> usize {
        let size = weights.len().next_power_of_two();
        let scale = size as f64 / weights.iter().sum::<f64>();
        let mut share: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
        share.resize(size, 0.0);
        let (mut small, mut large): (Vec<u32>, Vec<u32>) =
            (0..size as u32).partition(|&slot| share[slot as usize] < 1.0);
        let start = self.slots.len();
        self.slots.extend((0..size as u32).map(|slot| Slot { threshold: u32::MAX, alias: slot }));
        while let (Some(&giver), Some(poor)) = (large.last(), small.pop()) {
            let kept = share[poor as usize];
            self.slots[start + poor as usize] = Slot { threshold: (kept * 4_294_967_296.0) as u32, alias: giver };
            share[giver as usize] -= 1.0 - kept;
            if share[giver as usize] < 1.0 {
                large.pop();
                small.push(giver);
            }
        }
        self.tables.push(Table { start, shift: 63 - size.trailing_zeros(), offset });
        self.tables.len() - 1
    }

    /// Add the Poisson distribution with mean `mean` > 0, cut where its weight is below 10⁻¹⁵ of the mode's.
    pub fn add_poisson(&mut self, mean: f64) -> usize {
        const CUT: f64 = 1e-15;
        let mode = mean.floor();
        let (mut below, mut above) = (Vec::new(), vec![1.0]);
        let (mut weight, mut value) = (1.0, mode);
        while value > 0.0 && weight > CUT {
            weight *= value / mean;
            value -= 1.0;
            below.push(weight);
        }
        let lowest = value;
        (weight, value) = (1.0, mode);
        while weight > CUT {
            value += 1.0;
            weight *= mean / value;
            above.push(weight);
        }
        below.reverse();
        below.extend(above);
        self.add(lowest as u64, &below)
    }

    /// One draw from the distribution with this handle.
    #[inline]
    pub fn draw(&self, handle: usize, stream: &mut Stream) -> u64 {
        let table = self.tables[handle];
        let bits = stream.bits();
        // Two shifts, so that a table of one slot needs no shift by 64.
        let index = (bits >> table.shift >> 1) as u32;
        let slot = self.slots[table.start + index as usize];
        // Chosen by a mask: which of the two it is cannot be predicted, so a branch would be wrong half the time.
        let stays = u32::from((bits as u32) < slot.threshold).wrapping_neg();
        table.offset + u64::from(slot.alias ^ ((slot.alias ^ index) & stays))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_the_weights() {
        let weights = [1.0, 0.0, 3.0, 2.0, 4.0];
        let mut tables = AliasTables::default();
        let handle = tables.add(10, &weights);
        let mut stream = Stream::new(1, 0);
        let mut counts = [0_u32; 5];
        for _ in 0..100_000 {
            counts[tables.draw(handle, &mut stream) as usize - 10] += 1;
        }
        assert_eq!(counts[1], 0);
        for (count, weight) in counts.iter().zip(weights) {
            assert!((f64::from(*count) - 10_000.0 * weight).abs() < 500.0);
        }
    }

    #[test]
    fn poisson_draws_have_the_right_mean_and_variance() {
        for mean in [0.3, 1.0, 7.7, 160.0, 4000.0] {
            let mut tables = AliasTables::default();
            let handle = tables.add_poisson(mean);
            let mut stream = Stream::new(2, 0);
            let count = 200_000;
            let draws: Vec<f64> = (0..count).map(|_| tables.draw(handle, &mut stream) as f64).collect();
            let average = draws.iter().sum::<f64>() / f64::from(count);
            let variance = draws.iter().map(|d| (d - average).powi(2)).sum::<f64>() / f64::from(count);
            assert!((average - mean).abs() < 5.0 * (mean / f64::from(count)).sqrt());
            assert!((variance / mean - 1.0).abs() < 0.03);
        }
    }

    #[test]
    fn a_single_weight_is_always_drawn() {
        let mut tables = AliasTables::default();
        let handle = tables.add(3, &[0.5]);
        assert_eq!(tables.draw(handle, &mut Stream::new(0, 0)), 3);
    }
}
