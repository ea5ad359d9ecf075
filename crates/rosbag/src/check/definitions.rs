//! Checks of the types and definitions of connections.

use logtool_core::{ColumnBudget, ErrorKind, Finding, Findings, decode_text};
use logtool_rosmsg::resolve_definition;

use crate::{
    check::{CheckedBag, codes as code},
    connections::{connection::Connection, connection_table::ConnectionEntry},
    wire::Fields,
};

/// Checks the definitions and ids of connections.
pub(super) fn check(log: &CheckedBag, findings: &mut Findings) {
    let mut budget = ColumnBudget::default();
    let mut last_type: Option<(&str, &str, &str)> = None;
    for ConnectionEntry { connection, valid_from, topic, .. } in &log.table.entries {
        if *valid_from > 0 {
            let (id, topic_name) = (connection.id, &connection.topic);
            let message = format!(
                "from byte {valid_from} on, the id {id} belongs to a connection of {topic_name:?}"
            );
            findings.add(
                Finding::new(&code::CONNECTION_REUSED, message)
                    .with_bytes(*valid_from..*valid_from),
            );
        }
        if let Some(name) = non_utf8_field(connection) {
            let id = connection.id;
            let message = format!("the field {name:?} of connection {id}");
            findings
                .add(Finding::new(&code::CONNECTION_TEXT, message).with_topic(*topic));
        }
        if let Some(latching) = connection.latching_word() {
            let id = connection.id;
            let message = format!("the connection {id} has the value {latching:?}");
            findings.add(
                Finding::new(&code::CONNECTION_LATCHING, message).with_topic(*topic),
            );
        }
        let message_type = (
            connection.type_name.as_str(),
            connection.md5sum.as_str(),
            connection.definition.as_str(),
        );
        // Consecutive connections often have the same type.
        if last_type.replace(message_type) == Some(message_type) {
            continue;
        }
        let (type_name, md5sum, definition) = message_type;
        let record_definition = resolve_definition(type_name, md5sum, definition)
            .and_then(|parsed| {
                budget.schema(&parsed.layout)?;
                Ok(parsed)
            });
        let finding = match record_definition {
            Ok(parsed) => parsed
                .anomaly
                .map(|anomaly| Finding::new(&code::DEFINITION_MISMATCH, anomaly)),
            // The manifest has a remark about a definition that is not supported.
            Err(err) if err.kind() == ErrorKind::Unsupported => None,
            Err(err) => Some(Finding::new(&code::DEFINITION_BROKEN, err.to_string())),
        };
        if let Some(finding) = finding {
            findings.add(finding.with_topic(*topic));
        }
    }
}

/// Returns the name of the first field of `connection` whose value is not UTF-8.
fn non_utf8_field(connection: &Connection) -> Option<String> {
    let mut fields = Fields::new(connection.header());
    let field = fields.find(|(_, value)| str::from_utf8(value).is_err());
    field.map(|(name, _)| decode_text(name).into_owned())
}
