//! Protobuf messages, by the schema of their topic.

use logtool_core::{Result, Topic};
use logtool_protobuf::{FileSet, MessageReader};

use crate::{schema_encoding::schema_encoding, wire::Schema};

/// The message encoding and the schema encoding of protobuf.
pub(crate) const PROTOBUF: &str = "protobuf";

/// The maximum length of a schema for which a readable form is created.
const MAX_DISPLAYED_LEN: usize = 1 << 18;

/// Returns a reader of the messages of `topic`, or an error if its schema is unusable.
/// Returns `None` if the messages are not protobuf.
pub(crate) fn reader(topic: &Topic) -> Option<Result<MessageReader>> {
    if topic.encoding != PROTOBUF || schema_encoding(topic) != Some(PROTOBUF) {
        return None;
    }
    let files = FileSet::parse(&topic.descriptor);
    Some(files.and_then(|files| {
        let reader = MessageReader::new(&files, &topic.type_name)?;
        reader.struct_type().check()?;
        Ok(reader)
    }))
}

/// Returns a readable form of a protobuf `schema`, whose data is binary. Returns an empty
/// string if the schema is not protobuf, is malformed, or is too long.
pub(crate) fn readable_schema(schema: &Schema) -> String {
    if schema.encoding != PROTOBUF || schema.data.len() > MAX_DISPLAYED_LEN {
        return String::new();
    }
    FileSet::parse(&schema.data).map(|files| files.to_string()).unwrap_or_default()
}
