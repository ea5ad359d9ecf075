//! Finds and reads the columns of a table with positions.
//!
//! | source | latitude, longitude | altitude | valid if |
//! |---|---|---|---|
//! | PX4 `vehicle_gps_position`, `sensor_gps` | `lat`, `lon`, int32 of 1e-7° | `alt`, mm | `fix_type` ≥ 3 |
//! | since v1.14 | `latitude_deg`, `longitude_deg` | `altitude_msl_m` | `fix_type` ≥ 3 |
//! | PX4 `vehicle_gnss` | `receiver.latitude`, … | `receiver.altitude_msl` | `receiver.fix_type` ≥ 3 |
//! | PX4 `vehicle_global_position` and others | `lat`, `lon`, ° | `alt`, m | `lat_lon_valid`, if it exists |
//! | ROS `NavSatFix`, `GPSFix` | `latitude`, `longitude` | `altitude` | `status.status` ≥ 0 |
//! | `gps` of a `.vel` log | `latitude`, `longitude` | `altitude` | `quality` ≥ 1, and the message is valid |
//! | `position` of a capture | `latitude`, `longitude` | `altitude` | `is_valid` |
//!
//! Sources: PX4's message definitions and pyulog's ulog2kml, which uses the same fixes;
//! the definitions of `sensor_msgs` and `gps_common`.

use arrow_array::{
    Array as _, ArrayRef, RecordBatch,
    cast::AsArray as _,
    types::{
        Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::{DataType, Schema};
use logtool_core::{PositionUnit, Topic};

use crate::tracks::fix::Fix;

/// The possible prefixes of the names of the columns.
const PREFIXES: [&str; 4] = ["", "receiver.", "position.", "pose.position."];

/// The names of latitude and longitude, and the possible names of the altitude that belongs to
/// them.
const NAMES: [(&str, &str, &[&str]); 3] = [
    ("lat", "lon", &["alt"]),
    ("latitude_deg", "longitude_deg", &["altitude_msl_m"]),
    ("latitude", "longitude", &["altitude", "altitude_msl"]),
];

/// A fix is valid if a column has at least this value: the suffix of the type of the topic
/// (empty for all types), the column, and the value.
const MIN_VALUES: [(&str, &str, f64); 5] = [
    ("", "fix_type", 3.0),
    ("", "lat_lon_valid", 1.0),
    ("", "is_valid", 1.0),
    ("Fix", "status.status", 0.0),
    ("GPSTDataM", "quality", 1.0),
];

/// Returns the indices of the columns of the flat view `schema` of `topic` that contain
/// positions, in ascending order; `None` if there are none.
pub fn position_columns(topic: &Topic, schema: &Schema) -> Option<Vec<usize>> {
    let position = PositionColumns::find(topic, schema)?;
    let mut columns = vec![position.latitude, position.longitude];
    columns.extend(position.altitude);
    columns.extend(position.altitude_valid);
    columns.extend(position.min_values.iter().map(|(column, _)| *column));
    columns.extend(position.row_validity.map(|(column, _)| column));
    columns.sort_unstable();
    Some(columns)
}

/// A reader of positions from tables.
#[derive(Clone, Debug)]
pub struct PositionReader(PositionColumns);

impl PositionReader {
    /// Creates a reader for tables of `topic` with the columns `schema`, which are those of the
    /// flat view, or the [`position_columns`] of it.
    pub fn new(topic: &Topic, schema: &Schema) -> Option<Self> {
        PositionColumns::find(topic, schema).map(Self)
    }

    /// Returns the position in the first row of `batch`: latitude and longitude in degrees, and the
    /// altitude in metres, if it is known; `None` if the row has no position.
    pub fn read(&self, batch: &RecordBatch) -> Option<(f64, f64, Option<f64>)> {
        let fix = self.fixes(batch).next()??;
        Some((fix.latitude, fix.longitude, fix.altitude))
    }

    /// Returns the position in each row of `batch`; `None` for rows without a position.
    pub fn fixes(&self, batch: &RecordBatch) -> impl Iterator<Item = Option<Fix>> {
        self.0.row_positions(batch).map(|position| match position {
            RowPosition::Known(fix) => Some(fix),
            RowPosition::Unknown | RowPosition::Impossible => None,
        })
    }
}

/// The indices of the columns with the position and its validity.
#[derive(Clone, Debug)]
pub(super) struct PositionColumns {
    latitude: usize,
    longitude: usize,
    altitude: Option<usize>,
    /// The column that states whether the altitude is valid.
    altitude_valid: Option<usize>,
    /// The position is invalid if one of these columns is null or below the value.
    min_values: Vec<(usize, f64)>,
    /// The row is invalid if this column has another value.
    row_validity: Option<(usize, f64)>,
    /// Whether coordinates are in degrees and minutes, `ddmm.mmmm`, instead of degrees.
    is_in_degrees_and_minutes: bool,
}

/// The position of a row of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RowPosition {
    Known(Fix),
    /// The receiver had no fix, coordinates are missing, or both are 0.
    Unknown,
    /// The latitude or longitude is out of range.
    Impossible,
}

impl PositionColumns {
    /// Finds the columns in a table of `topic`.
    pub(super) fn find(topic: &Topic, schema: &Schema) -> Option<Self> {
        for prefix in PREFIXES {
            let column = |name: &str| {
                let has_name = |field: &str| field.strip_prefix(prefix) == Some(name);
                schema.fields().iter().position(|field| has_name(field.name()))
            };
            let number = |name: &str| {
                let index = column(name)?;
                let is_number = matches!(
                    schema.field(index).data_type(),
                    DataType::Float64 | DataType::Float32 | DataType::Int32
                );
                is_number.then_some(index)
            };
            for (latitude, longitude, altitudes) in NAMES {
                let (Some(latitude), Some(longitude)) =
                    (number(latitude), number(longitude))
                else {
                    continue;
                };
                let mut min_values = Vec::new();
                for (type_suffix, name, min_value) in MIN_VALUES {
                    if topic.type_name.ends_with(type_suffix)
                        && let Some(index) = column(name)
                    {
                        min_values.push((index, min_value));
                    }
                }
                let valid_value = topic.valid_row_value().map(f64::from);
                return Some(Self {
                    latitude,
                    longitude,
                    altitude: altitudes.iter().find_map(|name| number(name)),
                    altitude_valid: column("alt_valid"),
                    min_values,
                    row_validity: column("validity").zip(valid_value),
                    is_in_degrees_and_minutes: topic.position_unit()
                        == Some(PositionUnit::DegreesAndMinutes),
                });
            }
        }
        None
    }

    /// Returns the position in each row of `batch`.
    pub(super) fn row_positions(
        &self,
        batch: &RecordBatch,
    ) -> impl Iterator<Item = RowPosition> {
        let times = batch
            .columns()
            .first()
            .and_then(|times| times.as_primitive_opt::<TimestampNanosecondType>())
            .cloned();
        let column_numbers = |column: usize| numbers(batch.column(column), 1.0);
        let degrees = |column: usize| {
            let mut values = numbers(batch.column(column), 1e7);
            if self.is_in_degrees_and_minutes {
                values
                    .iter_mut()
                    .for_each(|value| *value = degrees_from_minutes(*value));
            }
            values
        };
        let latitudes = degrees(self.latitude);
        let longitudes = degrees(self.longitude);
        let altitudes = self.altitude.map(|column| numbers(batch.column(column), 1e3));
        let altitude_valid = self.altitude_valid.map(column_numbers);
        let min_values: Vec<(Vec<f64>, f64)> = self
            .min_values
            .iter()
            .map(|(column, min_value)| (column_numbers(*column), *min_value))
            .collect();
        let row_validity =
            self.row_validity.map(|(column, value)| (column_numbers(column), value));
        (0..batch.num_rows()).map(move |row| {
            let value_at =
                |values: &[f64]| values.get(row).copied().unwrap_or(f64::NAN);
            let (latitude, longitude) = (value_at(&latitudes), value_at(&longitudes));
            let is_row_valid = row_validity
                .as_ref()
                .is_none_or(|(values, valid_value)| value_at(values) == *valid_value);
            let has_fix = min_values
                .iter()
                .all(|(values, min_value)| value_at(values) >= *min_value);
            let is_missing = latitude.is_nan()
                || longitude.is_nan()
                || (latitude, longitude) == (0.0, 0.0);
            if !is_row_valid || !has_fix || is_missing {
                return RowPosition::Unknown;
            }
            if latitude.abs() > 90.0 || longitude.abs() > 180.0 {
                return RowPosition::Impossible;
            }
            let is_altitude_valid =
                altitude_valid.as_ref().is_none_or(|values| value_at(values) >= 1.0);
            let altitude = altitudes
                .as_ref()
                .filter(|_| is_altitude_valid)
                .map(|values| value_at(values));
            RowPosition::Known(Fix {
                nanos: times
                    .as_ref()
                    .and_then(|times| times.is_valid(row).then(|| times.value(row))),
                latitude,
                longitude,
                altitude: altitude.filter(|altitude| altitude.is_finite()),
            })
        })
    }
}

/// Converts degrees and minutes, `ddmm.mmmm`, to degrees.
fn degrees_from_minutes(value: f64) -> f64 {
    let degrees = (value / 100.0).trunc();
    degrees + (value - degrees * 100.0) / 60.0
}

/// Converts `array` to numbers, with NaN for nulls. Signed 32-bit integers are divided by
/// `int32_scale`, because PX4 stores e.g. 1e-7 degrees in them. A float32 becomes the float64 with
/// the same shortest decimal text.
fn numbers(array: &ArrayRef, int32_scale: f64) -> Vec<f64> {
    macro_rules! convert {
        ($type:ty, $float:expr) => {{
            let values = array.as_primitive::<$type>().iter();
            values.map(|value| value.map_or(f64::NAN, $float)).collect()
        }};
    }
    match array.data_type() {
        DataType::Float64 => convert!(Float64Type, |value| value),
        DataType::Float32 => convert!(Float32Type, shortest_decimal),
        DataType::Int32 => convert!(Int32Type, |value| f64::from(value) / int32_scale),
        DataType::Int64 => convert!(Int64Type, |value| value as f64),
        DataType::Int16 => convert!(Int16Type, f64::from),
        DataType::Int8 => convert!(Int8Type, f64::from),
        DataType::UInt64 => convert!(UInt64Type, |value| value as f64),
        DataType::UInt32 => convert!(UInt32Type, f64::from),
        DataType::UInt16 => convert!(UInt16Type, f64::from),
        DataType::UInt8 => convert!(UInt8Type, f64::from),
        DataType::Boolean => {
            let booleans = array.as_boolean().iter();
            booleans.map(|b| b.map_or(f64::NAN, |b| f64::from(u8::from(b)))).collect()
        }
        _ => vec![f64::NAN; array.len()],
    }
}

/// Returns the float64 with the shortest decimal text of `value`.
fn shortest_decimal(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests;
