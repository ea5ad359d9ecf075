//! Message definitions of ROS, e.g. from bags and MCAP files.
//!
//! A [`Definition`] declares the fields of a type. Its [`Layout`](logtool_core::Layout) describes
//! the encoding of messages, from which columns are decoded. A [`Transcoder`] translates messages
//! between the encodings of ROS 1 and ROS 2, a [`MessageWriter`] writes messages of ROS 1, and
//! [`LayoutMessages`] converts payloads of other formats to them. Messages of sensors become images
//! ([`ImageType`]) and tables of points and packets ([`DerivedTopics`]), in either encoding.

// In reading order: each module uses only those above it.
mod field_reader;
mod message_compression;

mod definition;
mod metadata;
mod names;

mod layout;
mod message_writer;
mod transcode;

mod points;
mod sensor;

mod image;

mod derived_topics;

pub use crate::{
    definition::{
        Definition, RecordDefinition, compile, md5sum, resolve_definition,
        resolve_definition_for_table,
    },
    derived_topics::{Derivation, DerivedTopics, PointColumns},
    field_reader::Encoding,
    image::{
        DepthQuantization, ImageContent, ImageFile, ImageMessage, ImageType,
        PixelColor, Pixels, RawImage, RvlImage,
    },
    layout::LayoutMessages,
    message_compression::{MAX_DECOMPRESSED_BYTES, UnreadableMessage},
    message_writer::MessageWriter,
    metadata::{ConnectionMetadata, TopicMetadata},
    names::type_name,
    sensor::packets::FrameIdReader,
    transcode::{CdrRemainder, Transcoder},
};

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
