//! The header of a file, and its variable length records.
//!
//! ```text
//! header (LAS 1.2, table 1):
//!   0  "LASF"                   94  length of the header, u16
//!   6  global encoding, u16     96  position of the points, u32
//!  24  version, u8 × 2         100  number of variable length records, u32
//!  26  system, 32 bytes        104  point format, u8
//!  58  software, 32 bytes      105  length of a record, u16
//! 107  number of points, u32, and for each return number from 1 to 5
//! 131  scale of x, y and z, f64 × 3, and their offset
//! 179  maximum and minimum of x, then of y and z, f64 × 6
//!
//! variable length record (table 2):
//!   2  user, 16 bytes           20  length of the data, u16
//!  18  record, u16              22  description, 32 bytes
//!  54  data
//! ```

use std::io::{Seek as _, SeekFrom, Write as _};

use laz::LazVlr;
use logtool_core::{Error, ErrorKind, Result};

use crate::{
    points::{
        file::PointOutput,
        formats::las::{
            LasOptions, RETURNS, UNITS_PER_METRE, point_data::from_laz_error,
        },
    },
    provenance::CREATED_BY,
};

const HEADER_LEN: usize = 227;
const RECORD_HEADER_LEN: usize = 54;

/// The flag of a compressed file in the point format.
const COMPRESSED: u8 = 0x80;

/// A header, and the variable length records after it.
pub(crate) struct Header {
    /// The position that is stored as 0, 0, 0.
    pub(crate) origin: [f64; 3],
    point_format: u8,
    record_len: usize,
    options: LasOptions,
    /// The bytes of the variable length records, and their number.
    variable_records: Vec<u8>,
    variable_record_count: u32,
}

/// Statistics of all points in the header.
#[derive(Clone, Debug, Default)]
pub(crate) struct PointStatistics {
    count: u32,
    /// The number of points with the return number 2; the others have 1.
    second_returns: u32,
    /// The range of the integers of each coordinate.
    bounds: Option<[(i32, i32); 3]>,
}

impl Header {
    pub(crate) fn new(
        origin: [f64; 3],
        point_format: u8,
        record_len: usize,
        options: LasOptions,
    ) -> Self {
        Self {
            origin,
            point_format,
            record_len,
            options,
            variable_records: Vec::new(),
            variable_record_count: 0,
        }
    }

    /// Adds a variable length record, unless `data` is empty or longer than 65,535 bytes. Returns
    /// whether it was added.
    pub(crate) fn add_record(
        &mut self,
        user: &str,
        record: u16,
        description: &str,
        data: &[u8],
    ) -> bool {
        let Ok(len @ 1..) = u16::try_from(data.len()) else { return false };
        let mut header = [0; RECORD_HEADER_LEN];
        for (offset, bytes) in [
            (2, user.as_bytes()),
            (18, &record.to_le_bytes()),
            (20, &len.to_le_bytes()),
            (22, description.as_bytes()),
        ] {
            put(&mut header, offset, bytes);
        }
        self.variable_records.extend_from_slice(&header);
        self.variable_records.extend_from_slice(data);
        self.variable_record_count += 1;
        true
    }

    /// Adds the record that describes the compression.
    pub(crate) fn add_laz_record(&mut self, record: &LazVlr) -> Result<()> {
        let mut data = Vec::new();
        record.write_to(&mut data).map_err(|err| from_laz_error(err.into()))?;
        self.add_record(LazVlr::USER_ID, LazVlr::RECORD_ID, LazVlr::DESCRIPTION, &data);
        Ok(())
    }

    /// Writes the header and its records to the start of `output`, and seeks to the end.
    pub(crate) fn write(
        &self,
        output: &mut PointOutput,
        statistics: &PointStatistics,
    ) -> Result<()> {
        output.seek(SeekFrom::Start(0))?;
        output.write_all(&self.bytes(statistics))?;
        output.write_all(&self.variable_records)?;
        output.seek(SeekFrom::End(0))?;
        Ok(())
    }

    fn bytes(&self, statistics: &PointStatistics) -> [u8; HEADER_LEN] {
        let mut header = [0; HEADER_LEN];
        let points_position = (HEADER_LEN + self.variable_records.len()) as u32;
        let compressed = if self.options.is_compressed { COMPRESSED } else { 0 };
        let second_returns = statistics.second_returns;
        let first_returns = statistics.count - second_returns;
        for (offset, bytes) in [
            (0, &b"LASF"[..]),
            // Adjusted standard GPS time, or else seconds of the week.
            (6, &[u8::from(self.options.is_unix)]),
            (24, &[1, 2]),
            (26, b"logtool"),
            (58, CREATED_BY.as_bytes().get(..32).unwrap_or(CREATED_BY.as_bytes())),
            (94, &(HEADER_LEN as u16).to_le_bytes()),
            (96, &points_position.to_le_bytes()),
            (100, &self.variable_record_count.to_le_bytes()),
            (104, &[self.point_format | compressed]),
            (105, &(self.record_len as u16).to_le_bytes()),
            (107, &statistics.count.to_le_bytes()),
            (111, &first_returns.to_le_bytes()),
            (115, &second_returns.to_le_bytes()),
        ] {
            put(&mut header, offset, bytes);
        }
        for (axis, origin) in self.origin.into_iter().enumerate() {
            let (least, greatest) = statistics.bounds.map_or((0, 0), |all| all[axis]);
            let metres = |units: i32| match statistics.bounds {
                Some(_) => f64::from(units) / UNITS_PER_METRE + origin,
                None => 0.0,
            };
            for (offset, value) in [
                (131 + 8 * axis, 1.0 / UNITS_PER_METRE),
                (155 + 8 * axis, origin),
                (179 + 16 * axis, metres(greatest)),
                (187 + 16 * axis, metres(least)),
            ] {
                put(&mut header, offset, &value.to_le_bytes());
            }
        }
        header
    }
}

impl PointStatistics {
    /// Adds the points of `records`.
    ///
    /// # Errors
    /// `Limit` if the file has more points than the header can count.
    pub(crate) fn add(&mut self, records: &[u8], record_len: usize) -> Result<()> {
        let count = u32::try_from(records.len() / record_len).ok();
        let count = count.and_then(|count| self.count.checked_add(count));
        self.count = count.ok_or_else(|| {
            let message = "more points than one LAS file can have (4,294,967,295); write a \
                           file for each scan";
            Error::new(ErrorKind::Limit, message)
        })?;
        let mut bounds = self.bounds.unwrap_or([(i32::MAX, i32::MIN); 3]);
        let mut second_returns = 0;
        for record in records.chunks_exact(record_len) {
            for (axis, bounds) in record.chunks_exact(4).zip(&mut bounds) {
                let units =
                    axis.first_chunk().map_or(0, |axis| i32::from_le_bytes(*axis));
                *bounds = (bounds.0.min(units), bounds.1.max(units));
            }
            let is_second = record.get(RETURNS).is_some_and(|returns| returns & 7 == 2);
            second_returns += u32::from(is_second);
        }
        if self.count > 0 {
            self.bounds = Some(bounds);
        }
        self.second_returns += second_returns;
        Ok(())
    }
}

/// Copies `bytes` to `target`, from `offset` on.
pub(crate) fn put(target: &mut [u8], offset: usize, bytes: &[u8]) {
    let target = target.iter_mut().skip(offset);
    target.zip(bytes).for_each(|(target, byte)| *target = *byte);
}
