//! The `.vel` logs of the University of Koblenz-Landau: one file with packets of an
//! HDL-64E, camera images, attitudes, GPS positions and OBD data of the car.
//!
//! ```text
//! head       A4 56 45 4C | version u16, u16 | number of entries u32        12 bytes
//! index      position of the first message of each second i64
//! message    size u32 | validity u8 | type u32 | version i32 | time f64, ms | data
//! end        the end of the file, or FF FF FF FF, or an incomplete message
//! ```
//! All numbers are little-endian. Times count from the start of the recording program.
//! The payload of a record is the message without its size field.

// In reading order: each module uses only those above it.
mod wire;

mod message;
mod time;

mod attitude;
mod index;
mod judge;
mod position;
mod utc;

mod layouts;

mod image;
mod packets;
mod raw;

mod topics;

mod codes;
mod notes;
mod points;
mod start;

mod packet_reader;

mod cursor;
mod survey;

mod write;

mod log;
mod sink;

mod import_packets;

mod format;

pub(crate) use crate::vel::notes::FORMAT_NAME;
pub use crate::vel::{
    format::{FORMAT, Vel},
    image::Picture,
    index::IndexVerdict,
    log::VelLog,
    message::{Gps, ImageHead, Obd, Pose},
    packet_reader::PacketReader,
    wire::{Header, MAGIC, SizeField, VALID, VERSION, kind},
    write::{Writer, WriterOptions},
};
