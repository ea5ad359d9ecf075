//! Reads the parts of messages from records of PX4, independent of the encoding of messages.

pub(super) mod attitudes;
pub(super) mod field_reader;
pub(super) mod frame_conversion;
pub(super) mod payloads;
pub(super) mod poses;
