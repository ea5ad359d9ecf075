//! PCD 0.7, the format of the Point Cloud Library.
//!
//! ```text
//! # .PCD v0.7 - Point Cloud Data file format
//! VERSION 0.7
//! FIELDS x y z intensity
//! SIZE 4 4 4 1
//! TYPE F F F U
//! COUNT 1 1 1 1
//! WIDTH 100
//! HEIGHT 1
//! VIEWPOINT 0 0 0 1 0 0 0
//! POINTS 100
//! DATA binary
//! ```
//! followed by the rows as text or bytes. In a compressed file, the header is followed by the
//! compressed and the uncompressed size, each a u32, and then by all columns, one after the other,
//! compressed with LZF.

use std::{collections::BTreeMap, io::Write as _};

use logtool_core::{Error, ErrorKind, Result};

use crate::{
    points::{
        column::NumberType,
        file::{CloudFile, PointOutput, Points, finish_file},
        formats::{
            file_columns::{FileColumn, FileColumns},
            lzf,
            point_count_header::PointCountHeader,
            point_rows,
        },
        losses::PointLosses,
    },
    provenance::CREATED_BY,
};

/// The encoding of the points after the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PcdEncoding {
    Ascii,
    Binary,
    Compressed,
}

/// A PCD file.
pub(crate) struct PcdFile {
    output: PointOutput,
    header: PointCountHeader,
    columns: FileColumns,
    encoding: PcdEncoding,
    /// The number of points.
    count: u64,
    /// The uncompressed bytes of each column, for a compressed file.
    column_bytes: Vec<Vec<u8>>,
}

/// The maximum size of data that is compressed at once.
const MAX_UNCOMPRESSED_BYTES: usize = 1 << 30;

impl PcdFile {
    /// Starts a file of `columns` in `output`.
    pub(crate) fn new(
        mut output: PointOutput,
        columns: FileColumns,
        encoding: PcdEncoding,
        metadata: &BTreeMap<String, String>,
    ) -> Result<Self> {
        let header = header(&columns, encoding, metadata);
        header.write(&mut output, 0)?;
        let column_bytes = columns.columns.iter().map(|_| Vec::new()).collect();
        Ok(Self { output, header, columns, encoding, count: 0, column_bytes })
    }

    /// Adds the bytes of `points` to the columns of a compressed file.
    fn buffer_columns(&mut self, points: &Points) -> Result<()> {
        for (array, bytes) in points.arrays.iter().zip(&mut self.column_bytes) {
            let column_points =
                Points { arrays: vec![array.clone()], count: points.count };
            bytes.extend(point_rows::bytes(&column_points));
        }
        let total_bytes: usize = self.column_bytes.iter().map(Vec::len).sum();
        if total_bytes > MAX_UNCOMPRESSED_BYTES {
            let message = "more points than one compressed PCD file can have in memory \
                        (1 GiB); write a file for each scan, or binary ones";
            return Err(Error::new(ErrorKind::Limit, message));
        }
        Ok(())
    }

    /// Writes the data of a compressed file.
    fn write_compressed(&mut self) -> Result<()> {
        let bytes = std::mem::take(&mut self.column_bytes).concat();
        let mut compressed = Vec::new();
        lzf::compress(&bytes, &mut compressed);
        // Both sizes fit into 32 bits: compressed data is at most 1/32 longer than 1 GiB.
        self.output.write_all(&(compressed.len() as u32).to_le_bytes())?;
        self.output.write_all(&(bytes.len() as u32).to_le_bytes())?;
        Ok(self.output.write_all(&compressed)?)
    }
}

impl CloudFile for PcdFile {
    fn write(&mut self, points: &Points, losses: &mut PointLosses) -> Result<()> {
        self.count += points.count as u64;
        let points = &self.columns.convert(points, losses);
        match self.encoding {
            PcdEncoding::Ascii => self.output.write_all(&point_rows::text(points))?,
            PcdEncoding::Binary => self.output.write_all(&point_rows::bytes(points))?,
            PcdEncoding::Compressed => self.buffer_columns(points)?,
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if self.encoding == PcdEncoding::Compressed {
            self.write_compressed()?;
        }
        self.header.write(&mut self.output, self.count)?;
        finish_file(self.output)
    }
}

fn header(
    columns: &FileColumns,
    encoding: PcdEncoding,
    metadata: &BTreeMap<String, String>,
) -> PointCountHeader {
    let join_columns = |column_text: &dyn Fn(&FileColumn) -> String| {
        columns.columns.iter().map(column_text).collect::<Vec<_>>().join(" ")
    };
    let names = join_columns(&|column| column.name.clone());
    let sizes = join_columns(&|column| column.number_type.bytes().to_string());
    let types = join_columns(&|column| {
        let letter = match column.number_type {
            NumberType::Integer { is_signed: false, .. } => "U",
            NumberType::Integer { is_signed: true, .. } | NumberType::Time => "I",
            NumberType::Float { .. } => "F",
        };
        letter.to_owned()
    });
    let counts = join_columns(&|_| "1".to_owned());
    let mut comments: String =
        metadata.iter().map(|(key, value)| format!("# {key}: {value}\n")).collect();
    for (name, origin) in columns.origins() {
        comments.push_str(&format!("# origin of {name}: {origin}\n"));
    }
    let encoding = match encoding {
        PcdEncoding::Ascii => "ascii",
        PcdEncoding::Binary => "binary",
        PcdEncoding::Compressed => "binary_compressed",
    };
    let parts = [
        format!(
            "{comments}VERSION 0.7\nFIELDS {names}\nSIZE {sizes}\nTYPE {types}\n\
             COUNT {counts}\nWIDTH "
        ),
        "\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS ".to_owned(),
        format!("\nDATA {encoding}\n"),
    ];
    let first_lines =
        format!("# .PCD v0.7 - Point Cloud Data file format, by {CREATED_BY}");
    PointCountHeader { first_lines, parts: parts.to_vec() }
}
