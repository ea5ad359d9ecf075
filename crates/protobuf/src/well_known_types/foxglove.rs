//! Messages that Foxglove displays without configuration: log messages, positions on the map,
//! transforms between frames, and poses.

use crate::{
    descriptor::FileSet,
    well_known_types::{
        encode::{append_doubles, append_timestamp},
        files,
    },
    wire::{append_number, append_sized, append_unless_empty},
};

/// A log message: `foxglove.Log`.
#[derive(Clone, Copy, Debug)]
pub struct FoxgloveLog<'t> {
    /// The time in nanoseconds since 1970, or on another clock.
    pub nanos: i64,
    /// The severity.
    pub level: LogLevel,
    /// The text.
    pub message: &'t str,
    /// The name of the source.
    pub name: &'t str,
}

/// The severity of a log message.
#[allow(missing_docs)] // the names explain themselves
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    Unknown = 0,
    Debug = 1,
    Info = 2,
    Warning = 3,
    Error = 4,
    Fatal = 5,
}

/// A position on the map: `foxglove.LocationFix`.
#[derive(Clone, Copy, Debug)]
pub struct LocationFix {
    /// The time in nanoseconds; see [`FoxgloveLog`].
    pub nanos: i64,
    /// The latitude in degrees, positive to the north.
    pub latitude: f64,
    /// The longitude in degrees, positive to the east.
    pub longitude: f64,
    /// The altitude in meters; 0 if it is not known.
    pub altitude: f64,
    /// The name of the frame.
    pub frame_id: &'static str,
}

/// The transform from one frame to another: `foxglove.FrameTransform`.
#[derive(Clone, Copy, Debug)]
pub struct FrameTransform<'t> {
    /// The time in nanoseconds; see [`FoxgloveLog`].
    pub nanos: i64,
    /// The name of the parent frame.
    pub parent: &'t str,
    /// The name of the child frame.
    pub child: &'t str,
    /// The position of the child in the parent frame, in meters.
    pub translation: [f64; 3],
    /// The orientation of the child: a quaternion, `x`, `y`, `z`, `w`.
    pub rotation: [f64; 4],
}

/// The pose of an object: `foxglove.PoseInFrame`.
#[derive(Clone, Copy, Debug)]
pub struct PoseInFrame<'t> {
    /// The time in nanoseconds; see [`FoxgloveLog`].
    pub nanos: i64,
    /// The name of the frame of the pose.
    pub frame_id: &'t str,
    /// The position in meters.
    pub position: [f64; 3],
    /// The orientation: a quaternion, `x`, `y`, `z`, `w`.
    pub orientation: [f64; 4],
}

impl FoxgloveLog<'_> {
    /// The full name of the type.
    pub const TYPE: &'static str = "foxglove.Log";

    /// Returns the files that define the type.
    pub fn files() -> FileSet {
        files::log()
    }

    /// Appends the encoded message to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        append_timestamp(out, 1, self.nanos);
        if self.level != LogLevel::Unknown {
            append_number(out, 2, self.level as u64);
        }
        append_unless_empty(out, 3, self.message.as_bytes());
        append_unless_empty(out, 4, self.name.as_bytes());
    }
}

impl LocationFix {
    /// The full name of the type.
    pub const TYPE: &'static str = "foxglove.LocationFix";

    /// Returns the files that define the type.
    pub fn files() -> FileSet {
        files::location_fix()
    }

    /// Appends the encoded message to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        append_doubles(out, &[self.latitude, self.longitude, self.altitude]);
        append_timestamp(out, 6, self.nanos);
        append_unless_empty(out, 7, self.frame_id.as_bytes());
    }
}

impl FrameTransform<'_> {
    /// The full name of the type.
    pub const TYPE: &'static str = "foxglove.FrameTransform";

    /// Returns the files that define the type.
    pub fn files() -> FileSet {
        files::frame_transform()
    }

    /// Appends the encoded message to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        append_timestamp(out, 1, self.nanos);
        append_unless_empty(out, 2, self.parent.as_bytes());
        append_unless_empty(out, 3, self.child.as_bytes());
        append_sized(out, 4, |out| append_doubles(out, &self.translation));
        append_sized(out, 5, |out| append_doubles(out, &self.rotation));
    }
}

impl PoseInFrame<'_> {
    /// The full name of the type.
    pub const TYPE: &'static str = "foxglove.PoseInFrame";

    /// Returns the files that define the type.
    pub fn files() -> FileSet {
        files::pose_in_frame()
    }

    /// Appends the encoded message to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        append_timestamp(out, 1, self.nanos);
        append_unless_empty(out, 2, self.frame_id.as_bytes());
        append_sized(out, 3, |out| {
            append_sized(out, 1, |out| append_doubles(out, &self.position));
            append_sized(out, 2, |out| append_doubles(out, &self.orientation));
        });
    }
}
