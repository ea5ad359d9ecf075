//! The columns of PCD and PLY files: those of the table, in types and with names that readers of the
//! format know.
//!
//! - PCD: PCL reads a field only if it has the type of its point types. So `intensity` is `F 4`,
//!   `ring` is `U 2`, and the `time` of points of packets, which is in nanoseconds, becomes `time`,
//!   `F 4`, in seconds since the first point, and `timestamp`, `I 8`, in nanoseconds. A `time` of
//!   64 bits in a cloud becomes `F 4` likewise, and its exact values are `timestamp`, `F 8`; it
//!   counts from the first point only if this is more than 10 s from zero. Three columns of colours
//!   are followed by `rgb`, `F 4`, whose bits are `0x00RRGGBB`, and integers `rgb` become such
//!   floats. In text, `rgb` is the integer of these bits, `U 4`, because an opaque colour can be a
//!   NaN as a float. `rgba` is `U 4`.
//! - PLY: colours are `uchar red`, `green` and `blue`. There are no integers of 64 bits, so that they
//!   and times, in seconds since the first point, are `double`.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float32Array, Float64Array, UInt8Array, UInt16Array, UInt32Array,
};

use crate::points::{
    attributes::PointAttributes,
    colors::{ColorColumns, bits, scaled},
    column::{NumberType, PointColumn, floats, time_values},
    file::{Points, array_at},
    losses::PointLosses,
};

/// The columns of a file.
#[derive(Clone, Debug)]
pub(crate) struct FileColumns {
    pub(crate) columns: Vec<FileColumn>,
    colors: Option<ColorColumns>,
}

/// A column of a file.
#[derive(Clone, Debug)]
pub(crate) struct FileColumn {
    pub(crate) name: String,
    pub(crate) number_type: NumberType,
    source: Source,
}

/// Where the values of a column come from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// The column of the table at this index.
    Column(usize),
    /// The column at this index, rounded to the type in the file.
    Rounded(usize),
    /// The times at this index, in seconds since `origin`, which is in nanoseconds.
    Seconds {
        index: usize,
        origin: i64,
    },
    /// The numbers of seconds at this index, since `origin`, which is such a number.
    FloatSeconds {
        index: usize,
        origin: f64,
    },
    /// The bits of the colours at this index.
    ColorBits(usize),
    /// Red, green or blue.
    Channel(usize),
    Alpha,
    /// Red, green and blue in the bits of a number.
    PackedChannels,
}

/// The maximum distance from zero of a time that counts from the stamp of its message, in seconds.
const MAX_RELATIVE_SECONDS: f64 = 10.0;

impl FileColumns {
    /// Returns the columns of a PCD file, whose first points are `first_points`. `is_ascii` states
    /// whether the points are text.
    pub(crate) fn pcd(
        columns: &[PointColumn],
        attributes: &PointAttributes,
        first_points: &Points,
        is_ascii: bool,
    ) -> Self {
        let integer_bits = NumberType::Integer { is_signed: false, bytes: 4 };
        let rgb_type =
            if is_ascii { integer_bits } else { NumberType::Float { bytes: 4 } };
        let is_name = |name: &str| columns.iter().any(|column| column.name == name);
        let mut file_columns = Vec::new();
        for (index, column) in columns.iter().enumerate() {
            let name = column.name.clone();
            let is_packed_color = column.is_packed_color();
            let rounded = match column.own_name.as_str() {
                "intensity" => Some(NumberType::Float { bytes: 4 }),
                "ring" => Some(NumberType::Integer { is_signed: false, bytes: 2 }),
                _ => None,
            };
            let is_time = column.number_type == NumberType::Time && name == "time";
            let is_float_time = column.number_type == (NumberType::Float { bytes: 8 })
                && name == "time";
            match rounded {
                Some(number_type) if number_type != column.number_type => {
                    let source = Source::Rounded(index);
                    file_columns.push(FileColumn { name, number_type, source });
                }
                _ if is_packed_color => {
                    let is_rgb = column.own_name == "rgb";
                    let number_type = if is_rgb { rgb_type } else { integer_bits };
                    let source = Source::ColorBits(index);
                    file_columns.push(FileColumn { name, number_type, source });
                }
                _ if is_time || is_float_time => {
                    let number_type = NumberType::Float { bytes: 4 };
                    let source = if is_time {
                        seconds(index, first_points)
                    } else {
                        float_seconds(index, first_points)
                    };
                    file_columns.push(FileColumn { name, number_type, source });
                    let is_used = is_name("timestamp");
                    file_columns.push(FileColumn {
                        name: if is_used { "timestamp_" } else { "timestamp" }
                            .to_owned(),
                        number_type: column.number_type,
                        source: Source::Column(index),
                    });
                }
                _ => file_columns.push(FileColumn {
                    name,
                    number_type: column.number_type,
                    source: Source::Column(index),
                }),
            }
        }
        let channels = attributes.colors.clone().filter(|colors| {
            matches!(colors, ColorColumns::Channels { .. }) && !is_name("rgb")
        });
        if channels.is_some() {
            file_columns.push(FileColumn {
                name: "rgb".to_owned(),
                number_type: rgb_type,
                source: Source::PackedChannels,
            });
        }
        Self { columns: file_columns, colors: channels }
    }

    /// Returns the columns of a PLY file, whose first points are `first_points`.
    pub(crate) fn ply(
        columns: &[PointColumn],
        attributes: &PointAttributes,
        first_points: &Points,
    ) -> Self {
        let is_name = |name: &str| columns.iter().any(|column| column.name == name);
        let colors = attributes.colors.clone().filter(|colors| match colors {
            ColorColumns::Packed { .. } => {
                !["red", "green", "blue"].map(is_name).contains(&true)
            }
            ColorColumns::Channels { .. } => true,
        });
        let mut file_columns = Vec::new();
        for (index, column) in columns.iter().enumerate() {
            if let Some(colors) = &colors
                && colors.contains(index)
            {
                let channels = match colors {
                    ColorColumns::Packed { indices, .. }
                        if indices.first() != Some(&index) =>
                    {
                        continue;
                    }
                    ColorColumns::Packed { .. } => 0..3,
                    ColorColumns::Channels { indices, .. } => {
                        let channel = indices.iter().position(|i| *i == index);
                        channel.map_or(0..0, |channel| channel..channel + 1)
                    }
                };
                let names = ["red", "green", "blue"];
                file_columns.extend(channels.map(|channel| FileColumn {
                    name: names[channel].to_owned(),
                    number_type: NumberType::BYTE,
                    source: Source::Channel(channel),
                }));
                if matches!(colors, ColorColumns::Packed { has_alpha: true, .. }) {
                    file_columns.push(FileColumn {
                        name: "alpha".to_owned(),
                        number_type: NumberType::BYTE,
                        source: Source::Alpha,
                    });
                }
                continue;
            }
            let double = NumberType::Float { bytes: 8 };
            let (number_type, source) = match column.number_type {
                NumberType::Time => (double, seconds(index, first_points)),
                NumberType::Integer { bytes: 8, .. } => {
                    (double, Source::Rounded(index))
                }
                number_type => (number_type, Source::Column(index)),
            };
            file_columns.push(FileColumn {
                name: column.name.clone(),
                number_type,
                source,
            });
        }
        Self { columns: file_columns, colors }
    }

    /// Returns the names of columns of seconds that do not count from zero, and the text of the
    /// time that each counts from.
    pub(crate) fn origins(&self) -> impl Iterator<Item = (&str, String)> {
        self.columns.iter().filter_map(|column| match column.source {
            Source::Seconds { origin, .. } => {
                Some((column.name.as_str(), seconds_text(origin)))
            }
            Source::FloatSeconds { origin, .. } if origin != 0.0 => {
                Some((column.name.as_str(), format!("{origin} s")))
            }
            _ => None,
        })
    }

    /// Converts `points` to the columns of the file.
    pub(crate) fn convert(&self, points: &Points, losses: &mut PointLosses) -> Points {
        let colors = self.colors.as_ref();
        let fractions =
            colors.map(|colors| colors.fractions(points)).unwrap_or_default();
        let alphas = colors.map(|colors| colors.alphas(points)).unwrap_or_default();
        let has_alphas = !alphas.is_empty();
        let alphas: ArrayRef = Arc::new(UInt8Array::from(alphas));
        let mut arrays = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            arrays.push(match column.source {
                Source::Alpha if has_alphas => alphas.clone(),
                Source::Alpha => {
                    Arc::new(UInt8Array::from(vec![u8::MAX; points.count]))
                }
                Source::Channel(channel) => {
                    Arc::new(UInt8Array::from(bytes_of(&fractions[channel], losses)))
                }
                Source::PackedChannels => {
                    let [red, green, blue] =
                        [0, 1, 2].map(|channel| bytes_of(&fractions[channel], losses));
                    let packed = red.iter().zip(&green).zip(&blue).map(
                        |((red, green), blue)| {
                            u32::from_be_bytes([0, *red, *green, *blue])
                        },
                    );
                    bits_array(packed.collect(), column.number_type)
                }
                Source::Column(index)
                | Source::Rounded(index)
                | Source::ColorBits(index)
                | Source::FloatSeconds { index, .. }
                | Source::Seconds { index, .. } => {
                    let Some(array) = array_at(points, Some(index)) else { continue };
                    match column.source {
                        Source::Rounded(_) => {
                            rounded(array, column.number_type, losses)
                        }
                        Source::Seconds { origin, .. } => {
                            seconds_since(array, origin, column.number_type)
                        }
                        // The exact values are another column.
                        Source::FloatSeconds { origin, .. } => {
                            let seconds = floats(array).into_iter();
                            let rounded = seconds.map(|time| (time - origin) as f32);
                            Arc::new(rounded.collect::<Float32Array>())
                        }
                        Source::ColorBits(_) => {
                            let bits = bits(array).into_iter();
                            let bits = bits.map(Option::unwrap_or_default);
                            bits_array(bits.collect(), column.number_type)
                        }
                        _ => array.clone(),
                    }
                }
            });
        }
        Points { arrays, count: points.count }
    }
}

/// Returns the source of the times at `index`, in seconds since the first of them.
fn seconds(index: usize, first_points: &Points) -> Source {
    let times = array_at(first_points, Some(index)).and_then(time_values);
    let first_time = times.into_iter().flatten().flatten().next();
    Source::Seconds { index, origin: first_time.unwrap_or(0) }
}

/// Returns the source of the numbers of seconds at `index`. They stay the same if the first of them
/// can be relative to the stamp of its message.
fn float_seconds(index: usize, first_points: &Points) -> Source {
    let times = array_at(first_points, Some(index)).map(floats).unwrap_or_default();
    let first_time = times.into_iter().find(|time| time.is_finite()).unwrap_or(0.0);
    let is_relative = first_time.abs() <= MAX_RELATIVE_SECONDS;
    Source::FloatSeconds { index, origin: if is_relative { 0.0 } else { first_time } }
}

/// Returns numbers of `number_type`, float or integer, with these bits.
fn bits_array(bits: Vec<u32>, number_type: NumberType) -> ArrayRef {
    match number_type {
        NumberType::Float { .. } => {
            Arc::new(bits.into_iter().map(f32::from_bits).collect::<Float32Array>())
        }
        _ => Arc::new(UInt32Array::from(bits)),
    }
}

/// Returns the channels of colours as bytes, and counts those outside the range.
fn bytes_of(fractions: &[f64], losses: &mut PointLosses) -> Vec<u8> {
    let byte = |fraction: &f64| {
        let (value, is_changed) = scaled(*fraction, u16::from(u8::MAX));
        losses.colors += u64::from(is_changed);
        value as u8
    };
    fractions.iter().map(byte).collect()
}

/// Rounds the numbers of `array` to `number_type`, and counts those that it cannot represent.
fn rounded(
    array: &ArrayRef,
    number_type: NumberType,
    losses: &mut PointLosses,
) -> ArrayRef {
    let values = floats(array);
    let mut count_change = |value: f64, stored: f64| {
        losses.rounded += u64::from(value != stored && !value.is_nan());
    };
    match number_type {
        NumberType::Float { bytes: 4 } => {
            let round = |value: f64| {
                count_change(value, f64::from(value as f32));
                value as f32
            };
            Arc::new(values.into_iter().map(round).collect::<Float32Array>())
        }
        NumberType::Integer { .. } => {
            let round = |value: f64| {
                // `as` saturates, and NaN becomes 0.
                count_change(value, f64::from(value as u16));
                value as u16
            };
            Arc::new(values.into_iter().map(round).collect::<UInt16Array>())
        }
        NumberType::Float { .. } | NumberType::Time => {
            // A float of 64 bits has each integer up to 2^53.
            let is_exact = |value: &f64| value.abs() <= 9_007_199_254_740_992.0;
            losses.rounded += values
                .iter()
                .filter(|value| !is_exact(value) && !value.is_nan())
                .count() as u64;
            Arc::new(Float64Array::from(values))
        }
    }
}

/// Converts the times of `array` to seconds since `origin`.
fn seconds_since(array: &ArrayRef, origin: i64, number_type: NumberType) -> ArrayRef {
    let times = time_values(array).unwrap_or_default().into_iter();
    let seconds = times.map(|nanos| {
        nanos.map(|nanos| (i128::from(nanos) - i128::from(origin)) as f64 / 1e9)
    });
    match number_type {
        NumberType::Float { bytes: 4 } => {
            let seconds = seconds.map(|seconds| seconds.map(|seconds| seconds as f32));
            Arc::new(seconds.collect::<Float32Array>())
        }
        _ => Arc::new(seconds.collect::<Float64Array>()),
    }
}

/// Formats `nanos` as seconds with nine decimals.
fn seconds_text(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    format!("{sign}{}.{:09} s", nanos / 1_000_000_000, nanos % 1_000_000_000)
}
