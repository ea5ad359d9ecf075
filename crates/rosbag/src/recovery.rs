//! Finding the extent of damaged chunks, and the messages that are lost in them.

pub(crate) mod chunk_extent;
pub(crate) mod chunk_messages;
pub(crate) mod damage_locator;
pub(crate) mod open_chunk;
