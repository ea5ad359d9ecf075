//! Messages of protocol buffers, by the schema of their topic.

use logtool_core::{Result, Topic};
use logtool_protobuf::{FileSet, MessageReader};

use crate::wire::{SCHEMA_ENCODING, Schema};

/// Messages and schemas of protocol buffers.
pub(crate) const PROTOBUF: &str = "protobuf";

/// Descriptors that are longer are not told as text.
const MAX_TEXT: usize = 1 << 18;

/// A reader of the messages of `topic`, or why there is none; nothing if they are others.
pub(crate) fn reader(topic: &Topic) -> Option<Result<MessageReader>> {
    let schema = topic.metadata.get(SCHEMA_ENCODING).map_or("", String::as_str);
    if topic.encoding != PROTOBUF || schema != PROTOBUF {
        return None;
    }
    let files = FileSet::parse(&topic.descriptor);
    Some(files.and_then(|files| {
        let reader = MessageReader::new(&files, &topic.type_name)?;
        reader.shape().check()?;
        Ok(reader)
    }))
}

/// What people may read of `schema`, which is no text.
pub(crate) fn text(schema: &Schema) -> String {
    if schema.encoding != PROTOBUF || schema.data.len() > MAX_TEXT {
        return String::new();
    }
    FileSet::parse(&schema.data)
        .map_or_else(|_| String::new(), |files| files.to_string())
}
