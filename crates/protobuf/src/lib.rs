//! Protocol buffers: what messages look like, by their descriptors, and messages by that.
//!
//! [`LayoutMessages`] makes messages of payloads of which the layout is known, and a type
//! for them; [`MessageReader`] makes columns of messages; [`FileSet`] is types as bytes.
//! [`FoxgloveLog`], [`LocationFix`], [`FrameTransform`], [`PointCloud`], [`CompressedImage`] and
//! [`PixelImage`] are messages that programs know by name.

// In reading order: each module uses only those above it.
mod wire;

mod descriptor;
mod known;

mod layout;
mod message;
mod rows;

pub use crate::{
    descriptor::{Enum, Field, File, FileSet, Message, kind},
    known::{
        CompressedImage, FoxgloveLog, FrameTransform, LocationFix, LogLevel,
        PackedField, PixelImage, PointCloud,
    },
    layout::LayoutMessages,
    message::{MessageReader, labels},
    rows::RowMessages,
};

/// The example of the README is tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
