//! Structural similarity (Wang, Bovik, Sheikh and Simoncelli 2004, <https://doi.org/10.1109/TIP.2003.819861>), and of several
//! scales (Wang, Simoncelli and Bovik 2003, <https://doi.org/10.1109/ACSSC.2003.1292216>).
//!
//! Local means, variances and the covariance come from the blurred sum `s` and difference `d` of the pictures and from their
//! squares, four maps instead of five: `μxμy = (μs² − μd²) / 4`, `σxy = (var s − var d) / 4`, and so on. Equal pictures have
//! `d = 0` and a similarity of exactly 1.

use std::array::from_fn;

use super::{CHANNELS, over_rows, same_length};
use crate::error::CoreError;

/// Taps of the Gaussian window.
pub const TAPS: usize = 11;
const SIGMA: f64 = 1.5;
const RANGE: f64 = 255.0;
const C1: f64 = (0.01 * RANGE) * (0.01 * RANGE);
const C2: f64 = (0.03 * RANGE) * (0.03 * RANGE);

/// The exponents of the five scales, the finest first.
const EXPONENTS: [f64; 5] = [0.0448, 0.2856, 0.3001, 0.2363, 0.1333];
/// The least height and width of which five scales hold the window.
pub const LEAST_SIDE: usize = TAPS << (EXPONENTS.len() - 1);

const MAPS: usize = 4;

/// Mean similarity over all places where the window lies within the pictures, and over the channels.
///
/// # Errors
/// `BadArgument` for pictures of two sizes, or smaller than the window.
pub fn similarity(one: &[u8], other: &[u8], width: usize, threads: usize) -> Result<f64, CoreError> {
    Ok(means(one, other, width, threads)?[0])
}

/// The product over five scales of contrast and structure, and at the coarsest of the whole similarity, each to its exponent;
/// negative means count as 0.
///
/// # Errors
/// `BadArgument` for pictures of two sizes, or with a side below [`LEAST_SIDE`].
pub fn multiscale_similarity(one: &[u8], other: &[u8], width: usize, threads: usize) -> Result<f64, CoreError> {
    same_length(one, other)?;
    let height = if width == 0 { 0 } else { one.len() / (CHANNELS * width) };
    if height.min(width) < LEAST_SIDE {
        return Err(CoreError::BadArgument("a side of the pictures is too short for five scales"));
    }
    let factor = |value: f64, scale: usize| value.max(0.0).powf(EXPONENTS[scale]);
    let mut product = factor(means(one, other, width, threads)?[1], 0);
    let (mut width, mut small) = (width / 2, [halved(one, width), halved(other, width)]);
    for scale in 1..EXPONENTS.len() {
        let last = scale + 1 == EXPONENTS.len();
        product *= factor(means(&small[0], &small[1], width, threads)?[usize::from(!last)], scale);
        if !last {
            small = small.map(|picture| halved(&picture, width));
            width /= 2;
        }
    }
    Ok(product)
}

/// The means of similarity and of its contrast and structure alone.
fn means<T: Copy + Into<f32> + Sync>(
    one: &[T],
    other: &[T],
    width: usize,
    threads: usize,
) -> Result<[f64; 2], CoreError> {
    same_length(one, other)?;
    let stride = CHANNELS * width;
    if width < TAPS || one.len() < TAPS * stride || one.len() % stride != 0 {
        return Err(CoreError::BadArgument("the pictures are smaller than the window, or no whole rows"));
    }
    let (rows, columns) = (one.len() / stride - TAPS + 1, stride - CHANNELS * (TAPS - 1));
    let weights = weights();
    let sums = over_rows(
        rows,
        threads,
        || Tools::new(stride, columns),
        |tools, first, end| {
            let mut sums = [0.0; 2];
            for row in first..end + TAPS - 1 {
                let place = row * stride..(row + 1) * stride;
                tools.enter(row % TAPS, &one[place.clone()], &other[place], &weights);
                if row + 1 >= first + TAPS {
                    let [whole, contrast] = tools.row_sums(row + 1, &weights);
                    sums[0] += whole;
                    sums[1] += contrast;
                }
            }
            Ok(sums)
        },
    )?;
    Ok(sums.map(|sum| sum / (rows * columns) as f64))
}

/// The window's weights from its edge to its centre; it is symmetric.
fn weights() -> [f64; TAPS / 2 + 1] {
    let at = |tap: usize| (-0.5 * ((tap as f64 - (TAPS / 2) as f64) / SIGMA).powi(2)).exp();
    let sum: f64 = (0..TAPS).map(at).sum();
    from_fn(|tap| at(tap) / sum)
}

/// The last rows of each map, blurred along the row, and room for one row more.
struct Tools {
    plain: [Vec<f64>; MAPS],
    blurred: [[Vec<f64>; MAPS]; TAPS],
    means: [Vec<f64>; MAPS],
}

impl Tools {
    fn new(stride: usize, columns: usize) -> Self {
        Self {
            plain: from_fn(|_| vec![0.0; stride]),
            blurred: from_fn(|_| from_fn(|_| vec![0.0; columns])),
            means: from_fn(|_| vec![0.0; columns]),
        }
    }

    /// Put one row of both pictures into the place of the oldest.
    fn enter<T: Copy + Into<f32>>(&mut self, place: usize, one: &[T], other: &[T], weights: &[f64; TAPS / 2 + 1]) {
        let [sum, difference, sum_squared, difference_squared] = &mut self.plain;
        let values = one.iter().zip(other).map(|(a, b)| (f64::from((*a).into()), f64::from((*b).into())));
        let maps = sum.iter_mut().zip(difference).zip(sum_squared.iter_mut().zip(difference_squared));
        for ((a, b), ((s, d), (ss, dd))) in values.zip(maps) {
            (*s, *d) = (a + b, a - b);
            (*ss, *dd) = (*s * *s, *d * *d);
        }
        for (plain, blurred) in self.plain.iter().zip(&mut self.blurred[place]) {
            blur(from_fn(|tap| &plain[CHANNELS * tap..]), weights, blurred);
        }
    }

    /// The sums over a row of places, of which `next % TAPS` is the first row in the window.
    fn row_sums(&mut self, next: usize, weights: &[f64; TAPS / 2 + 1]) -> [f64; 2] {
        for (map, means) in self.means.iter_mut().enumerate() {
            blur(from_fn(|tap| &self.blurred[(next + tap) % TAPS][map][..]), weights, means);
        }
        let [sum, difference, sum_squared, difference_squared] = &mut self.means;
        let maps = sum.iter_mut().zip(difference).zip(sum_squared.iter().zip(&*difference_squared));
        for ((s, d), (ss, dd)) in maps {
            let (squared, difference_squared) = (*s * *s, *d * *d);
            let (spread, difference_spread) = (ss - squared, dd - difference_squared);
            let level = (squared - difference_squared + 2.0 * C1) / (squared + difference_squared + 2.0 * C1);
            let contrast = (spread - difference_spread + 2.0 * C2) / (spread + difference_spread + 2.0 * C2);
            (*s, *d) = (level * contrast, contrast);
        }
        [self.means[0].iter().sum(), self.means[1].iter().sum()]
    }
}

/// The weighted sum of eleven rows, value by value.
fn blur(taps: [&[f64]; TAPS], weights: &[f64; TAPS / 2 + 1], out: &mut [f64]) {
    let length = out.len();
    let taps = taps.map(|row| &row[..length]);
    for (place, value) in out.iter_mut().enumerate() {
        let mut sum = weights[TAPS / 2] * taps[TAPS / 2][place];
        for tap in 0..TAPS / 2 {
            sum += weights[tap] * (taps[tap][place] + taps[TAPS - 1 - tap][place]);
        }
        *value = sum;
    }
}

/// The picture at half its size: means of two by two. Of eight-bit pictures they are exact in 32 bits down to the fifth scale.
fn halved<T: Copy + Into<f32>>(picture: &[T], width: usize) -> Vec<f32> {
    let stride = CHANNELS * width;
    let values = CHANNELS * (width / 2);
    let mut small = Vec::with_capacity(picture.len() / 4);
    for pair in picture.chunks_exact(2 * stride) {
        let (upper, lower) = pair.split_at(stride);
        small.extend((0..values).map(|value| {
            let left = value / CHANNELS * CHANNELS + value;
            let at = |row: &[T]| row[left].into() + row[left + CHANNELS].into();
            0.25 * (at(upper) + at(lower))
        }));
    }
    small
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(length: usize, seed: u64) -> Vec<u8> {
        let mut state = seed;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..length).map(|_| draw()).collect()
    }

    /// The definition, place by place.
    fn plain(one: &[u8], other: &[u8], width: usize) -> f64 {
        let (height, half) = (one.len() / CHANNELS / width, weights());
        let weight = |tap: usize| half[tap.min(TAPS - 1 - tap)];
        let (mut sum, mut places) = (0.0, 0.0);
        for (top, left) in (0..=height - TAPS).flat_map(|top| (0..=width - TAPS).map(move |left| (top, left))) {
            for channel in 0..CHANNELS {
                let mean = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
                    let taps = (0..TAPS).flat_map(|down| (0..TAPS).map(move |right| (down, right)));
                    taps.map(|(down, right)| {
                        let place = ((top + down) * width + left + right) * CHANNELS + channel;
                        weight(down) * weight(right) * of(f64::from(one[place]), f64::from(other[place]))
                    })
                    .sum()
                };
                let (x, y) = (mean(&|a, _| a), mean(&|_, b| b));
                let spread = mean(&|a, _| (a - x).powi(2)) + mean(&|_, b| (b - y).powi(2));
                let together = mean(&|a, b| (a - x) * (b - y));
                sum += (2.0 * x * y + C1) * (2.0 * together + C2) / ((x * x + y * y + C1) * (spread + C2));
                places += 1.0;
            }
        }
        sum / places
    }

    #[test]
    fn the_four_maps_give_what_the_definition_gives_on_any_number_of_threads() {
        for (width, height) in [(11, 11), (14, 12), (11, 80)] {
            let (one, other) = (noise(width * height * 3, 1), noise(width * height * 3, 2));
            let near: Vec<u8> = one.iter().zip(&other).map(|(a, b)| a / 2 + b / 8).collect();
            for other in [&other, &near] {
                let found = similarity(&one, other, width, 1).unwrap();
                assert!((found - plain(&one, other, width)).abs() < 1e-12, "{width} × {height}");
                assert_eq!(found.to_bits(), similarity(other, &one, width, 3).unwrap().to_bits());
            }
        }
    }

    #[test]
    fn equal_pictures_have_exactly_one_and_wrong_sizes_are_refused() {
        let one = noise(200 * 180 * 3, 3);
        assert_eq!(similarity(&one, &one, 200, 2).unwrap().to_bits(), 1.0_f64.to_bits());
        assert_eq!(multiscale_similarity(&one, &one, 200, 2).unwrap().to_bits(), 1.0_f64.to_bits());
        for width in [0, 1, 10, 7, 201] {
            assert!(similarity(&one, &one, width, 1).is_err() && multiscale_similarity(&one, &one, width, 1).is_err());
        }
        assert!(
            similarity(&one, &one[3..], 200, 1).is_err() && multiscale_similarity(&one, &one[3..], 200, 1).is_err()
        );
        assert!(multiscale_similarity(&one[..175 * 200 * 3], &one[..175 * 200 * 3], 200, 1).is_err());
    }

    #[test]
    fn a_picture_of_odd_sides_is_halved_without_its_last_row_and_column() {
        let picture: Vec<u8> = (0..5 * 3 * 3).collect();
        let mean = |channel: f32| (channel + (3.0 + channel) + (15.0 + channel) + (18.0 + channel)) / 4.0;
        assert_eq!(halved(&picture, 5)[..3], [mean(0.0), mean(1.0), mean(2.0)]);
        assert_eq!(halved(&picture, 5).len(), 2 * 3);
    }
}
