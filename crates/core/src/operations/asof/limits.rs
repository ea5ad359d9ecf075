//! How much is in memory at once.

/// How much of everything there is in memory at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// About how many bytes of the log to read in one piece.
    pub(super) part_bytes: u64,
    /// How many of those pieces to read side by side.
    pub(super) width: usize,
    /// After how many bytes of a piece what is decoded is thinned out.
    pub(super) thin_bytes: usize,
    /// How many bytes may wait for their rows of the table.
    pub(super) pending_bytes: usize,
    /// The most rows, and about the most bytes, to write at once.
    pub(super) batch_rows: u32,
    pub(super) batch_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            part_bytes: 2 << 20,
            width: rayon::current_num_threads().clamp(1, 8),
            thin_bytes: 4 << 20,
            pending_bytes: 128 << 20,
            batch_rows: 8192,
            batch_bytes: 16 << 20,
        }
    }
}
