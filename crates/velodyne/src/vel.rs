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
mod program_clock;

mod classifier;
mod second_index;
mod utc;

mod decode;

mod codes;
mod first_message;
mod format_state;

mod packet_reader;

mod build_manifest;
mod cursor;

mod write;

mod log;

mod format;

pub use crate::vel::build_manifest::quaternion_order::QuaternionOrder;
pub use crate::vel::decode::image::CameraImage;
pub use crate::vel::decode::topics::is_image_topic;
pub use crate::vel::format::FORMAT;
pub use crate::vel::format::Vel;
pub(crate) use crate::vel::format_state::FORMAT_NAME;
pub use crate::vel::log::VelLog;
pub use crate::vel::message::Gps;
pub use crate::vel::message::ImageHeader;
pub use crate::vel::message::Obd;
pub use crate::vel::message::Pose;
pub use crate::vel::packet_reader::PacketReader;
pub use crate::vel::second_index::IndexStatus;
pub use crate::vel::wire::Header;
pub use crate::vel::wire::MAGIC;
pub use crate::vel::wire::SizeField;
pub use crate::vel::wire::VALID;
pub use crate::vel::wire::VERSION;
pub use crate::vel::wire::kind;
pub use crate::vel::write::writer::Writer;
pub use crate::vel::write::writer::WriterOptions;
