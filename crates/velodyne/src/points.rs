//! Decodes packets to columns of points.

// In reading order: each module uses only those above it.
mod firing;

mod rotation;

mod options;
mod packet_time;

mod scans;

mod block;

mod packet_decoder;

mod return_modes;

mod decoder;

pub use crate::points::block::point_buffer::BOTH;
pub use crate::points::block::point_buffer::LAST;
pub use crate::points::block::point_buffer::PARTIAL_SCANS;
pub use crate::points::block::point_buffer::STRONGEST;
pub use crate::points::block::point_buffer::UNIT;
pub use crate::points::block::point_buffer::schema;
pub use crate::points::decoder::PointDecoder;
pub(crate) use crate::points::firing::sin_cos_table::TURN;
pub use crate::points::options::Axes;
pub use crate::points::options::Formula;
pub use crate::points::options::PointOptions;
pub use crate::points::options::TimeSource;
pub(crate) use crate::points::packet_time::nearest_time_past_hour;
pub use crate::points::rotation::blanked_sector::BlankedSector;
pub(crate) use crate::points::rotation::field_of_view::EXAMINED_PACKETS;
pub(crate) use crate::points::rotation::field_of_view::FieldOfViewProbe;
pub(crate) use crate::points::rotation::lost_packets::LossCounter;
pub use crate::points::scans::index::ScanIndex;
pub use crate::points::scans::index::ScanNumbers;
pub use crate::points::scans::index::ScanStart;
pub use crate::points::scans::tracker::ScanTracker;
