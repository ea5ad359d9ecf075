//! Protocol buffers: descriptors of message types, and encoding and decoding of messages.
//!
//! [`LayoutMessages`] converts payloads of a known layout to messages, with a type for them;
//! [`MessageReader`] decodes messages to columns; [`FileSet`] is a set of type definitions.
//! [`FoxgloveLog`], [`LocationFix`], [`FrameTransform`], [`PoseInFrame`], [`PointCloud`],
//! [`LaserScan`], [`CompressedImage`] and [`PixelImage`] are messages that programs recognize by name.

// In reading order: each module uses only those above it.
mod wire;

mod descriptor;
mod well_known_types;

mod layout;
mod message;
mod rows;

pub use crate::{
    descriptor::{Enum, Field, File, FileSet, Message, kind},
    layout::LayoutMessages,
    message::{MessageReader, labels},
    rows::RowMessages,
    well_known_types::{
        CompressedImage, FoxgloveLog, FrameTransform, LaserScan, LocationFix, LogLevel,
        PackedField, PixelImage, PointCloud, Pose, PoseInFrame,
    },
};

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
