//! The topics of a bag.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use logtool_core::{Result, Topic, TopicId, TopicOrigin};

use crate::{
    connection::Connection, definition::Described, probe::Count, schema,
    survey::Findings, table::Entry,
};

impl Findings {
    /// The topics, of which `firsts` are the first entries; `totals` are what is known
    /// of the messages of each entry.
    pub(super) fn topics(
        &mut self,
        firsts: &[u32],
        totals: &[Option<Count>],
    ) -> Vec<Topic> {
        let mut instances: HashMap<&str, u32> = HashMap::new();
        let mut topics = Vec::new();
        for (id, first) in (0..).map(TopicId).zip(firsts) {
            let Some(first) = self.table.entries.get(*first as usize) else { continue };
            let entries = self.table.entries.iter().zip(totals);
            let of_topic: Vec<(&Entry, Option<Count>)> =
                entries.filter(|(e, _)| e.topic == id).map(|(e, n)| (e, *n)).collect();
            let total = of_topic.iter().filter_map(|(_, count)| *count);
            let total = total.reduce(Count::and).unwrap_or(NONE);
            let connection = &first.connection;
            let instance = instances.entry(connection.topic.as_str()).or_default();
            let described =
                schema::of_topic(of_topic.iter().map(|(entry, _)| &entry.connection));
            self.remarks.extend(oddity(connection, &described));
            let mut definition = connection.definition.clone();
            if let (true, Ok(described)) = (definition.is_empty(), &described) {
                definition = described.definition.text();
            }
            topics.push(Topic {
                name: connection.topic.clone(),
                instance: *instance,
                origin: TopicOrigin::Logged,
                encoding: "ros1".to_owned(),
                type_name: connection.type_name.clone(),
                definition,
                schema: schema::schema(&described),
                records: Some(total.records),
                bytes: total.bytes,
                time: total.time.filter(|_| total.records > 0),
                metadata: facts(&of_topic),
            });
            *instance += 1;
        }
        topics
    }
}

/// What is odd about what the records of `connection` look like.
fn oddity(connection: &Connection, described: &Result<Described>) -> Option<String> {
    let topic = &connection.topic;
    match described {
        Ok(Described { oddity: None, .. }) => None,
        Ok(Described { oddity: Some(oddity), .. }) => {
            Some(format!("the topic {topic:?}: {oddity}"))
        }
        Err(why) => Some(format!("the topic {topic:?} has only raw bytes: {why}")),
    }
}

/// What is known of a connection without messages.
const NONE: Count = Count { records: 0, bytes: Some(0), time: None };

/// What the connections say of the topic that they share.
fn facts(entries: &[(&Entry, Option<Count>)]) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let connections = entries.iter().map(|(entry, _)| &entry.connection);
    let callers: BTreeSet<&str> =
        connections.clone().filter_map(|c| c.caller.as_deref()).collect();
    let callers: Vec<&str> = callers.into_iter().collect();
    if !callers.is_empty() {
        facts.insert("callerid".to_owned(), callers.join(", "));
    }
    if let Some(first) = connections.clone().next() {
        facts.insert("md5sum".to_owned(), first.md5sum.clone());
    }
    facts.insert("connections".to_owned(), entries.len().to_string());
    let is_latching = connections.clone().any(|connection| connection.is_latching());
    facts.insert("latching".to_owned(), is_latching.to_string());
    facts
}
