//! Messages that Foxglove shows by themselves: a line of a log, a place on the map, how one
//! frame lies in another.

use crate::{
    descriptor::FileSet,
    known::{
        files,
        put::{put_doubles, put_moment, put_text},
    },
    wire::{put_number, put_sized},
};

/// A line of a log: `foxglove.Log`.
#[derive(Clone, Copy, Debug)]
pub struct FoxgloveLog<'t> {
    /// When it was said: nanoseconds since 1970, or on whatever clock there is.
    pub nanos: i64,
    /// How urgent it is.
    pub level: LogLevel,
    /// What was said.
    pub message: &'t str,
    /// Who said it.
    pub name: &'t str,
}

/// How urgent a line of a log is.
#[allow(missing_docs)] // they say it themselves
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    Unknown = 0,
    Debug = 1,
    Info = 2,
    Warning = 3,
    Error = 4,
    Fatal = 5,
}

/// A place on the map: `foxglove.LocationFix`.
#[derive(Clone, Copy, Debug)]
pub struct LocationFix {
    /// When it was there: as of [`FoxgloveLog`].
    pub nanos: i64,
    /// Degrees to the north.
    pub latitude: f64,
    /// Degrees to the east.
    pub longitude: f64,
    /// Metres; 0 if nothing is known.
    pub altitude: f64,
    /// What was there.
    pub frame_id: &'static str,
}

/// How one frame lies in another: `foxglove.FrameTransform`.
#[derive(Clone, Copy, Debug)]
pub struct FrameTransform<'t> {
    /// When it did: as of [`FoxgloveLog`].
    pub nanos: i64,
    /// The frame in which it lies.
    pub parent: &'t str,
    /// The frame that does.
    pub child: &'t str,
    /// Where, in metres.
    pub translation: [f64; 3],
    /// How it is turned: a quaternion, `x`, `y`, `z`, `w`.
    pub rotation: [f64; 4],
}

impl FoxgloveLog<'_> {
    /// The full name of the type.
    pub const TYPE: &'static str = "foxglove.Log";

    /// What the type looks like.
    pub fn files() -> FileSet {
        files::log()
    }

    /// Adds the message to `out`.
    pub fn put(&self, out: &mut Vec<u8>) {
        put_moment(out, 1, self.nanos);
        if self.level != LogLevel::Unknown {
            put_number(out, 2, self.level as u64);
        }
        put_text(out, 3, self.message.as_bytes());
        put_text(out, 4, self.name.as_bytes());
    }
}

impl LocationFix {
    /// The full name of the type.
    pub const TYPE: &'static str = "foxglove.LocationFix";

    /// What the type looks like.
    pub fn files() -> FileSet {
        files::location_fix()
    }

    /// Adds the message to `out`.
    pub fn put(&self, out: &mut Vec<u8>) {
        put_doubles(out, &[self.latitude, self.longitude, self.altitude]);
        put_moment(out, 6, self.nanos);
        put_text(out, 7, self.frame_id.as_bytes());
    }
}

impl FrameTransform<'_> {
    /// The full name of the type.
    pub const TYPE: &'static str = "foxglove.FrameTransform";

    /// What the type looks like.
    pub fn files() -> FileSet {
        files::frame_transform()
    }

    /// Adds the message to `out`.
    pub fn put(&self, out: &mut Vec<u8>) {
        put_moment(out, 1, self.nanos);
        put_text(out, 2, self.parent.as_bytes());
        put_text(out, 3, self.child.as_bytes());
        put_sized(out, 4, |out| put_doubles(out, &self.translation));
        put_sized(out, 5, |out| put_doubles(out, &self.rotation));
    }
}
