//! Messages that Foxglove shows by themselves: a line of a log, a place on the map.
//!
//! Source: `Log.proto` and `LocationFix.proto` of foxglove-sdk, of which these are the
//! fields that all versions have.

use crate::{
    descriptor::{Enum, Field, File, FileSet, Message, PROTO3, kind},
    known::{TIMESTAMP, TIMESTAMP_FILE, timestamp_file},
    wire::{FIXED64, key_of, put_bytes, put_number, put_sized, put_varint},
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
}

impl FoxgloveLog<'_> {
    /// The full name of the type.
    pub const TYPE: &'static str = "foxglove.Log";

    /// What the type looks like.
    pub fn files() -> FileSet {
        let levels = ["UNKNOWN", "DEBUG", "INFO", "WARNING", "ERROR", "FATAL"];
        let fields = vec![
            Field::new("timestamp", 1, kind::MESSAGE).of_type(TIMESTAMP),
            Field::new("level", 2, kind::ENUM).of_type(".foxglove.Log.Level"),
            Field::new("message", 3, kind::STRING),
            Field::new("name", 4, kind::STRING),
            Field::new("file", 5, kind::STRING),
            Field::new("line", 6, kind::FIXED32),
        ];
        files("Log", fields, numbered("Level", &levels))
    }

    /// Adds the message to `out`.
    pub fn put(&self, out: &mut Vec<u8>) {
        put_moment(out, 1, self.nanos);
        if self.level != LogLevel::Unknown {
            put_number(out, 2, self.level as u64);
        }
        put_text(out, 3, self.message);
        put_text(out, 4, self.name);
    }
}

impl LocationFix {
    /// The full name of the type.
    pub const TYPE: &'static str = "foxglove.LocationFix";

    /// What the type looks like.
    pub fn files() -> FileSet {
        const KIND: &str = ".foxglove.LocationFix.PositionCovarianceType";
        let kinds = ["UNKNOWN", "APPROXIMATED", "DIAGONAL_KNOWN", "KNOWN"];
        let fields = vec![
            Field::new("timestamp", 6, kind::MESSAGE).of_type(TIMESTAMP),
            Field::new("frame_id", 7, kind::STRING),
            Field::new("latitude", 1, kind::DOUBLE),
            Field::new("longitude", 2, kind::DOUBLE),
            Field::new("altitude", 3, kind::DOUBLE),
            Field::new("position_covariance", 4, kind::DOUBLE).repeated(),
            Field::new("position_covariance_type", 5, kind::ENUM).of_type(KIND),
        ];
        files("LocationFix", fields, numbered("PositionCovarianceType", &kinds))
    }

    /// Adds the message to `out`.
    pub fn put(&self, out: &mut Vec<u8>) {
        let numbers = [(1, self.latitude), (2, self.longitude), (3, self.altitude)];
        for (number, value) in numbers {
            put_varint(out, key_of(number, FIXED64));
            out.extend_from_slice(&value.to_le_bytes());
        }
        put_moment(out, 6, self.nanos);
    }
}

/// The files of a type of Foxglove's: its fields, and an enumeration in it.
fn files(name: &str, fields: Vec<Field>, one: Enum) -> FileSet {
    let message = Message {
        name: name.to_owned(),
        fields,
        enums: vec![one],
        ..Message::default()
    };
    let own = File {
        name: format!("foxglove/{name}.proto"),
        package: "foxglove".to_owned(),
        imports: vec![TIMESTAMP_FILE.to_owned()],
        messages: vec![message],
        syntax: PROTO3.to_owned(),
        ..File::default()
    };
    FileSet { files: vec![timestamp_file(), own] }
}

fn numbered(name: &str, values: &[&str]) -> Enum {
    let values = (0..).zip(values).map(|(number, value)| ((*value).to_owned(), number));
    Enum { name: name.to_owned(), values: values.collect() }
}

fn put_moment(out: &mut Vec<u8>, number: u32, nanos: i64) {
    const SECOND: i64 = 1_000_000_000;
    put_sized(out, number, |out| {
        put_number(out, 1, nanos.div_euclid(SECOND) as u64);
        put_number(out, 2, nanos.rem_euclid(SECOND) as u64);
    });
}

fn put_text(out: &mut Vec<u8>, number: u32, text: &str) {
    if !text.is_empty() {
        put_bytes(out, number, text.as_bytes());
    }
}
