//! Times: the clocks on which they are shown, how they are written, and which are usable.

pub mod clock;
pub mod late_times;
pub mod offset;
pub mod part_times;
pub(crate) mod period_values;
pub mod record_span;
pub mod repaired_times;
pub(crate) mod segments;
pub mod typed_time;
