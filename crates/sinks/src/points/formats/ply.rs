//! PLY 1.0, Stanford's polygon format, with points and without polygons.
//!
//! ```text
//! ply
//! format binary_little_endian 1.0
//! comment origin of time: 12.500000000 s
//! element vertex 100
//! property float x
//! end_header
//! ```
//! followed by the rows as bytes or text.

use std::{collections::BTreeMap, io::Write as _, sync::Arc};

use arrow_array::{
    ArrayRef, ArrowPrimitiveType, PrimitiveArray,
    cast::AsArray as _,
    types::{Float32Type, Float64Type},
};
use logtool_core::Result;

use crate::{
    points::{
        column::NumberType,
        file::{CloudFile, PointOutput, Points, finish_file},
        formats::{
            file_columns::{FileColumn, FileColumns},
            point_count_header::PointCountHeader,
            point_rows,
        },
        losses::PointLosses,
    },
    provenance::CREATED_BY,
};

/// A PLY file.
pub(crate) struct PlyFile {
    output: PointOutput,
    header: PointCountHeader,
    columns: FileColumns,
    is_ascii: bool,
    /// The number of points.
    count: u64,
}

impl PlyFile {
    /// Starts a file of `columns` in `output`.
    pub(crate) fn new(
        mut output: PointOutput,
        columns: FileColumns,
        is_ascii: bool,
        metadata: &BTreeMap<String, String>,
    ) -> Result<Self> {
        let mut metadata = metadata.clone();
        for (name, origin) in columns.origins() {
            metadata.insert(format!("origin of {name}"), origin);
        }
        let header = header(&columns.columns, is_ascii, &metadata);
        header.write(&mut output, 0)?;
        Ok(Self { output, header, columns, is_ascii, count: 0 })
    }
}

impl CloudFile for PlyFile {
    fn write(&mut self, points: &Points, losses: &mut PointLosses) -> Result<()> {
        self.count += points.count as u64;
        let mut points = self.columns.convert(points, losses);
        if self.is_ascii {
            for array in &mut points.arrays {
                *array = without_infinities(array, &mut losses.infinities);
            }
            self.output.write_all(&point_rows::text(&points))?;
        } else {
            self.output.write_all(&point_rows::bytes(&points))?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.header.write(&mut self.output, self.count)?;
        finish_file(self.output)
    }
}

/// Replaces infinities in `array` by NaN and adds their number to `count`: readers of text files
/// accept `nan`, but few of them accept `inf`.
fn without_infinities(array: &ArrayRef, count: &mut u64) -> ArrayRef {
    if let Some(floats) = array.as_primitive_opt::<Float32Type>() {
        return replace_infinities(floats, f32::is_infinite, f32::NAN, count);
    }
    if let Some(floats) = array.as_primitive_opt::<Float64Type>() {
        return replace_infinities(floats, f64::is_infinite, f64::NAN, count);
    }
    array.clone()
}

fn replace_infinities<T: ArrowPrimitiveType>(
    floats: &PrimitiveArray<T>,
    is_infinite: fn(T::Native) -> bool,
    nan: T::Native,
    count: &mut u64,
) -> ArrayRef {
    let infinities =
        floats.iter().flatten().filter(|value| is_infinite(*value)).count();
    *count += infinities as u64;
    let replace = |value| if is_infinite(value) { nan } else { value };
    Arc::new(floats.unary::<_, T>(replace))
}

fn header(
    columns: &[FileColumn],
    is_ascii: bool,
    metadata: &BTreeMap<String, String>,
) -> PointCountHeader {
    let format = if is_ascii { "ascii" } else { "binary_little_endian" };
    let comments: String = metadata
        .iter()
        .map(|(key, value)| format!("comment {key}: {value}\n"))
        .collect();
    let property_line = |column: &FileColumn| {
        let type_name = match column.number_type {
            NumberType::Integer { is_signed: true, bytes: 1 } => "char",
            NumberType::Integer { is_signed: false, bytes: 1 } => "uchar",
            NumberType::Integer { is_signed: true, bytes: 2 } => "short",
            NumberType::Integer { is_signed: false, bytes: 2 } => "ushort",
            NumberType::Integer { is_signed: true, .. } => "int",
            NumberType::Integer { is_signed: false, .. } => "uint",
            NumberType::Float { bytes: 4 } => "float",
            NumberType::Float { .. } | NumberType::Time => "double",
        };
        format!("property {type_name} {}\n", column.name)
    };
    let properties: String = columns.iter().map(property_line).collect();
    let parts =
        [format!("{comments}element vertex "), format!("\n{properties}end_header\n")];
    let first_lines = format!("ply\nformat {format} 1.0\ncomment by {CREATED_BY}");
    PointCountHeader { first_lines, parts: parts.to_vec() }
}
