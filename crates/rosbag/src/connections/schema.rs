//! The schema of a topic, as its connections define it.

use std::collections::HashSet;

use logtool_core::{
    Columns, Decoder, Error, ErrorKind, LayoutDecoder, RawDecoder, Result,
};
use logtool_rosmsg::{RecordDefinition, resolve_definition};

use crate::connections::connection::Connection;

/// Returns the definition of the records of the `connections`, which share a topic and a
/// type, and their description: the first definition that has the declared MD5 sum, or else
/// the first that can be used.
pub(crate) fn topic_schema<'c>(
    connections: impl Iterator<Item = &'c Connection>,
) -> Result<(&'c str, RecordDefinition)> {
    let (mut tried, mut best) = (HashSet::new(), None);
    for Connection { type_name, md5sum, definition, .. } in connections {
        if !tried.insert(definition.as_str()) {
            continue;
        }
        let described = resolve_definition(type_name, md5sum, definition);
        let described = described.map(|described| (definition.as_str(), described));
        match described {
            Ok((_, RecordDefinition { anomaly: None, .. })) => return described,
            Ok(_) if !matches!(best, Some(Ok(_))) => best = Some(described),
            _ => best = best.or(Some(described)),
        }
    }
    let none = || Error::new(ErrorKind::NoSuch, "a topic without connections");
    best.unwrap_or_else(|| Err(none()))
}

/// Returns a decoder of the `columns` of such records.
pub(crate) fn decoder(
    described: &Result<RecordDefinition>,
    columns: &Columns,
) -> Result<Box<dyn Decoder>> {
    match described {
        Ok(described) => Ok(Box::new(LayoutDecoder::new(&described.layout, columns)?)),
        Err(_) => Ok(Box::new(RawDecoder::new("ns", columns)?)),
    }
}
