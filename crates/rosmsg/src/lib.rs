//! Definitions of ROS messages, wherever they are found: in bags, in MCAP files.
//!
//! A [`Definition`] says what the fields of a type are, and how its messages lie in
//! memory, as a [`Layout`](logtool_core::Layout) of which columns are made. A
//! [`Transcoder`] translates messages between the encodings of ROS 1 and of ROS 2, and a
//! [`MessageWriter`] makes some of ROS 1, as [`LayoutMessages`] does of the payloads of
//! other formats.

mod definition;
mod layout;
mod names;
mod transcode;
mod write;

pub use crate::{
    definition::{Definition, Described, compile, define, describe, md5sum},
    layout::LayoutMessages,
    names::type_name,
    transcode::Transcoder,
    write::MessageWriter,
};
