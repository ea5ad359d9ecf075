//! Limits of memory.

/// Limits of the memory in use at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryLimits {
    /// The approximate number of bytes of the log to read as one part.
    pub(super) part_bytes: u64,
    /// The number of parts to read in parallel.
    pub(super) parallel_parts: usize,
    /// The number of decoded bytes of a part after which its rows are reduced to those
    /// that the table needs.
    pub(super) reduction_bytes: usize,
    /// The maximum number of bytes of pending rows.
    pub(super) pending_bytes: usize,
    /// The maximum number of rows in a batch, and its approximate maximum size in bytes.
    pub(super) batch_rows: u32,
    pub(super) batch_bytes: usize,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        Self {
            part_bytes: 2 << 20,
            parallel_parts: rayon::current_num_threads().clamp(1, 8),
            reduction_bytes: 4 << 20,
            pending_bytes: 128 << 20,
            batch_rows: 8192,
            batch_bytes: 16 << 20,
        }
    }
}
