//! Decodes packets to columns of points.

mod blanked;
mod options;

mod clock;

mod pace;
mod sin_cos_table;
mod timing;
mod tracker;

mod intensity;
mod lasers;
mod runs;
mod two_point;

mod arrangement;
mod field_of_view;
mod heading;
mod losses;
mod moves;
mod part;
mod scan;
mod table;

mod unpack;

mod modes;

mod decoder;

pub use crate::points::{
    blanked::BlankedSector,
    decoder::PointDecoder,
    options::{Axes, Formula, PointOptions, TimeSource},
    scan::{ScanIndex, ScanStart, Scans},
    table::{BOTH, LAST, PARTIAL, STRONGEST, UNIT, schema},
    tracker::ScanTracker,
};
pub(crate) use crate::points::{
    clock::nearest,
    field_of_view::{FIRST_PACKETS, FieldProbe},
    losses::Losses,
    sin_cos_table::TURN,
};
