//! How much memory there is, and how much of it a log takes.

use std::fs;

/// What is taken for the memory of a machine that does not tell.
const UNKNOWN: u64 = 8 << 30;
/// What a log takes, however short it is.
const LEAST: u64 = 8 << 20;
/// What the tables of a log hold back, and what writing them takes.
const TABLES: u64 = 144 << 20;
/// What each thread has decoded of a long log, and one more.
const PIECE: u64 = 52 << 20;
/// A byte of a log becomes so many in memory.
const GROWTH: u64 = 6;

/// A quarter of the memory that this program may have.
pub(super) fn quarter() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kilobytes << 10)
    });
    // What a container is allowed.
    let limits =
        ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let limits = limits
        .into_iter()
        .filter_map(|path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok());
    limits.chain(machine).min().unwrap_or(UNKNOWN) / 4
}

/// About how much memory a log of so many bytes takes at most, on so many threads.
pub(super) fn cost(bytes: u64, threads: usize) -> u64 {
    LEAST.saturating_add(bytes.saturating_mul(GROWTH)).min(long(threads))
}

/// The number of threads, at most `threads`, on which a long log takes no more than `memory`.
pub(super) fn threads_for(memory: u64, threads: usize) -> usize {
    (1..=threads).rev().find(|threads| long(*threads) <= memory).unwrap_or(1)
}

fn long(threads: usize) -> u64 {
    TABLES + PIECE * (threads as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_memory_is_few_threads() {
        assert_eq!(threads_for(64 << 30, 16), 16);
        assert_eq!(threads_for(300 << 20, 16), 2);
        assert_eq!(threads_for(1 << 20, 16), 1);
        assert!(cost(u64::MAX, 4) == long(4) && cost(0, 4) == LEAST);
    }
}
