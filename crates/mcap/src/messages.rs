//! Decoders and layouts of messages, by the schema of their topic.

pub(crate) mod cdr;
pub(crate) mod json;
pub(crate) mod lookahead;
pub(crate) mod null_time;
pub(crate) mod protobuf;
pub(crate) mod ros2;

use std::sync::Arc;

use logtool_core::{
    Columns, Decoder, FieldRole, Layout, LayoutDecoder, LayoutField, LayoutKind,
    Primitive, RawDecoder, Result, StructType, Topic, TreeDecoder, TreeReader,
};
use logtool_rosmsg::{Definition, TopicMetadata, resolve_definition_for_table};

use crate::{
    messages::{
        cdr::CdrDecoder,
        json::{IntegerTypes, JsonReader},
    },
    schema_encoding::schema_encoding,
};

/// Returns a decoder of the messages of `topic` that outputs the selected `columns`.
/// Without a usable schema, the only column besides the time has the raw bytes.
/// `integer_types` are the types of integers in JSON messages that differ from the types
/// that the schema implies.
pub(crate) fn decoder(
    topic: &Topic,
    columns: &Columns,
    integer_types: Option<&IntegerTypes>,
) -> Result<Box<dyn Decoder>> {
    if let Some(Ok(reader)) = protobuf::reader(topic) {
        return tree_decoder(reader.struct_type().clone(), reader, topic, columns);
    }
    if let Some(reader) = json_reader(topic) {
        let reader = match integer_types {
            Some(types) => reader.with_types(types),
            None => reader,
        };
        return tree_decoder(reader.struct_type().clone(), reader, topic, columns);
    }
    match layout(topic) {
        Some(Ok(layout)) if topic.encoding == cdr::MESSAGE_ENCODING => {
            Ok(Box::new(CdrDecoder::new(&layout, topic.header_len, columns)?))
        }
        Some(Ok(layout)) => Ok(Box::new(LayoutDecoder::new(&layout, columns)?)),
        None | Some(Err(_)) => {
            let raw = RawDecoder::new("ns", columns)?;
            Ok(Box::new(raw.without_header(topic.header_len)))
        }
    }
}

fn tree_decoder(
    struct_type: StructType,
    reader: impl TreeReader + 'static,
    topic: &Topic,
    columns: &Columns,
) -> Result<Box<dyn Decoder>> {
    Ok(Box::new(TreeDecoder::new(&struct_type, reader, topic.header_len, columns)?))
}

/// Returns a reader of the messages of `topic`, if they are JSON.
pub(crate) fn json_reader(topic: &Topic) -> Option<JsonReader> {
    (topic.encoding == json::MESSAGE_ENCODING).then(|| {
        let encoding = schema_encoding(topic).unwrap_or_default();
        let has_json_schema = encoding == json::SCHEMA_ENCODING;
        let schema = if has_json_schema { topic.definition.as_str() } else { "" };
        JsonReader::new(&topic.type_name, schema)
    })
}

/// Returns the layout of the messages of `topic`. For ROS 1, it is the layout of whole
/// payloads, including the header bytes; for CDR, it is that of converted messages without
/// the header bytes. Returns `None` if the encoding has no layouts, and an error if the
/// schema is malformed.
pub(crate) fn layout(topic: &Topic) -> Option<Result<Arc<Layout>>> {
    let schema_encoding = schema_encoding(topic).unwrap_or_default();
    match (topic.encoding.as_str(), schema_encoding) {
        ("ros1", "ros1msg") => {
            let md5sum = TopicMetadata::new(&topic.metadata).md5sum_or_any();
            let described = resolve_definition_for_table(
                &topic.type_name,
                md5sum,
                &topic.definition,
            );
            Some(described.and_then(|described| with_message_header(&described.layout)))
        }
        (cdr::MESSAGE_ENCODING, cdr::SCHEMA_ENCODING) => Some(cdr::layout(topic)),
        _ => None,
    }
}

/// Returns whether `topic` has a definition that defines something. Recorders write an empty
/// definition, or only the name of the type, if they do not find the definition.
pub(crate) fn has_definition(topic: &Topic) -> bool {
    match schema_encoding(topic) {
        Some("ros1msg" | cdr::SCHEMA_ENCODING) if topic.descriptor.is_empty() => {
            !Definition::is_missing(&topic.type_name, &topic.definition)
        }
        _ => !topic.definition_bytes().trim_ascii().is_empty(),
    }
}

/// Returns the definition and the schema encoding of a well-known ROS type, if `topic`
/// has such a type [without a definition](has_definition).
pub(crate) fn well_known_definition(topic: &Topic) -> Option<(String, &'static str)> {
    if has_definition(topic) {
        return None;
    }
    let schema_encoding = schema_encoding(topic).unwrap_or_default();
    let (text, encoding) = match (topic.encoding.as_str(), schema_encoding) {
        ("ros1", "ros1msg" | "") => {
            let definition = match TopicMetadata::new(&topic.metadata).md5sum {
                None | Some("*") => Definition::by_name(&topic.type_name)?,
                Some(md5sum) => Definition::by_md5sum(&topic.type_name, md5sum)?,
            };
            (definition.text(), "ros1msg")
        }
        (cdr::MESSAGE_ENCODING, cdr::SCHEMA_ENCODING | "") => {
            (Definition::common_ros2_text(&topic.type_name)?, cdr::SCHEMA_ENCODING)
        }
        _ => return None,
    };
    (!text.is_empty()).then_some((text, encoding))
}

/// Returns the reason why the JSON schema of `topic` cannot be parsed, or `None` if it can
/// be parsed or the topic has no JSON schema.
pub(crate) fn json_schema_error(topic: &Topic) -> Option<String> {
    let has_json_schema = topic.encoding == json::MESSAGE_ENCODING
        && schema_encoding(topic) == Some(json::SCHEMA_ENCODING);
    let schema = topic.definition_bytes().trim_ascii();
    if !has_json_schema || schema.is_empty() {
        return None;
    }
    let parsed = serde_json::from_slice::<serde_json::Value>(schema);
    parsed.err().map(|err| format!("its schema is not JSON: {err}"))
}

/// Returns `layout` with hidden fields for the header bytes before its fields.
fn with_message_header(layout: &Layout) -> Result<Arc<Layout>> {
    let hidden_field = |name: &str, primitive| LayoutField {
        name: name.to_owned(),
        kind: LayoutKind::Primitive(primitive),
        count: None,
        offset: 0,
        role: FieldRole::Hidden,
    };
    let mut fields = vec![
        hidden_field("sequence", Primitive::U32),
        hidden_field("log_time", Primitive::U64),
        hidden_field("publish_time", Primitive::U64),
    ];
    fields.extend(layout.fields.iter().cloned());
    let with_message_header = Layout::from_fields(layout.name.clone(), fields)?;
    Ok(Arc::new(with_message_header.with_record_properties(layout.record_properties)))
}
