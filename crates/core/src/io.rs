//! Input and output of bytes.

pub(crate) mod byte_reader;
pub(crate) mod chunk_limits;
pub(crate) mod decode_text;
pub(crate) mod escaped_text;
pub(crate) mod output;
pub(crate) mod output_writer;
pub(crate) mod regular_file;
pub(crate) mod source;
pub(crate) mod temporary_file;
pub(crate) mod window_reader;
