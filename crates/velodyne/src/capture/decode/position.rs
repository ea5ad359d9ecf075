//! Position packets: the sentence of the GPS receiver, and the synchronization of the
//! lidar's clock.
//!
//! ```text
//!  14   motion data of an HDL-32E, see [`motion`](super::motion)
//! 198   time u32, us past the hour
//! 202   state of the pulse per second u8: 0 absent, 1 synchronizing, 2 locked, 3 error
//! 206   a sentence of NMEA 0183: $GPRMC or $GPGGA, ended by a line break or NUL
//! ```
//! (VLP-16 manual 63-9243, 9.4.2.) 512 bytes.

use std::sync::Arc;

use arrow_array::{
    ArrayRef,
    builder::{
        BooleanBuilder, FixedSizeBinaryBuilder, Float32Builder, Float64Builder,
        StringBuilder, TimestampNanosecondBuilder, UInt32Builder,
    },
};
use arrow_schema::{DataType, Field, SchemaRef, TimeUnit};
use logtool_core::{ByteReader, DamageKind, Decoder, Record};
use nmea::{ParseResult, sentences::rmc::RmcStatusOfFix};

use crate::{
    capture::{
        decode::motion::{self, MotionColumns},
        packets::payload::{NMEA_START, POSITION_BYTES},
    },
    points::UNIT,
    rows::{RowBuilders, RowsDecoder},
};

/// The maximum length of a sentence that is parsed. NMEA 0183 allows 82 characters, but
/// receivers send longer sentences.
const MAX_SENTENCE_LEN: usize = 160;

/// The pulse state of a synchronized clock.
pub(crate) const LOCKED: u8 = 2;

/// The offsets of the time and of the state of the pulse.
const STAMP_START: usize = 198;
const PULSE_START: usize = 202;

/// A parsed position packet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Position {
    /// Microseconds past the hour.
    pub(crate) stamp: u32,
    /// The state of the pulse of the receiver, e.g. [`LOCKED`].
    pub(crate) pulse: u8,
    /// The unparsed sentence.
    pub(crate) sentence: Option<String>,
    pub(crate) fix: PositionFix,
}

/// The values of a sentence. Those that it does not contain are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PositionFix {
    /// Nanoseconds since 1970, if the sentence contains a date.
    pub(crate) utc_nanos: Option<i64>,
    /// Nanoseconds since midnight UTC, even without a date.
    pub(crate) nanos_of_day: Option<i64>,
    /// Whether the receiver has a fix.
    pub(crate) is_valid: Option<bool>,
    latitude: Option<f64>,
    longitude: Option<f64>,
    speed: Option<f32>,
    course: Option<f32>,
    altitude: Option<f32>,
    satellites: Option<u32>,
}

impl Position {
    /// Parses the position packet `bytes`, or returns `None` if it is too short.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let stamp = ByteReader::new(bytes.get(STAMP_START..)?).u32()?;
        let pulse = *bytes.get(PULSE_START)?;
        let is_end = |byte: &u8| matches!(byte, 0 | b'\r' | b'\n');
        let sentence = bytes
            .get(NMEA_START..)?
            .split(is_end)
            .next()
            .filter(|sentence| sentence.starts_with(b"$"))
            .map(|sentence| String::from_utf8_lossy(sentence).into_owned());
        let fix = sentence.as_deref().map(PositionFix::parse).unwrap_or_default();
        Some(Self { stamp, pulse, sentence, fix })
    }

    fn pulse_name(&self) -> &'static str {
        match self.pulse {
            0 => "absent",
            1 => "synchronizing",
            LOCKED => "locked",
            3 => "error",
            _ => "unknown",
        }
    }
}

impl PositionFix {
    /// Parses `sentence`. The values of an unknown sentence, or of one with a wrong
    /// checksum, are `None`.
    fn parse(sentence: &str) -> Self {
        if sentence.len() > MAX_SENTENCE_LEN {
            return Self::default();
        }
        match nmea::parse_str(sentence) {
            Ok(ParseResult::RMC(rmc)) => {
                let utc = rmc
                    .fix_date
                    .zip(rmc.fix_time)
                    .map(|(date, time)| date.and_time(time).and_utc());
                Self {
                    utc_nanos: utc.and_then(|utc| utc.timestamp_nanos_opt()),
                    nanos_of_day: rmc.fix_time.and_then(|time| {
                        time.signed_duration_since(Default::default()).num_nanoseconds()
                    }),
                    is_valid: Some(rmc.status_of_fix != RmcStatusOfFix::Invalid),
                    latitude: rmc.lat,
                    longitude: rmc.lon,
                    speed: rmc.speed_over_ground,
                    course: rmc.true_course,
                    ..Self::default()
                }
            }
            Ok(ParseResult::GGA(gga)) => Self {
                nanos_of_day: gga.fix_time.and_then(|time| {
                    time.signed_duration_since(Default::default()).num_nanoseconds()
                }),
                is_valid: gga.fix_type.map(|fix_type| fix_type.is_valid()),
                latitude: gga.latitude,
                longitude: gga.longitude,
                altitude: gga.altitude,
                satellites: gga.fix_satellites,
                ..Self::default()
            },
            _ => Self::default(),
        }
    }
}

/// Returns the columns.
pub(crate) fn fields() -> Vec<Field> {
    let field_with_unit = |name: &str, kind: DataType, unit: &str| {
        let metadata = [(UNIT.to_owned(), unit.to_owned())].into();
        Field::new(name, kind, true).with_metadata(metadata)
    };
    let utc = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
    let mut fields = vec![
        field_with_unit("stamp", DataType::UInt32, "us past the hour"),
        Field::new("pulse", DataType::Utf8, true),
        Field::new("sentence", DataType::Utf8, true),
        Field::new("utc", utc, true),
        Field::new("is_valid", DataType::Boolean, true),
        field_with_unit("latitude", DataType::Float64, "deg"),
        field_with_unit("longitude", DataType::Float64, "deg"),
        field_with_unit("speed", DataType::Float32, "knot"),
        field_with_unit("course", DataType::Float32, "deg"),
        field_with_unit("altitude", DataType::Float32, "m"),
        Field::new("satellites", DataType::UInt32, true),
    ];
    fields.extend(motion::fields());
    let data = DataType::FixedSizeBinary(POSITION_BYTES as i32);
    fields.push(Field::new("data", data, true));
    fields
}

/// Returns a decoder of the columns of `schema` that are selected in `is_selected`.
pub(crate) fn decoder(schema: &SchemaRef, is_selected: &[bool]) -> Box<dyn Decoder> {
    let rows = PositionRows {
        is_selected: is_selected.to_vec(),
        stamp: UInt32Builder::new(),
        pulse: StringBuilder::new(),
        sentence: StringBuilder::new(),
        utc: TimestampNanosecondBuilder::new().with_timezone("UTC"),
        is_valid: BooleanBuilder::new(),
        latitude: Float64Builder::new(),
        longitude: Float64Builder::new(),
        speed: Float32Builder::new(),
        course: Float32Builder::new(),
        altitude: Float32Builder::new(),
        satellites: UInt32Builder::new(),
        motion: MotionColumns::default(),
        data: FixedSizeBinaryBuilder::new(POSITION_BYTES as i32),
    };
    RowsDecoder::decoder(schema, is_selected, rows)
}

struct PositionRows {
    is_selected: Vec<bool>,
    stamp: UInt32Builder,
    pulse: StringBuilder,
    sentence: StringBuilder,
    utc: TimestampNanosecondBuilder,
    is_valid: BooleanBuilder,
    latitude: Float64Builder,
    longitude: Float64Builder,
    speed: Float32Builder,
    course: Float32Builder,
    altitude: Float32Builder,
    satellites: UInt32Builder,
    motion: MotionColumns,
    data: FixedSizeBinaryBuilder,
}

impl RowBuilders for PositionRows {
    fn append(&mut self, record: Record<'_>) -> Result<usize, DamageKind> {
        let undecodable = DamageKind::Undecodable;
        let position = Position::parse(record.payload).ok_or(undecodable)?;
        // `append_value` only fails if the value does not have the length of a packet.
        self.data.append_value(record.payload).map_err(|_| undecodable)?;
        let fix = position.fix;
        self.stamp.append_value(position.stamp);
        self.pulse.append_value(position.pulse_name());
        self.sentence.append_option(position.sentence);
        self.utc.append_option(fix.utc_nanos);
        self.is_valid.append_option(fix.is_valid);
        self.latitude.append_option(fix.latitude);
        self.longitude.append_option(fix.longitude);
        self.speed.append_option(fix.speed);
        self.course.append_option(fix.course);
        self.altitude.append_option(fix.altitude);
        self.satellites.append_option(fix.satellites);
        self.motion.append(motion::motion(record.payload));
        Ok(1)
    }

    fn finish(&mut self) -> Vec<Option<ArrayRef>> {
        let values: [ArrayRef; 11] = [
            Arc::new(self.stamp.finish()),
            Arc::new(self.pulse.finish()),
            Arc::new(self.sentence.finish()),
            Arc::new(self.utc.finish()),
            Arc::new(self.is_valid.finish()),
            Arc::new(self.latitude.finish()),
            Arc::new(self.longitude.finish()),
            Arc::new(self.speed.finish()),
            Arc::new(self.course.finish()),
            Arc::new(self.altitude.finish()),
            Arc::new(self.satellites.finish()),
        ];
        let data: ArrayRef = Arc::new(self.data.finish());
        let columns = values.into_iter().chain(self.motion.finish()).chain([data]);
        columns
            .zip(&self.is_selected)
            .map(|(column, is_selected)| is_selected.then_some(column))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sentence: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; POSITION_BYTES];
        bytes[198..202].copy_from_slice(&1_234_567_u32.to_le_bytes());
        bytes[202] = 2;
        bytes[206..206 + sentence.len()].copy_from_slice(sentence);
        bytes
    }

    #[test]
    fn sentence_contains_utc_and_position() {
        // From a real VLP-16.
        let sentence = b"$GPRMC,214106,A,3707.8178,N,12139.2690,W,010.3,188.2,230715,\
            013.8,E,D*05\r\n";
        let position = Position::parse(&packet(sentence)).unwrap();
        assert_eq!((position.stamp, position.pulse_name()), (1_234_567, "locked"));
        // date -u -d "2015-07-23 21:41:06" +%s
        assert_eq!(position.fix.utc_nanos, Some(1_437_687_666_000_000_000));
        assert_eq!(position.fix.is_valid, Some(true));
        let latitude = position.fix.latitude.unwrap();
        assert!((latitude - (37.0 + 7.8178 / 60.0)).abs() < 1e-9);
        let longitude = position.fix.longitude.unwrap();
        assert!((longitude + (121.0 + 39.2690 / 60.0)).abs() < 1e-9);
    }

    #[test]
    fn sentence_with_a_wrong_checksum_has_only_its_text() {
        let sentence = b"$GPRMC,214106,A,3707.8178,N,12139.2690,W,,,230715,,,D*05";
        let position = Position::parse(&packet(sentence)).unwrap();
        assert_eq!(position.fix, PositionFix::default());
        assert_eq!(position.sentence.unwrap().as_bytes(), sentence);
        assert_eq!(Position::parse(&packet(b"")).unwrap().sentence, None);
        assert_eq!(Position::parse(&[0; 100]), None);
    }
}
