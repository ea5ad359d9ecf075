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
        cdr::{CDR, CdrDecoder},
        json::{IntegerTypes, JSON, JsonReader},
    },
    schema_encoding::schema_encoding,
};

/// Returns a decoder of the messages of `topic` that outputs the selected `columns`.
/// Without a usable schema, the column has the raw bytes. JSON messages have `integers`
/// with types other than those implied by the schema.
pub(crate) fn decoder(
    topic: &Topic,
    columns: &Columns,
    integers: Option<&IntegerTypes>,
) -> Result<Box<dyn Decoder>> {
    if let Some(Ok(reader)) = protobuf::reader(topic) {
        return tree_decoder(reader.shape().clone(), reader, topic, columns);
    }
    if let Some(reader) = json_reader(topic) {
        let reader = match integers {
            Some(types) => reader.with_types(types),
            None => reader,
        };
        return tree_decoder(reader.struct_type().clone(), reader, topic, columns);
    }
    match layout(topic) {
        Some(Ok(layout)) if topic.encoding == CDR.0 => {
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
    (topic.encoding == JSON.0).then(|| {
        let schema = schema_encoding(topic).unwrap_or_default();
        let text = if schema == JSON.1 { topic.definition.as_str() } else { "" };
        JsonReader::new(&topic.type_name, text)
    })
}

/// Returns the layout of the messages of `topic`, including the header bytes except for
/// CDR. Returns `None` if the encoding is not supported, and an error if the schema is
/// malformed.
pub(crate) fn layout(topic: &Topic) -> Option<Result<Arc<Layout>>> {
    let schema = schema_encoding(topic).unwrap_or_default();
    match (topic.encoding.as_str(), schema) {
        ("ros1", "ros1msg") => {}
        CDR => return Some(cdr::layout(topic)),
        _ => return None,
    }
    let md5sum = TopicMetadata::new(&topic.metadata).md5sum_or_any();
    let described =
        resolve_definition_for_table(&topic.type_name, md5sum, &topic.definition);
    Some(described.and_then(|described| with_message_header(&described.layout)))
}

/// Returns the definition of a well-known ROS type and its schema encoding, if `topic`
/// has such a type with an empty definition. Recorders write an empty definition if
/// they do not find the definition of a type.
pub(crate) fn missing_definition(topic: &Topic) -> Option<(String, &'static str)> {
    let schema = schema_encoding(topic).unwrap_or_default();
    let is_empty = topic.definition.trim().is_empty() && topic.descriptor.is_empty();
    let (text, encoding) = match (topic.encoding.as_str(), schema) {
        _ if !is_empty => return None,
        ("ros1", "ros1msg" | "") => {
            let definition = match TopicMetadata::new(&topic.metadata).md5sum {
                None | Some("*") => Definition::by_name(&topic.type_name)?,
                Some(md5sum) => Definition::by_md5sum(&topic.type_name, md5sum)?,
            };
            (definition.text(), "ros1msg")
        }
        (encoding, schema)
            if encoding == CDR.0 && (schema == CDR.1 || schema.is_empty()) =>
        {
            (Definition::common_ros2_text(&topic.type_name)?, CDR.1)
        }
        _ => return None,
    };
    (!text.is_empty()).then_some((text, encoding))
}

/// Returns the reason why the JSON schema of `topic` cannot be parsed, if it has one.
pub(crate) fn unusable_json_schema(topic: &Topic) -> Option<String> {
    let schema = schema_encoding(topic).unwrap_or_default();
    let text = topic.definition_bytes().trim_ascii();
    if (topic.encoding.as_str(), schema) != JSON || text.is_empty() {
        return None;
    }
    let parsed = serde_json::from_slice::<serde_json::Value>(text);
    parsed.err().map(|err| format!("its schema is not JSON: {err}"))
}

/// Returns `layout` with preceding hidden fields for the header bytes.
fn with_message_header(layout: &Layout) -> Result<Arc<Layout>> {
    let hidden = |name: &str, primitive| LayoutField {
        name: name.to_owned(),
        kind: LayoutKind::Primitive(primitive),
        count: None,
        offset: 0,
        role: FieldRole::Hidden,
    };
    let mut fields = vec![
        hidden("sequence", Primitive::U32),
        hidden("log_time", Primitive::U64),
        hidden("publish_time", Primitive::U64),
    ];
    fields.extend(layout.fields.iter().cloned());
    let with_message_header = Layout::from_fields(layout.name.clone(), fields)?;
    Ok(Arc::new(with_message_header.with_record_properties(layout.record_properties)))
}
