//! PCD 0.7, the format of the Point Cloud Library.
//!
//! ```text
//! # .PCD v0.7 - Point Cloud PcdEncoding file format
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
//! followed by the rows as text or bytes. A compressed file has two u32 instead, the compressed and
//! the uncompressed size, and then all columns, one after the other, compressed with LZF.

use std::{collections::BTreeMap, io::Write as _};

use logtool_core::{Error, ErrorKind, Result};

use crate::{
    points::{
        column::{NumberType, PointColumn},
        file::{CloudFile, PointOutput, Points, close},
        formats::{lzf, point_count_header::PointCountHeader, point_rows},
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
    out: PointOutput,
    header: PointCountHeader,
    columns: Vec<PointColumn>,
    data: PcdEncoding,
    count: u64,
    /// The uncompressed bytes of each column, for a compressed file.
    waiting: Vec<Vec<u8>>,
}

/// The maximum size of data that is compressed at once.
const MOST_UNPACKED: usize = 1 << 30;

impl PcdFile {
    /// Starts a file of `columns` in `out`.
    pub(crate) fn new(
        mut out: PointOutput,
        columns: &[PointColumn],
        data: PcdEncoding,
        metadata: &BTreeMap<String, String>,
    ) -> Result<Self> {
        let header = header(columns, data, metadata);
        header.write(&mut out, 0)?;
        let columns = columns.to_vec();
        let waiting = columns.iter().map(|_| Vec::new()).collect();
        Ok(Self { out, header, columns, data, count: 0, waiting })
    }

    fn wait(&mut self, points: &Points) -> Result<()> {
        let columns = self.columns.iter().zip(&points.arrays);
        for ((column, array), waiting) in columns.zip(&mut self.waiting) {
            let column_points =
                Points { arrays: vec![array.clone()], count: points.count };
            waiting.extend(point_rows::bytes(
                &column_points,
                std::slice::from_ref(column),
            ));
        }
        let bytes: usize = self.waiting.iter().map(Vec::len).sum();
        if bytes > MOST_UNPACKED {
            let message = "more points than one compressed PCD file can have in memory \
                        (1 GiB); write a file for each scan, or binary ones";
            return Err(Error::new(ErrorKind::Limit, message));
        }
        Ok(())
    }

    fn pack(&mut self) -> Result<()> {
        let bytes = std::mem::take(&mut self.waiting).concat();
        let mut packed = Vec::new();
        lzf::pack(&bytes, &mut packed);
        // Both are far below 4 GiB: compressed data is at most 1/32 longer.
        self.out.write_all(&(packed.len() as u32).to_le_bytes())?;
        self.out.write_all(&(bytes.len() as u32).to_le_bytes())?;
        Ok(self.out.write_all(&packed)?)
    }
}

impl CloudFile for PcdFile {
    fn write(&mut self, points: &Points) -> Result<u64> {
        self.count += points.count as u64;
        match self.data {
            PcdEncoding::Ascii => self.out.write_all(&point_rows::text(points))?,
            PcdEncoding::Binary => {
                self.out.write_all(&point_rows::bytes(points, &self.columns))?
            }
            PcdEncoding::Compressed => self.wait(points)?,
        }
        Ok(0)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if self.data == PcdEncoding::Compressed {
            self.pack()?;
        }
        self.header.write(&mut self.out, self.count)?;
        close(self.out)
    }
}

fn header(
    columns: &[PointColumn],
    data: PcdEncoding,
    metadata: &BTreeMap<String, String>,
) -> PointCountHeader {
    let describe = |describe_column: &dyn Fn(&PointColumn) -> String| {
        columns.iter().map(describe_column).collect::<Vec<_>>().join(" ")
    };
    let names = describe(&|column| column.name.clone());
    let sizes = describe(&|column| column.kind.bytes().to_string());
    let types = describe(&|column| {
        let letter = match column.kind {
            NumberType::Integer { is_signed: false, .. } => "U",
            NumberType::Integer { is_signed: true, .. } | NumberType::Time => "I",
            NumberType::Float { .. } => "F",
        };
        letter.to_owned()
    });
    let counts = describe(&|_| "1".to_owned());
    let comments: String =
        metadata.iter().map(|(key, value)| format!("# {key}: {value}\n")).collect();
    let data = match data {
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
        format!("\nDATA {data}\n"),
    ];
    let first_lines =
        format!("# .PCD v0.7 - Point Cloud Data file format, by {CREATED_BY}");
    PointCountHeader { first_lines, parts: parts.to_vec() }
}
