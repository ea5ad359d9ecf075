//! Records, the blocks that contain them, and the scanner that finds them.

pub(crate) mod block;
pub(crate) mod damaged_range_cursor;
pub(crate) mod doubtful_records;
pub(crate) mod record_scanner;
