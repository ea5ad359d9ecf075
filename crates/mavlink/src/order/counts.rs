//! Counts of the packets of a stream.

/// What happened to the packets that arrived, and how many did not arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PacketCounts {
    /// The packets of the stream.
    pub(crate) accepted: u64,
    /// The packets that never arrived, or that arrived too late.
    pub(crate) lost: u64,
    /// The packets that had arrived before, with the same bytes.
    pub(crate) repeated: u64,
    /// The packets that arrived after they were counted as lost.
    pub(crate) late: u64,
    /// The packets that were dropped because their numbers do not continue the stream.
    pub(crate) out_of_sequence: u64,
}
