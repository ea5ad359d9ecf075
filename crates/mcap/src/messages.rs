//! What messages look like, by the schema of their topic.

use std::sync::Arc;

use logtool_core::{
    Columns, Decoder, FieldRole, Layout, LayoutDecoder, LayoutField, LayoutKind,
    Primitive, RawDecoder, Result, Topic, TreeDecoder,
};
use logtool_rosmsg::{Definition, describe};

use crate::{
    cdr::{self, CDR, CdrDecoder},
    json::{IntegerTypes, JSON, JsonReader},
    protobuf,
    wire::SCHEMA_ENCODING,
};

/// A decoder of the messages of `topic` into `columns`: raw bytes, if nothing more is
/// known of them. JSON messages have `integers` of other types than their schema
/// implies.
pub(crate) fn decoder(
    topic: &Topic,
    columns: &Columns,
    integers: Option<&IntegerTypes>,
) -> Result<Box<dyn Decoder>> {
    if let Some(Ok(reader)) = protobuf::reader(topic) {
        let shape = reader.shape().clone();
        return Ok(Box::new(TreeDecoder::new(
            &shape,
            reader,
            topic.envelope,
            columns,
        )?));
    }
    if let Some(reader) = json_reader(topic) {
        let reader = match integers {
            Some(types) => reader.with_types(types),
            None => reader,
        };
        let shape = reader.shape().clone();
        return Ok(Box::new(TreeDecoder::new(
            &shape,
            reader,
            topic.envelope,
            columns,
        )?));
    }
    match layout(topic) {
        Some(Ok(layout)) if topic.encoding == CDR.0 => {
            Ok(Box::new(CdrDecoder::new(&layout, topic.envelope, columns)?))
        }
        Some(Ok(layout)) => Ok(Box::new(LayoutDecoder::new(&layout, columns)?)),
        None | Some(Err(_)) => {
            let raw = RawDecoder::new("ns", columns)?;
            Ok(Box::new(raw.without_envelope(topic.envelope)))
        }
    }
}

/// Returns a reader of the messages of `topic`, if they are JSON.
pub(crate) fn json_reader(topic: &Topic) -> Option<JsonReader> {
    (topic.encoding == JSON.0).then(|| {
        let schema = topic.metadata.get(SCHEMA_ENCODING).map_or("", String::as_str);
        let told = if schema == JSON.1 { topic.definition.as_str() } else { "" };
        JsonReader::new(&topic.type_name, told)
    })
}

/// What the messages of `topic` look like, their envelope included but for those in CDR;
/// nothing where that is not told in a way that is understood, an error where it is told
/// wrongly.
pub(crate) fn layout(topic: &Topic) -> Option<Result<Arc<Layout>>> {
    let schema = topic.metadata.get(SCHEMA_ENCODING).map_or("", String::as_str);
    match (topic.encoding.as_str(), schema) {
        ("ros1", "ros1msg") => {}
        CDR => return Some(cdr::layout(topic)),
        _ => return None,
    }
    let md5sum = topic.metadata.get("md5sum").map_or("*", String::as_str);
    let described = describe(&topic.type_name, md5sum, &topic.definition);
    Some(described.and_then(|described| enveloped(&described.layout)))
}

/// Returns the definition of the common type of ROS that `topic` has, and its encoding, if the file
/// has an empty one: recorders that do not find the definition of a type write that.
pub(crate) fn missing_definition(topic: &Topic) -> Option<(String, &'static str)> {
    let schema = topic.metadata.get(SCHEMA_ENCODING).map_or("", String::as_str);
    let is_empty = topic.definition.trim().is_empty() && topic.descriptor.is_empty();
    let (text, encoding) = match (topic.encoding.as_str(), schema) {
        _ if !is_empty => return None,
        ("ros1", "ros1msg" | "") => {
            let definition = match topic.metadata.get("md5sum").map(String::as_str) {
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

/// Returns why the JSON schema of `topic` cannot be used, if it has one that cannot.
pub(crate) fn unusable_json_schema(topic: &Topic) -> Option<String> {
    let schema = topic.metadata.get(SCHEMA_ENCODING).map_or("", String::as_str);
    let text = topic.definition_bytes().trim_ascii();
    if (topic.encoding.as_str(), schema) != JSON || text.is_empty() {
        return None;
    }
    let parsed = serde_json::from_slice::<serde_json::Value>(text);
    parsed.err().map(|why| format!("its schema is not JSON: {why}"))
}

/// `layout`, behind an envelope.
fn enveloped(layout: &Layout) -> Result<Arc<Layout>> {
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
    let enveloped = Layout::packed(layout.name.clone(), fields)?;
    Ok(Arc::new(enveloped.with_frame(layout.frame)))
}
