//! Writes `.vel` logs.
//!
//! ```text
//! head       A4 56 45 4C | version u16, u16 | entries u32
//! index      entry i64, one per second, written last
//! messages   size u32 | validity u8 | type u32 | version i32 | time f64 ms | data
//! end        FF FF FF FF, optional
//! ```

use std::io::{Seek, SeekFrom, Write};

use logtool_core::{Error, ErrorKind, Result};

use crate::vel::{
    message::{Gps, ImageHeader, Obd, Pose},
    second_index::SecondIndex,
    wire::{
        END, FILE_HEADER_LEN, FORMAT_VERSION, HEADER_LEN, Header, MAGIC, PACKET_LEN,
        SizeField, VALID, VERSION, kind,
    },
};

/// The maximum number of entries of an index: twelve days.
const MAX_ENTRIES: u32 = 1 << 20;

/// Options for writing a log.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WriterOptions {
    /// The version of the file.
    pub version: (u16, u16),
    /// The header bytes that the sizes of messages include.
    pub size_field: SizeField,
    /// The number of index entries, one per second. Entries after the last message point
    /// to the last message. Later messages are not in the index.
    pub seconds: u32,
    /// Whether to write a mark after the last message.
    pub has_end_mark: bool,
}

/// Writes a log message by message.
///
/// ```
/// use std::io::Cursor;
/// use logtool_velodyne::vel::{Obd, Writer, WriterOptions};
///
/// # fn main() -> logtool_core::Result<()> {
/// let mut options = WriterOptions::default();
/// options.seconds = 2;
/// let mut log = Writer::new(Cursor::new(Vec::new()), options)?;
/// log.obd(1_500.0, Obd { speed: 50, ..Obd::default() })?;
/// log.packets(2_700.0, &[[0; 1206]; 2])?;
/// let bytes = log.finish()?.into_inner();
/// assert!(bytes.starts_with(b"\xa4VEL"));
/// assert_eq!(bytes.len(), 12 + 2 * 8 + (21 + 28) + (21 + 4 + 2 * 1206));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    options: WriterOptions,
    /// The position of the next byte.
    position: u64,
    seconds: SecondIndex,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            version: FORMAT_VERSION,
            size_field: SizeField::AfterItself,
            seconds: 0,
            has_end_mark: false,
        }
    }
}

impl<W: Write + Seek> Writer<W> {
    /// Starts a log in `out`, which must be at position 0.
    ///
    /// # Errors
    /// `Io` if writing fails.
    pub fn new(mut out: W, options: WriterOptions) -> Result<Self> {
        let options =
            WriterOptions { seconds: options.seconds.min(MAX_ENTRIES), ..options };
        let mut header = Vec::from(MAGIC);
        header.extend(options.version.0.to_le_bytes());
        header.extend(options.version.1.to_le_bytes());
        header.extend(options.seconds.to_le_bytes());
        header.resize(FILE_HEADER_LEN + 8 * options.seconds as usize, 0);
        out.write_all(&header)?;
        Ok(Self {
            out,
            options,
            position: header.len() as u64,
            seconds: SecondIndex::default(),
        })
    }

    /// Writes an `OBDDataM`, at `millis` since the program started.
    ///
    /// # Errors
    /// See [`message`](Self::message).
    pub fn obd(&mut self, millis: f64, obd: Obd) -> Result<()> {
        self.message(header(kind::OBD, millis), &[&obd.to_data()])
    }

    /// Writes a `GPSTDataM`, at `millis` since the program started.
    ///
    /// # Errors
    /// See [`message`](Self::message).
    pub fn gps(&mut self, millis: f64, gps: Gps) -> Result<()> {
        self.message(header(kind::GPS, millis), &[&gps.to_data()])
    }

    /// Writes a `RobotPoseM`, at `millis` since the program started.
    ///
    /// # Errors
    /// See [`message`](Self::message).
    pub fn pose(&mut self, millis: f64, pose: Pose) -> Result<()> {
        self.message(header(kind::POSE, millis), &[&pose.to_data()])
    }

    /// Writes an `ImageM` with the bytes of an image, at `millis` since the program
    /// started.
    ///
    /// # Errors
    /// See [`message`](Self::message).
    pub fn image(
        &mut self,
        millis: f64,
        image: ImageHeader,
        data: &[u8],
    ) -> Result<()> {
        let len = u32::try_from(data.len())
            .map_err(|_| too_long(format_args!("{} bytes", data.len())))?;
        self.message(header(kind::IMAGE, millis), &[&image.to_data(len), data])
    }

    /// Writes a `VelodyneRawDataM` with packets of the lidar, at `millis` since the
    /// program started.
    ///
    /// # Errors
    /// See [`message`](Self::message).
    pub fn packets(&mut self, millis: f64, packets: &[[u8; PACKET_LEN]]) -> Result<()> {
        let count = u32::try_from(packets.len())
            .map_err(|_| too_long(format_args!("{} packets", packets.len())))?;
        let data: [&[u8]; 2] = [&count.to_le_bytes(), packets.as_flattened()];
        self.message(header(kind::VELODYNE, millis), &data)
    }

    /// Writes a message of any type. Its data consists of the bytes of all `parts`.
    ///
    /// # Errors
    /// `Limit` if its size does not fit a `u32` or equals the end mark; `Io` if writing
    /// fails.
    pub fn message(&mut self, header: Header, parts: &[&[u8]]) -> Result<()> {
        let data_len: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let size = u64::from(self.options.size_field.header_bytes()) + data_len;
        let size = u32::try_from(size).ok().filter(|size| *size != END);
        let size = size.ok_or_else(|| too_long(format_args!("{data_len} bytes")))?;
        let mut bytes = Vec::with_capacity(HEADER_LEN);
        bytes.extend(size.to_le_bytes());
        bytes.push(header.validity);
        bytes.extend(header.kind.to_le_bytes());
        bytes.extend(header.version.to_le_bytes());
        bytes.extend(header.millis.to_le_bytes());
        self.add_to_index(header.millis, self.position);
        self.write_bytes(&bytes)?;
        parts.iter().try_for_each(|part| self.write_bytes(part))
    }

    /// Writes the end mark and the index, and returns the output.
    ///
    /// # Errors
    /// `Io` if writing fails.
    pub fn finish(mut self) -> Result<W> {
        if self.options.has_end_mark {
            self.write_bytes(&END.to_le_bytes())?;
        }
        let entries =
            self.seconds.entries().chain(std::iter::repeat(self.seconds.last()));
        let index: Vec<u8> = entries
            .take(self.options.seconds as usize)
            .flat_map(u64::to_le_bytes)
            .collect();
        self.out.seek(SeekFrom::Start(FILE_HEADER_LEN as u64))?;
        self.out.write_all(&index)?;
        self.out.seek(SeekFrom::Start(self.position))?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Adds a message of the time `millis` at `position` to the index.
    pub(crate) fn add_to_index(&mut self, millis: f64, position: u64) {
        self.seconds.add(None, millis, position);
    }

    /// Returns the position of the next byte.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Writes bytes without adding messages to the index.
    pub(crate) fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }
}

fn header(kind: u32, millis: f64) -> Header {
    Header { validity: VALID, kind, version: VERSION, millis }
}

fn too_long(len: std::fmt::Arguments<'_>) -> Error {
    let message = format!("a message of {len} is too long for a .vel log");
    Error::new(ErrorKind::Limit, message)
}
