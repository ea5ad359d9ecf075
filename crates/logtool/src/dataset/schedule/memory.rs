//! Estimates of memory: of the machine, and of the work on a log.

use std::fs;

/// The memory of a machine that does not state it.
const UNKNOWN_BYTES: u64 = 8 << 30;
/// The memory for a short log.
const MIN_LOG_BYTES: u64 = 8 << 20;
/// The rows that the tables of a log buffer, and the encoding of tables.
const TABLE_BYTES: u64 = 144 << 20;
/// The decoded part of a long log for each thread; there is one more part than threads.
const PART_BYTES: u64 = 52 << 20;
/// The memory for each byte of a log.
const GROWTH: u64 = 6;

/// Returns a quarter of the memory that this process may use.
pub(super) fn default_limit() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kibibytes << 10)
    });
    // The limits of containers: cgroups 2 and 1.
    let limits =
        ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let limits = limits
        .into_iter()
        .filter_map(|path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok());
    limits.chain(machine).min().unwrap_or(UNKNOWN_BYTES) / 4
}

/// Returns about how much memory a log of `bytes` bytes needs at most, on `threads` threads.
pub(super) fn log_cost(bytes: u64, threads: usize) -> u64 {
    let cost = MIN_LOG_BYTES.saturating_add(bytes.saturating_mul(GROWTH));
    cost.min(long_log_cost(threads))
}

/// Returns the number of threads, up to `threads`, on which a long log needs at most `memory`.
pub(super) fn max_threads(memory: u64, threads: usize) -> usize {
    let fits = |threads: &usize| long_log_cost(*threads) <= memory;
    (1..=threads).rev().find(fits).unwrap_or(1)
}

fn long_log_cost(threads: usize) -> u64 {
    TABLE_BYTES + PART_BYTES * (threads as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn max_threads_falls_with_the_memory() {
        assert_eq!(max_threads(64 << 30, 16), 16);
        assert_eq!(max_threads(300 << 20, 16), 2);
        assert_eq!(max_threads(1 << 20, 16), 1);
        assert_eq!(log_cost(u64::MAX, 4), long_log_cost(4));
        assert_eq!(log_cost(0, 4), MIN_LOG_BYTES);
    }
}
