//! Protobuf messages, by the schema of their topic.

use logtool_core::{Result, Topic};
use logtool_protobuf::{FileSet, MessageReader};

use crate::{schema_encoding::schema_encoding, wire::Schema};

/// The message encoding and the schema encoding of protobuf.
pub(crate) const PROTOBUF: &str = "protobuf";

/// The maximum length of a descriptor that is displayed as text.
const MAX_TEXT: usize = 1 << 18;

/// Returns a reader of the messages of `topic`, or the reason why there is no
/// reader.
/// Returns `None` if the messages are not protobuf.
pub(crate) fn reader(topic: &Topic) -> Option<Result<MessageReader>> {
    let schema = schema_encoding(topic).unwrap_or_default();
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

/// Returns a readable form of a protobuf `schema`, whose data is binary.
pub(crate) fn text(schema: &Schema) -> String {
    if schema.encoding != PROTOBUF || schema.data.len() > MAX_TEXT {
        return String::new();
    }
    FileSet::parse(&schema.data)
        .map_or_else(|_| String::new(), |files| files.to_string())
}
