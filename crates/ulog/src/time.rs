//! The times of records, and the clock of a log.

pub(crate) mod clock;
pub(crate) mod counter;
pub(crate) mod pauses;
pub(crate) mod utc_offset;
