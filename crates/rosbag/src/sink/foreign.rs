//! Extracts of logs that are no bags, and have messages of ROS 1 all the same: of MCAP
//! files.

use logtool_core::{
    Error, ErrorKind, Manifest, Result, Selection, Stream, UnsupportedContent, Value,
};

use crate::{
    connection::{FACTS, Raw},
    table::Table,
    write::header::ConnectionHeader,
};

/// So many metadata records are named that are left out.
const NAMED: usize = 8;

/// The field of the definition of a type.
const DEFINITION: &str = "message_definition";

/// The connections that the streams of `manifest` become, in their order.
///
/// # Errors
/// `UnsuitableEncoding` if messages of a topic that `selection` wants are not written as ROS 1
/// writes them.
pub(super) fn connections(manifest: &Manifest, selection: &Selection) -> Result<Table> {
    for (id, topic) in manifest.topics() {
        if selection.topics.contains(id) && topic.encoding != "ros1" {
            let (label, format) = (topic.label(), &manifest.format);
            let what = format!(
                "the topic {label:?} of a log of {format} in a bag: its messages are not \
                 written as ROS 1 writes them, but as {:?}",
                topic.encoding
            );
            return Err(Error::new(ErrorKind::UnsuitableEncoding, what));
        }
    }
    let connections = (0..).zip(&manifest.streams).map(|(number, stream)| {
        let topic = manifest.get(stream.topic)?;
        let words = |key: &str| words(stream, key);
        let on = words("original_topic").unwrap_or(&topic.name);
        let mut header = ConnectionHeader::new(on, &topic.type_name, &topic.definition);
        let computed = header.md5sum().ok();
        let md5sum = words("md5sum").map(str::to_owned).or(computed);
        header = header.with_md5sum(md5sum.as_deref().unwrap_or("*"));
        if let Some(caller) = words("callerid") {
            header = header.with_caller(caller);
        }
        let latches = topic.is_latched(number).then_some("1");
        header = header.saying_of_latching(words("latching").or(latches));
        for (name, value) in others(manifest, stream).filter(|(name, _)| is_field(name))
        {
            header = header.saying(name, value);
        }
        let id = match stream.metadata.get("id") {
            Some(Value::UInt(id)) => u32::try_from(*id).unwrap_or(number),
            _ => number,
        };
        let raw = Raw::new(id, topic.name.as_bytes(), &header.to_bytes()?);
        Ok((raw, stream.topic))
    });
    Ok(Table::of_streams(connections.collect::<Result<Vec<_>>>()?))
}

/// What the log of `manifest` has beside its messages, for which a bag has no place. What tells
/// where the log itself is from is not counted: the bag says that of its own.
pub(crate) fn unsupported_content(manifest: &Manifest) -> Option<UnsupportedContent> {
    const OWN: [&str; 2] = ["logtool", "provenance"];
    let files = match manifest.metadata.get("attachments") {
        Some(Value::UInt(count)) => *count,
        _ => 0,
    };
    let words: Vec<&str> = match manifest.metadata.get("metadata") {
        Some(Value::Map(all)) => all.keys().map(String::as_str).collect(),
        _ => Vec::new(),
    };
    let words: Vec<&str> = words.into_iter().filter(|key| !OWN.contains(key)).collect();
    let names = words.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    let more = if words.len() > NAMED { ", …" } else { "" };
    let names = format!(" ({names}{more})");
    let unnamed = manifest.streams.iter().flat_map(|stream| others(manifest, stream));
    let unnamed = unnamed.filter(|(name, _)| !is_field(name)).count() as u64;
    let counts = [
        (files, "attachment", ""),
        (words.len() as u64, "metadata record", names.as_str()),
        (unnamed, "channel metadata pair", ""),
    ];
    let told = counts.into_iter().filter(|(count, ..)| *count > 0);
    let told = told.map(|(count, one, names)| {
        let end = if count == 1 { "" } else { "s" };
        format!("{count} {one}{end}{names}")
    });
    let told: Vec<String> = told.collect();
    let what = format!("{}: a bag has only messages", told.join(", "));
    (!told.is_empty()).then_some(UnsupportedContent { topic: None, what })
}

/// What `stream` of an MCAP file says of itself that has no place of its own in a bag.
fn others<'m>(
    manifest: &Manifest,
    stream: &'m Stream,
) -> impl Iterator<Item = (&'m str, &'m str)> {
    let is_file = manifest.format == "mcap";
    let told = stream.metadata.iter().filter(move |_| is_file);
    told.filter_map(|(name, value)| match value {
        Value::Text(value) if name != DEFINITION && !FACTS.contains(&&**name) => {
            Some((&**name, &**value))
        }
        _ => None,
    })
}

/// Whether a field of a connection can be called so.
fn is_field(name: &str) -> bool {
    !name.is_empty() && !name.contains('=')
}

/// What is said of `stream` under `key`.
fn words<'s>(stream: &'s Stream, key: &str) -> Option<&'s str> {
    match stream.metadata.get(key) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}
