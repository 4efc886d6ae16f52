//! Colour difference: CIEDE2000 (Sharma, Wu and Dalal 2005, <https://doi.org/10.1002/col.20070>) of sRGB pictures, under D65 with
//! the observer of 1931.

use std::f64::consts::{PI, TAU};

use super::{CHANNELS, over_rows, same_length};
use crate::error::CoreError;

/// Linear sRGB to XYZ, by rows.
const TO_XYZ: [[f64; 3]; 3] =
    [[0.412_453, 0.357_580, 0.180_423], [0.212_671, 0.715_160, 0.072_169], [0.019_334, 0.119_193, 0.950_227]];
/// XYZ of D65.
const WHITE: [f64; 3] = [0.950_47, 1.0, 1.088_83];
/// 25⁷.
const CHROMA_LIMIT: f64 = 6_103_515_625.0;

/// The mean of the colour differences of all pixels; one at which a trained eye sees a difference is about 1.
///
/// # Errors
/// `BadArgument` for pictures of two sizes, or without a pixel.
pub fn colour_difference(one: &[u8], other: &[u8], width: usize, threads: usize) -> Result<f64, CoreError> {
    same_length(one, other)?;
    let stride = CHANNELS * width;
    if one.is_empty() || stride == 0 || one.len() % stride != 0 {
        return Err(CoreError::BadArgument("the pictures have no pixel, or no whole rows"));
    }
    let linear: [f64; 256] = std::array::from_fn(|value| to_linear(value as f64 / 255.0));
    let [sum] = over_rows(
        one.len() / stride,
        threads,
        || (),
        |(), first, end| {
            let place = first * stride..end * stride;
            let pixels = one[place.clone()].chunks_exact(CHANNELS).zip(other[place].chunks_exact(CHANNELS));
            let differing = pixels.filter(|(a, b)| a != b);
            Ok([differing.map(|(a, b)| ciede2000(lab(a, &linear), lab(b, &linear))).sum()])
        },
    )?;
    Ok(sum / (one.len() / CHANNELS) as f64)
}

fn to_linear(value: f64) -> f64 {
    if value > 0.040_45 { ((value + 0.055) / 1.055).powf(2.4) } else { value / 12.92 }
}

/// CIELAB of one pixel.
fn lab(pixel: &[u8], linear: &[f64; 256]) -> [f64; 3] {
    let [x, y, z] = std::array::from_fn(|row| {
        let sum: f64 = TO_XYZ[row].iter().zip(pixel).map(|(weight, value)| weight * linear[usize::from(*value)]).sum();
        let share = sum / WHITE[row];
        if share > 0.008_856 { share.cbrt() } else { 7.787 * share + 16.0 / 116.0 }
    });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// The difference of two colours in CIELAB, with `kL = kC = kH = 1`.
fn ciede2000([light_1, a_1, b_1]: [f64; 3], [light_2, a_2, b_2]: [f64; 3]) -> f64 {
    let stretch = 0.5 * (1.0 - saturation(0.5 * (a_1.hypot(b_1) + a_2.hypot(b_2)))) + 1.0;
    let (a_1, a_2) = (stretch * a_1, stretch * a_2);
    let (chroma_1, chroma_2) = (a_1.hypot(b_1), a_2.hypot(b_2));
    let (hue_1, hue_2) = (hue(a_1, b_1), hue(a_2, b_2));

    let (mut turn, mut hue) = (hue_2 - hue_1, hue_1 + hue_2);
    if chroma_1 * chroma_2 == 0.0 {
        turn = 0.0;
    } else if turn.abs() > PI {
        turn -= TAU.copysign(turn);
        hue += if hue < TAU { TAU } else { -TAU };
    }
    if chroma_1 * chroma_2 != 0.0 {
        hue *= 0.5;
    }
    let light = 0.5 * (light_1 + light_2) - 50.0;
    let chroma = 0.5 * (chroma_1 + chroma_2);
    let by_hue = 1.0 - 0.17 * (hue - PI / 6.0).cos()
        + 0.24 * (2.0 * hue).cos()
        + 0.32 * (3.0 * hue + 6.0_f64.to_radians()).cos()
        - 0.20 * (4.0 * hue - 63.0_f64.to_radians()).cos();

    let in_light = (light_2 - light_1) / (1.0 + 0.015 * light * light / (20.0 + light * light).sqrt());
    let in_chroma = (chroma_2 - chroma_1) / (1.0 + 0.045 * chroma);
    let in_hue = 2.0 * (chroma_1 * chroma_2).sqrt() * (0.5 * turn).sin() / (1.0 + 0.015 * chroma * by_hue);
    let blue = 60.0 * (-((hue.to_degrees() - 275.0) / 25.0).powi(2)).exp();
    let rotation = -2.0 * saturation(chroma) * blue.to_radians().sin();
    let squares = in_light * in_light + in_chroma * in_chroma + in_hue * in_hue;
    (squares + rotation * in_chroma * in_hue).max(0.0).sqrt()
}

/// `√(C⁷ / (C⁷ + 25⁷))`: near 0 for grey, near 1 for strong colours.
fn saturation(chroma: f64) -> f64 {
    let power = chroma.powi(7);
    (power / (power + CHROMA_LIMIT)).sqrt()
}

/// The angle of a colour, 0 to 2π.
fn hue(a: f64, b: f64) -> f64 {
    let angle = b.atan2(a);
    if angle < 0.0 { angle + TAU } else { angle }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_the_published_test_data_have_their_printed_differences() {
        // Sharma, Wu and Dalal 2005, table 1: hues across 0, one grey, far apart, near the blue.
        let pairs = [
            ([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425),
            ([50.0, 0.0, 0.0], [50.0, -1.0, 2.0], 2.3669),
            ([50.0, 2.49, -0.001], [50.0, -2.49, 0.0009], 7.1792),
            ([50.0, 2.49, -0.001], [50.0, -2.49, 0.0011], 7.2195),
            ([50.0, 2.5, 0.0], [50.0, 0.0, -2.5], 4.3065),
            ([50.0, 2.5, 0.0], [73.0, 25.0, -18.0], 27.1492),
            ([60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644),
            ([22.7233, 20.0904, -46.6940], [23.0331, 14.9730, -42.5619], 2.0373),
            ([2.0776, 0.0795, -1.1350], [0.9033, -0.0636, -0.5514], 0.9082),
        ];
        for (one, other, printed) in pairs {
            assert!((ciede2000(one, other) - printed).abs() < 1e-4, "{one:?} and {other:?}");
            assert!((ciede2000(other, one) - printed).abs() < 1e-4, "{other:?} and {one:?}");
        }
    }

    #[test]
    fn pictures_of_two_sizes_and_of_no_pixel_are_refused() {
        assert!(colour_difference(&[0; 6], &[0; 3], 1, 1).is_err());
        assert!(colour_difference(&[], &[], 1, 1).is_err() && colour_difference(&[0; 9], &[0; 9], 2, 1).is_err());
    }
}
