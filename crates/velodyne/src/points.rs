//! From packets to points: columns of numbers from the first line on.

mod options;

mod clock;

mod circle;
mod timing;
mod tracker;

mod intensity;
mod lasers;
mod runs;
mod two_point;

mod arrangement;
mod heading;
mod part;
mod scan;
mod table;

mod unpack;

mod modes;

mod decoder;

pub(crate) use crate::points::clock::nearest;
pub use crate::points::{
    decoder::PointDecoder,
    options::{Axes, Formula, PointOptions, TimeSource},
    scan::{ScanIndex, ScanStart, Scans},
    table::{BOTH, LAST, PARTIAL, STRONGEST, UNIT, schema},
    tracker::ScanTracker,
};
