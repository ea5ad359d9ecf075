//! Checks of the types and definitions of connections.

use logtool_core::{ColumnBudget, Finding, Findings, decode_text};
use logtool_rosmsg::resolve_definition;

use crate::{
    check::{CheckedBag, codes as code},
    connections::{connection::Connection, connection_table::ConnectionEntry},
    wire::Fields,
};

/// Checks the definitions and ids of connections.
pub(super) fn check(log: &CheckedBag, findings: &mut Findings) {
    let mut budget = ColumnBudget::default();
    let mut last: Option<(&str, &str, &str)> = None;
    for ConnectionEntry { connection, since, topic, .. } in &log.table.entries {
        if *since > 0 {
            let (id, name) = (connection.id, &connection.topic);
            let message = format!(
                "from byte {since} on, the id {id} belongs to a connection of {name:?}"
            );
            findings.add(
                Finding::new(&code::CONNECTION_REUSED, message)
                    .with_bytes(*since..*since),
            );
        }
        if let Some(name) = not_utf8(connection) {
            let id = connection.id;
            let message = format!("the field {name:?} of connection {id}");
            findings
                .add(Finding::new(&code::CONNECTION_TEXT, message).with_topic(*topic));
        }
        if let Some(latching) = connection.latching_text() {
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
        if last.replace(message_type) == Some(message_type) {
            continue;
        }
        let (type_name, md5sum, definition) = message_type;
        let defined =
            resolve_definition(type_name, md5sum, definition).and_then(|described| {
                budget.schema(&described.layout)?;
                Ok(described)
            });
        let finding = match defined {
            Ok(described) => {
                let anomaly = described.anomaly;
                anomaly.map(|anomaly| Finding::new(&code::DEFINITION_ODD, anomaly))
            }
            Err(err) => Some(Finding::new(&code::DEFINITION_BROKEN, err.to_string())),
        };
        findings_of(finding, *topic, findings);
    }
}

/// Returns the name of the first field of `connection` that is not UTF-8.
fn not_utf8(connection: &Connection) -> Option<String> {
    let mut fields = Fields::new(connection.header());
    let field = fields.find(|(_, value)| str::from_utf8(value).is_err());
    field.map(|(name, _)| decode_text(name).into_owned())
}

fn findings_of(
    finding: Option<Finding>,
    topic: logtool_core::TopicId,
    findings: &mut Findings,
) {
    finding.into_iter().for_each(|finding| findings.add(finding.with_topic(topic)));
}
