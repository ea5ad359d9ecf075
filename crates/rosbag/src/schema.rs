//! What the records of a topic look like, as its connections define it.

use std::collections::HashSet;

use logtool_core::{
    Columns, Decoder, Error, ErrorKind, LayoutDecoder, RawDecoder, Result,
};
use logtool_rosmsg::{Described, define};

use crate::connection::Connection;

/// What the records of the `connections`, which share a topic and a type, look like, and
/// the text that says so: that of the first with the MD5 sum that all of them tell, or else
/// of the first that says anything.
pub(crate) fn of_topic<'c>(
    connections: impl Iterator<Item = &'c Connection>,
) -> Result<(&'c str, Described)> {
    let (mut tried, mut best) = (HashSet::new(), None);
    for Connection { type_name, md5sum, definition, .. } in connections {
        if !tried.insert(definition.as_str()) {
            continue;
        }
        let told = define(type_name, md5sum, definition);
        let told = told.map(|described| (definition.as_str(), described));
        match told {
            Ok((_, Described { oddity: None, .. })) => return told,
            Ok(_) if !matches!(best, Some(Ok(_))) => best = Some(told),
            _ => best = best.or(Some(told)),
        }
    }
    let none = || Error::new(ErrorKind::NoSuch, "a topic without connections");
    best.unwrap_or_else(|| Err(none()))
}

/// A decoder of the `columns` of such records.
pub(crate) fn decoder(
    described: &Result<Described>,
    columns: &Columns,
) -> Result<Box<dyn Decoder>> {
    match described {
        Ok(described) => Ok(Box::new(LayoutDecoder::new(&described.layout, columns)?)),
        Err(_) => Ok(Box::new(RawDecoder::new("ns", columns)?)),
    }
}
