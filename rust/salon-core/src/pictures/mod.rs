//! How far two pictures of one size are apart: squared error, structural similarity, colour difference.
//!
//! Pictures are rows of red, green and blue, eight bits each, interleaved. Every sum is taken in blocks of rows whose number
//! depends on the picture alone, so a result has the same bits on any number of threads, and in both orders of the pictures.

pub mod colour;
pub mod similarity;

use crate::error::CoreError;
use crate::workers::in_blocks;

/// Red, green, blue.
pub const CHANNELS: usize = 3;

/// Rows that one worker sums at a time.
const ROWS: usize = 64;

/// The sum of squared differences of all values, exactly.
///
/// # Errors
/// `LengthMismatch` for pictures of two sizes.
pub fn squared_error(one: &[u8], other: &[u8]) -> Result<u64, CoreError> {
    same_length(one, other)?;
    let row = |(one, other): (&[u8], &[u8])| -> u64 {
        let squares = one.iter().zip(other).map(|(a, b)| u32::from(a.abs_diff(*b)).pow(2));
        u64::from(squares.sum::<u32>())
    };
    // 65,025 times 65,536 is below 2³².
    Ok(one.chunks(1 << 16).zip(other.chunks(1 << 16)).map(row).sum())
}

fn same_length<T>(one: &[T], other: &[T]) -> Result<(), CoreError> {
    if one.len() == other.len() {
        return Ok(());
    }
    Err(CoreError::BadArgument("the pictures have two sizes"))
}

/// Sum `work(tools, first, last)` over the rows `0..rows`, block by block; each block gives `N` sums.
fn over_rows<T, const N: usize>(
    rows: usize,
    threads: usize,
    tools: impl Fn() -> T + Sync,
    work: impl Fn(&mut T, usize, usize) -> Result<[f64; N], CoreError> + Sync,
) -> Result<[f64; N], CoreError> {
    let mut sums = vec![0.0; rows.div_ceil(ROWS) * N];
    in_blocks(&mut sums, N, threads, tools, |tools, number, block| {
        let first = number * ROWS;
        block.copy_from_slice(&work(tools, first, rows.min(first + ROWS))?);
        Ok(())
    })?;
    let mut total = [0.0; N];
    for block in sums.chunks(N) {
        total.iter_mut().zip(block).for_each(|(sum, part)| *sum += part);
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squared_errors_are_exact_at_the_largest_difference_and_across_chunks() {
        let (black, white) = (vec![0_u8; 200_001], vec![255_u8; 200_001]);
        assert_eq!(squared_error(&black, &white).unwrap(), 200_001 * 65_025);
        assert_eq!(squared_error(&white, &white).unwrap(), 0);
        assert!(squared_error(&black, &white[1..]).is_err());
    }
}
