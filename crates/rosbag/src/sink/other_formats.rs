//! Selections of logs in other formats, e.g. MCAP files, whose messages are encoded as in ROS 1.

use logtool_core::{
    Error, ErrorKind, Manifest, MetadataKey, MetadataKeys, Result, Selection, Stream,
    UnsupportedContent, Value,
};
use logtool_rosmsg::{ConnectionMetadata, Encoding};

use crate::{
    connections::{
        connection::{RawConnection, is_reserved_key},
        connection_table::ConnectionTable,
    },
    write::connection_header::ConnectionHeader,
};

/// The maximum number of dropped metadata records that a message names.
const MAX_NAMED: usize = 8;

/// The name of the field with the definition of a type.
const DEFINITION: &str = "message_definition";

/// Returns a connection for each stream of `manifest`, in the same order.
///
/// # Errors
/// `UnsuitableEncoding` if the messages of a topic in `selection` are not encoded as in ROS 1.
pub(super) fn connections(
    manifest: &Manifest,
    selection: &Selection,
) -> Result<ConnectionTable> {
    for (id, topic) in manifest.topics() {
        if selection.topics.contains(id)
            && Encoding::from_name(&topic.encoding) != Some(Encoding::Ros1)
        {
            let (label, format) = (topic.label(), &manifest.format);
            let message = format!(
                "the topic {label:?} of a {format} log cannot be written to a bag: the encoding \
                 of its messages is {:?}, not that of ROS 1",
                topic.encoding
            );
            return Err(Error::new(ErrorKind::UnsuitableEncoding, message));
        }
    }
    let connections = (0..).zip(&manifest.streams).map(|(number, stream)| {
        let topic = manifest.topic(stream.topic)?;
        let metadata = ConnectionMetadata::from_values(&stream.metadata);
        let topic_name = metadata.original_topic.unwrap_or(&topic.name);
        let mut header =
            ConnectionHeader::new(topic_name, &topic.type_name, &topic.definition);
        let computed = header.md5sum().ok();
        let md5sum = metadata.md5sum.or(computed.as_deref());
        header = header.with_md5sum(md5sum.unwrap_or("*"));
        if let Some(caller) = metadata.caller {
            header = header.with_caller(caller);
        }
        let latches = topic.is_latched(number).then_some("1");
        header = header.with_latching_value(metadata.latching.or(latches));
        for (name, value) in other_metadata(stream).filter(|(name, _)| is_field(name)) {
            header = header.with_field(name, value);
        }
        let id = match stream.metadata.get("id") {
            Some(Value::UInt(id)) => u32::try_from(*id).unwrap_or(number),
            _ => number,
        };
        let raw = RawConnection::new(id, topic.name.as_bytes(), &header.to_bytes()?);
        Ok((raw, stream.topic))
    });
    Ok(ConnectionTable::from_streams(connections.collect::<Result<Vec<_>>>()?))
}

/// Returns the contents of the log of `manifest`, other than messages, that a bag cannot store. The
/// provenance records are not counted, because they describe how the log itself was written.
pub(crate) fn unsupported_content(manifest: &Manifest) -> Option<UnsupportedContent> {
    // The names of the metadata records with the provenance.
    const PROVENANCE_RECORDS: [&str; 2] = ["logtool", "provenance"];
    let attachments = match manifest.file_metadata(MetadataKey::Attachments) {
        Some(Value::UInt(count)) => *count,
        _ => 0,
    };
    let keys: Vec<&str> = match manifest.file_metadata(MetadataKey::MetadataRecords) {
        Some(Value::Map(records)) => records.keys().map(String::as_str).collect(),
        _ => Vec::new(),
    };
    let keys: Vec<&str> =
        keys.into_iter().filter(|key| !PROVENANCE_RECORDS.contains(key)).collect();
    let names = keys.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
    let ellipsis = if keys.len() > MAX_NAMED { ", …" } else { "" };
    let names = format!(" ({names}{ellipsis})");
    let pairs = manifest.streams.iter().flat_map(other_metadata);
    let dropped_pairs = pairs.filter(|(name, _)| !is_field(name)).count() as u64;
    let counts = [
        (attachments, "attachment", ""),
        (keys.len() as u64, "metadata record", names.as_str()),
        (dropped_pairs, "channel metadata pair", ""),
    ];
    let dropped = counts.into_iter().filter(|(count, ..)| *count > 0);
    let dropped = dropped.map(|(count, noun, names)| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{count} {noun}{plural}{names}")
    });
    let dropped: Vec<String> = dropped.collect();
    let message = format!("{}: a bag has only messages", dropped.join(", "));
    (!dropped.is_empty())
        .then_some(UnsupportedContent { topic: None, description: message })
}

/// Returns the metadata of `stream` that were chosen by the writer of the log, and for which bags
/// have no field with a defined meaning.
fn other_metadata(stream: &Stream) -> impl Iterator<Item = (&str, &str)> {
    let has_chosen_keys = stream.metadata_keys == MetadataKeys::File;
    let entries = stream.metadata.iter().filter(move |_| has_chosen_keys);
    entries.filter_map(|(name, value)| match value {
        Value::Text(value) if name != DEFINITION && !is_reserved_key(name) => {
            Some((&**name, &**value))
        }
        _ => None,
    })
}

/// Returns whether a connection field can have this `name`.
fn is_field(name: &str) -> bool {
    !name.is_empty() && !name.contains('=')
}
