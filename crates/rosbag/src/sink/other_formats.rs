//! Selections of logs in other formats whose messages have the encoding of ROS 1, e.g. MCAP
//! files.

use logtool_core::{
    Error, ErrorKind, Manifest, MetadataKey, MetadataKeys, Result, Selection, Stream,
    UnsupportedContent, Value,
};
use logtool_rosmsg::{ConnectionMetadata, Encoding};

use crate::{
    connections::{
        connection::{RawConnection, is_own_key},
        connection_table::ConnectionTable,
    },
    write::connection_header::ConnectionHeader,
};

/// The maximum number of dropped metadata records that are named.
const NAMED: usize = 8;

/// The name of the field with the definition of a type.
const DEFINITION: &str = "message_definition";

/// Returns the connections for the streams of `manifest`, in their order.
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
        header = header.with_latching_text(metadata.latching.or(latches));
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

/// Returns the contents of the log of `manifest` that a bag cannot store besides messages. The
/// provenance of the log is not counted, because the bag gets its own.
pub(crate) fn unsupported_content(manifest: &Manifest) -> Option<UnsupportedContent> {
    const OWN: [&str; 2] = ["logtool", "provenance"];
    let files = match manifest.file_metadata(MetadataKey::Attachments) {
        Some(Value::UInt(count)) => *count,
        _ => 0,
    };
    let keys: Vec<&str> = match manifest.file_metadata(MetadataKey::MetadataRecords) {
        Some(Value::Map(all)) => all.keys().map(String::as_str).collect(),
        _ => Vec::new(),
    };
    let keys: Vec<&str> = keys.into_iter().filter(|key| !OWN.contains(key)).collect();
    let names = keys.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    let ellipsis = if keys.len() > NAMED { ", …" } else { "" };
    let names = format!(" ({names}{ellipsis})");
    let unnamed = manifest.streams.iter().flat_map(other_metadata);
    let unnamed = unnamed.filter(|(name, _)| !is_field(name)).count() as u64;
    let counts = [
        (files, "attachment", ""),
        (keys.len() as u64, "metadata record", names.as_str()),
        (unnamed, "channel metadata pair", ""),
    ];
    let dropped = counts.into_iter().filter(|(count, ..)| *count > 0);
    let dropped = dropped.map(|(count, one, names)| {
        let end = if count == 1 { "" } else { "s" };
        format!("{count} {one}{end}{names}")
    });
    let dropped: Vec<String> = dropped.collect();
    let message = format!("{}: a bag has only messages", dropped.join(", "));
    (!dropped.is_empty())
        .then_some(UnsupportedContent { topic: None, description: message })
}

/// Returns the metadata of `stream` whose keys the writer of the file chose, and that have no
/// field of their own in a bag.
fn other_metadata(stream: &Stream) -> impl Iterator<Item = (&str, &str)> {
    let is_of_file = stream.metadata_keys == MetadataKeys::File;
    let entries = stream.metadata.iter().filter(move |_| is_of_file);
    entries.filter_map(|(name, value)| match value {
        Value::Text(value) if name != DEFINITION && !is_own_key(name) => {
            Some((&**name, &**value))
        }
        _ => None,
    })
}

/// Returns whether `name` is possible as the name of a connection field.
fn is_field(name: &str) -> bool {
    !name.is_empty() && !name.contains('=')
}
