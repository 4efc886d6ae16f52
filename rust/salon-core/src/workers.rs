//! Several threads that fill one table, block by block.
//!
//! What a block holds must depend on its number alone; threads only decide who computes it. So the result is the same,
//! bit for bit, on any number of threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::CoreError;

const MOST_THREADS: usize = 256;

/// Call `work(tools, number, block)` for every block of `size` values (the last may be shorter); every thread makes
/// its own `tools`.
///
/// # Errors
/// The first error of any worker; the others stop at their own.
pub fn in_blocks<T>(
    values: &mut [f64],
    size: usize,
    threads: usize,
    tools: impl Fn() -> T + Sync,
    work: impl Fn(&mut T, usize, &mut [f64]) -> Result<(), CoreError> + Sync,
) -> Result<(), CoreError> {
    let blocks: Vec<Mutex<&mut [f64]>> = values.chunks_mut(size.max(1)).map(Mutex::new).collect();
    let next = AtomicUsize::new(0);
    let worker = || -> Result<(), CoreError> {
        let mut tools = tools();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(Ok(mut block)) = blocks.get(number).map(Mutex::try_lock) else {
                return Ok(());
            };
            work(&mut tools, number, &mut block)?;
        }
    };
    std::thread::scope(|scope| {
        // More threads than blocks would have nothing to do; a thread that the system will not give is done without.
        let wanted = threads.min(blocks.len()).min(MOST_THREADS);
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, worker).ok();
        let others: Vec<_> = (1..wanted).filter_map(start).collect();
        let mut outcome = worker();
        for other in others {
            let joined = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outcome = outcome.and(joined);
        }
        outcome
    })
}
