//! The topics of a bag.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Range,
};

use arrow_schema::SchemaRef;
use logtool_core::{
    ColumnBudget, Damage, DamageKind, Error, ErrorKind, Result, Topic, TopicContent,
    TopicId, TopicOrigin, raw_schema,
};
use logtool_rosmsg::{
    Definition, DerivedTopics, Encoding, RecordDefinition, TopicMetadata,
};

use crate::{
    connections::{connection::Connection, schema},
    manifest::{manifest_builder::ManifestBuilder, scan::PartDraft},
    read::part_content::MessageCount,
};

impl ManifestBuilder {
    /// Returns the topics, including the `derived` ones. `totals` are the message counts of the
    /// other topics, and `drafts` the parts of the bag.
    pub(super) fn topics(
        &mut self,
        totals: &[Option<MessageCount>],
        derived: &DerivedTopics,
        drafts: &[PartDraft],
    ) -> Result<Vec<Topic>> {
        let mut instances: HashMap<&str, u32> = HashMap::new();
        let (mut topics, mut budget) = (Vec::new(), ColumnBudget::default());
        for (id, total) in (0..).map(TopicId).zip(totals) {
            let connections =
                self.table.topic_entries(id).map(|entry| &entry.connection);
            let Some(first) = connections.clone().next() else { continue };
            let instance = instances.entry(first.topic.as_str()).or_default();
            let result = describe_topic(&mut budget, connections.clone());
            let (text, record_definition, schema) = match result {
                Ok(((text, record_definition), schema)) => {
                    (text, Ok(record_definition), schema)
                }
                Err(err) => (first.definition.as_str(), Err(err), raw_schema("ns")),
            };
            if record_definition
                .as_ref()
                .is_err_and(|err| err.kind() == ErrorKind::Limit)
            {
                self.too_wide.insert(id);
            }
            let total = total.unwrap_or(NO_MESSAGES);
            let is_defined = connections.clone().any(|connection| {
                !Definition::is_missing(&connection.type_name, &connection.definition)
            });
            // A topic without a definition or without messages has no loss. A definition that is
            // not supported is not damaged.
            let is_loss = |err: &&Error| {
                is_defined && total.records > 0 && err.kind() != ErrorKind::Unsupported
            };
            match record_definition.as_ref().err().filter(is_loss) {
                Some(err) => {
                    let damage = Damage::new(
                        DamageKind::Definition,
                        self.declaring_chunk(id, drafts),
                    );
                    let damage = damage.with_records(total.records, Some(id));
                    self.damage.push(damage.with_reason(err.message().to_owned()));
                }
                None => self.remarks.extend(anomaly(first, &record_definition)),
            }
            let specific_fields: u64 = connections
                .clone()
                .map(|connection| connection.format_specific_fields)
                .sum();
            if specific_fields > 0 {
                let fields = if specific_fields == 1 { "field" } else { "fields" };
                self.remarks.push(format!(
                    "the topic {:?}: {specific_fields} {fields} of its connections cannot be kept \
                     in other formats: not UTF-8, duplicate, or with a reserved name",
                    first.topic
                ));
            }
            let layout = record_definition.as_ref().ok().map(|parsed| &parsed.layout);
            if let Some(message) = layout.and_then(|layout| layout.count_column()) {
                self.remarks.push(format!("the topic {:?}: {message}", first.topic));
            }
            let definition = match &record_definition {
                Ok(parsed) if text.is_empty() => parsed.definition.text(),
                _ => text.to_owned(),
            };
            let raw_reason =
                record_definition.as_ref().err().filter(|err| !is_loss(err));
            let metadata = topic_metadata(connections, raw_reason);
            topics.push(Topic {
                name: first.topic.clone(),
                instance: *instance,
                origin: TopicOrigin::Logged,
                content: TopicContent::Records,
                encoding: Encoding::Ros1.name().to_owned(),
                type_name: first.type_name.clone(),
                definition,
                schema,
                records: Some(total.records),
                bytes: total.bytes,
                time: total.time.filter(|_| total.records > 0),
                implausible_times: 0,
                before_start: 0,
                latched: self.table.latched_streams(id),
                header_len: 0,
                descriptor: Vec::new(),
                metadata,
            });
            *instance += 1;
        }
        let derived_topics = derived.topics(&topics)?;
        topics.extend(derived_topics);
        Ok(topics)
    }

    /// Returns the bytes of the chunk that declares `topic`, or an empty range if only the
    /// index declares it.
    fn declaring_chunk(&self, topic: TopicId, drafts: &[PartDraft]) -> Range<u64> {
        let declared_at =
            self.table.topic_entries(topic).next().map(|entry| entry.declared_at);
        let draft = drafts.iter().find(|draft| Some(draft.bytes.start) == declared_at);
        draft.map_or(0..0, |draft| draft.bytes.clone())
    }
}

/// Returns the definition of the `connections`, which share a topic and a type, as text and parsed,
/// and their columns, if the columns fit into `budget`.
fn describe_topic<'c>(
    budget: &mut ColumnBudget,
    connections: impl Iterator<Item = &'c Connection>,
) -> Result<((&'c str, RecordDefinition), SchemaRef)> {
    budget.check()?;
    let definition = schema::topic_schema(connections)?;
    let schema = budget.schema(&definition.1.layout)?;
    Ok((definition, schema))
}

/// Returns a remark about the definition of the topic of `connection`, if it has an anomaly or
/// cannot be used.
fn anomaly(
    connection: &Connection,
    record_definition: &Result<RecordDefinition>,
) -> Option<String> {
    let topic = &connection.topic;
    match record_definition {
        Ok(RecordDefinition { anomaly: None, .. }) => None,
        Ok(RecordDefinition { anomaly: Some(anomaly), .. }) => {
            Some(format!("the topic {topic:?}: {anomaly}"))
        }
        Err(err) => Some(format!("the topic {topic:?} has only raw bytes: {err}")),
    }
}

/// The counts of a topic without messages.
const NO_MESSAGES: MessageCount =
    MessageCount { records: 0, bytes: Some(0), time: None };

/// Returns the metadata of the topic of the `connections`. `raw_reason` is the reason why the topic
/// can be read as raw bytes only, if that is so.
fn topic_metadata<'c>(
    connections: impl Iterator<Item = &'c Connection> + Clone,
    raw_reason: Option<&Error>,
) -> BTreeMap<String, String> {
    let callers: BTreeSet<&str> = connections
        .clone()
        .filter_map(|connection| connection.caller.as_deref())
        .collect();
    let callers = callers.into_iter().collect::<Vec<_>>().join(", ");
    let raw_reason = raw_reason.map(Error::to_string);
    let mut metadata = BTreeMap::new();
    TopicMetadata {
        md5sum: connections.clone().next().map(|first| first.md5sum.as_str()),
        callers: connections
            .clone()
            .any(|connection| connection.caller.is_some())
            .then_some(callers.as_str()),
        connections: Some(connections.clone().count() as u64),
        is_latching: Some(connections.clone().any(Connection::is_latching)),
        raw_reason: raw_reason.as_deref(),
    }
    .insert_into(&mut metadata);
    metadata
}
