//! The schema of a topic, as its connections define it.

use std::collections::HashSet;

use logtool_core::{
    Columns, Decoder, Error, ErrorKind, LayoutDecoder, RawDecoder, Result,
};
use logtool_rosmsg::{RecordDefinition, resolve_definition};

use crate::connections::connection::Connection;

/// Returns the definition of the records of the `connections`, which share a topic and a type, as
/// text and parsed: the first definition that has the declared MD5 sum, or else the first that can
/// be used. If no definition can be used, returns the error of the first.
pub(crate) fn topic_schema<'c>(
    connections: impl Iterator<Item = &'c Connection>,
) -> Result<(&'c str, RecordDefinition)> {
    let (mut seen, mut best) = (HashSet::new(), None);
    for Connection { type_name, md5sum, definition, .. } in connections {
        if !seen.insert(definition.as_str()) {
            continue;
        }
        let record_definition = resolve_definition(type_name, md5sum, definition);
        let record_definition = record_definition
            .map(|record_definition| (definition.as_str(), record_definition));
        match record_definition {
            Ok((_, RecordDefinition { anomaly: None, .. })) => {
                return record_definition;
            }
            Ok(_) if !matches!(best, Some(Ok(_))) => best = Some(record_definition),
            _ => best = best.or(Some(record_definition)),
        }
    }
    best.unwrap_or_else(|| {
        Err(Error::new(ErrorKind::NoSuch, "the topic has no connections"))
    })
}

/// Returns a decoder of the `columns` of records with this definition, or of raw bytes if the
/// definition cannot be used.
pub(crate) fn decoder(
    record_definition: &Result<RecordDefinition>,
    columns: &Columns,
) -> Result<Box<dyn Decoder>> {
    match record_definition {
        Ok(record_definition) => {
            Ok(Box::new(LayoutDecoder::new(&record_definition.layout, columns)?))
        }
        Err(_) => Ok(Box::new(RawDecoder::new("ns", columns)?)),
    }
}
