//! Definitions of ROS messages, wherever they are found: in bags, in MCAP files.
//!
//! A [`Definition`] says what the fields of a type are, and how its messages lie in
//! memory, as a [`Layout`](logtool_core::Layout) of which columns are made. A
//! [`Transcoder`] translates messages between the encodings of ROS 1 and of ROS 2, and a
//! [`MessageWriter`] makes some of ROS 1, as [`LayoutMessages`] does of the payloads of
//! other formats. Messages of sensors become images ([`ImageType`]) and tables of points and
//! packets ([`Derived`]), in either encoding.

// In reading order: each module uses only those above it.
mod cut;
mod packed;

mod definition;
mod names;

mod layout;
mod transcode;
mod write;

mod points;
mod sensor;

mod image;

mod derived;

pub use crate::{
    cut::Encoding,
    definition::{Definition, Described, compile, define, describe, md5sum},
    derived::{Derivation, Derived},
    image::{
        ImageContent, ImageFile, ImageMessage, ImageType, PixelColor, Pixels, RawImage,
    },
    layout::LayoutMessages,
    names::type_name,
    packed::MAX_UNPACKED,
    transcode::{CdrRemainder, Transcoder},
    write::MessageWriter,
};

/// The example of the README is tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
