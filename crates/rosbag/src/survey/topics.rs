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
use logtool_rosmsg::{Derived, Described};

use crate::{
    connection::Connection, probe::Count, scan::Tile, schema, survey::Findings,
};

/// Key of a topic's metadata for the reason why it has only raw bytes, if its definition is
/// missing. A definition that cannot be used is damage instead.
pub const RAW_REMARK: &str = "raw_because";

impl Findings {
    /// The topics; `totals` are what is known of the messages of each that is not
    /// `derived`, and `tiles` the parts of the bag.
    pub(super) fn topics(
        &mut self,
        totals: &[Option<Count>],
        derived: &Derived,
        tiles: &[Tile],
    ) -> Result<Vec<Topic>> {
        let mut instances: HashMap<&str, u32> = HashMap::new();
        let (mut topics, mut room) = (Vec::new(), ColumnBudget::default());
        for (id, total) in (0..).map(TopicId).zip(totals) {
            let connections = self.table.of_topic(id).map(|entry| &entry.connection);
            let Some(first) = connections.clone().next() else { continue };
            let instance = instances.entry(first.topic.as_str()).or_default();
            let looked = look(&mut room, connections.clone());
            let (text, described, schema) = match looked {
                Ok(((text, described), schema)) => (text, Ok(described), schema),
                Err(why) => (first.definition.as_str(), Err(why), raw_schema("ns")),
            };
            if described.as_ref().is_err_and(|why| why.kind() == ErrorKind::Limit) {
                self.too_wide.insert(id);
            }
            let total = total.unwrap_or(NONE);
            let definitions = connections.clone().map(|one| one.definition.trim());
            let is_defined = !definitions.collect::<String>().is_empty();
            // Of a topic without definition or messages nothing is lost, and a definition
            // that only is not supported is sound.
            let is_loss = |why: &&Error| {
                is_defined && total.records > 0 && why.kind() != ErrorKind::Unsupported
            };
            match described.as_ref().err().filter(is_loss) {
                Some(why) => {
                    let damage =
                        Damage::new(DamageKind::Definition, self.place_of(id, tiles));
                    let damage = damage.with_records(total.records, Some(id));
                    self.damage.push(damage.with_reason(why.what().to_owned()));
                }
                None => self.remarks.extend(oddity(first, &described)),
            }
            let unkept: u64 = connections.clone().map(|one| one.unkept).sum();
            if unkept > 0 {
                let fields = if unkept == 1 { "field" } else { "fields" };
                self.remarks.push(format!(
                    "the topic {:?}: {unkept} {fields} of its connections no other format can \
                     keep: no texts, twice there, or called as others are",
                    first.topic
                ));
            }
            let layout = described.as_ref().ok().map(|described| &described.layout);
            if let Some(what) = layout.and_then(|layout| layout.uncounted()) {
                self.remarks.push(format!("the topic {:?}: {what}", first.topic));
            }
            let mut definition = text.to_owned();
            if let (true, Ok(described)) = (definition.is_empty(), &described) {
                definition = described.definition.text();
            }
            let mut metadata = facts(connections);
            if let Some(why) = described.as_ref().err().filter(|why| !is_loss(why)) {
                metadata.insert(RAW_REMARK.to_owned(), why.to_string());
            }
            topics.push(Topic {
                name: first.topic.clone(),
                instance: *instance,
                origin: TopicOrigin::Logged,
                content: TopicContent::Records,
                encoding: "ros1".to_owned(),
                type_name: first.type_name.clone(),
                definition,
                schema,
                records: Some(total.records),
                bytes: total.bytes,
                time: total.time.filter(|_| total.records > 0),
                odd_times: 0,
                before_start: 0,
                latched: self.table.latched(id),
                envelope: 0,
                descriptor: Vec::new(),
                metadata,
            });
            *instance += 1;
        }
        let made = derived.topics(&topics)?;
        topics.extend(made);
        Ok(topics)
    }

    /// The bytes of the chunk that declares `topic`; none where only the index does.
    fn place_of(&self, topic: TopicId, tiles: &[Tile]) -> Range<u64> {
        let told_at = self.table.of_topic(topic).next().map(|entry| entry.told_at);
        let tile = tiles.iter().find(|tile| Some(tile.bytes.start) == told_at);
        tile.map_or(0..0, |tile| tile.bytes.clone())
    }
}

/// What the records of the `connections`, which share a topic and a type, look like, the
/// text that says so, and their columns, if there is `room` for them.
fn look<'c>(
    room: &mut ColumnBudget,
    connections: impl Iterator<Item = &'c Connection>,
) -> Result<((&'c str, Described), SchemaRef)> {
    room.check()?;
    let told = schema::of_topic(connections)?;
    let schema = room.schema(&told.1.layout)?;
    Ok((told, schema))
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

/// What is known of a topic without messages.
const NONE: Count = Count { records: 0, bytes: Some(0), time: None };

/// What the connections say of the topic that they share.
fn facts<'c>(
    connections: impl Iterator<Item = &'c Connection> + Clone,
) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let callers: BTreeSet<&str> =
        connections.clone().filter_map(|c| c.caller.as_deref()).collect();
    let callers: Vec<&str> = callers.into_iter().collect();
    if !callers.is_empty() {
        facts.insert("callerid".to_owned(), callers.join(", "));
    }
    if let Some(first) = connections.clone().next() {
        facts.insert("md5sum".to_owned(), first.md5sum.clone());
    }
    facts.insert("connections".to_owned(), connections.clone().count().to_string());
    let is_latching = connections.clone().any(Connection::is_latching);
    facts.insert("latching".to_owned(), is_latching.to_string());
    facts
}
