//! The manifest of an MCAP file, from what was found.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use logtool_core::{
    Clock, ColumnBudget, Columns, Damage, DamageKind, ErrorKind, LogAccess, Manifest,
    Part, Result, Stream, TimeRange, Topic, TopicContent, TopicId, TopicOrigin,
    TopicSet, Value, raw_schema,
};
use logtool_rosmsg::Derived;

use crate::{
    channels::derived_of,
    chunk::Compression,
    messages::{decoder, layout, missing_definition, unusable_json_schema},
    notes::{FORMAT_NAME, Notes, STREAM_KEYS},
    protobuf::{self, PROTOBUF},
    ros2::is_latched,
    survey::{Count, Found, Packing},
    table::Entry,
    wire::{ENVELOPE, SCHEMA_ENCODING},
};

impl Found {
    /// The manifest of a file of `bytes` bytes.
    pub(super) fn finish(mut self, bytes: u64) -> Result<(Manifest, Notes)> {
        if self.table.conflicts > 0 {
            let conflicts = self.table.conflicts;
            self.remarks.push(format!(
                "schemas and channels that contradict earlier ones of the same number: \
                 {conflicts}"
            ));
        }
        let unknown = self.unknown().map(|(name, chunks)| {
            let chunks = match chunks {
                1 => "a chunk is".to_owned(),
                chunks => format!("{chunks} chunks are"),
            };
            format!(
                "{chunks} compressed with {name:?}, which is not known, and not read"
            )
        });
        let unknown: Vec<String> = unknown.collect();
        self.remarks.extend(unknown);
        let mut topics = self.topics()?;
        let derived = derived_of(&topics);
        topics.extend(derived.topics(&topics)?);
        let part = |tile: &super::Tile| Part {
            bytes: tile.bytes.clone(),
            topics: with_derived(tile.topics(&self.table), &derived),
            time: tile.time,
        };
        let mut parts: Vec<Part> = self.tiles.iter().map(part).collect();
        let times = parts.iter().map(|part| part.time);
        let times =
            times.filter(|time| *time != TimeRange::ALL && time.start < time.end);
        let time = times.reduce(|all, next| all.cover(&next));
        derived.make_room(&mut parts);
        let entries = self.table.channels.iter();
        let notes = Notes {
            profile: self.profile.clone(),
            channels: entries.clone().map(|e| (e.channel.id, e.topic)).collect(),
            schemas: self.schemas(&topics).unwrap_or_default(),
            chunks: self.tiles.iter().map(|tile| tile.is_chunk).collect(),
            gaps: self.gaps.clone(),
            metadata: self.metadata.clone(),
            attached: self.attached.clone(),
            integers: BTreeMap::new(),
            unreadable: self.unreadable(),
        };
        let manifest = Manifest {
            format: FORMAT_NAME.to_owned(),
            bytes,
            access: match self.has_summary {
                true => LogAccess::Indexed,
                false => LogAccess::Damaged,
            },
            topics,
            streams: entries.map(stream).collect(),
            time,
            parts,
            time_margins: BTreeMap::new(),
            oldest: None,
            clock: Clock::default(),
            metadata: self.facts(),
            damage: self.damage,
            remarks: self.remarks,
            format_state: Manifest::encode_state(&notes)?,
        };
        Ok((manifest, notes))
    }

    /// Why nothing can be read of the file, where each of its parts is a chunk that cannot
    /// be unpacked.
    fn unreadable(&self) -> Option<String> {
        let mut names = self.packing.keys();
        // Of a stretch without messages nothing is lost.
        let is_empty =
            |tile: &super::Tile| tile.channels.as_ref().is_some_and(BTreeSet::is_empty);
        let is_all = self.tiles.iter().all(|tile| tile.is_chunk || is_empty(tile))
            && !self.packing.is_empty()
            && names.all(|name| Compression::of(name.as_bytes()).is_none());
        let names = self.unknown().map(|(name, _)| format!("{name:?}"));
        let names = names.collect::<Vec<_>>().join(" and ");
        is_all.then(|| {
            format!("its chunks are compressed with {names}, which is not known")
        })
    }

    /// The numbers of the schemas of all channels, if these can be declared again as they are
    /// by what `topics` and streams tell of them.
    fn schemas(&self, topics: &[Topic]) -> Option<Vec<u16>> {
        let number = |entry: &Entry| {
            let Entry { channel, schema, topic, .. } = entry;
            let topic = topics.get(topic.index())?;
            let encoding = topic.metadata.get(SCHEMA_ENCODING).map(String::as_str);
            let is_as_told = schema.id == channel.schema
                && topic.type_name == schema.name
                && encoding.unwrap_or_default() == schema.encoding
                && topic.definition_bytes() == schema.data
                && !STREAM_KEYS.iter().any(|key| channel.metadata.contains_key(*key));
            is_as_told.then_some(channel.schema)
        };
        let numbers = self.table.channels.iter().map(number);
        (self.table.conflicts == 0).then(|| numbers.collect())?
    }

    fn topics(&mut self) -> Result<Vec<Topic>> {
        let mut instances: HashMap<String, u32> = HashMap::new();
        let (mut topics, mut told, mut room) =
            (Vec::new(), 0_usize, ColumnBudget::default());
        let mut oddities = Vec::new();
        for id in (0..self.table.topics() as u32).map(TopicId) {
            let Some((_, first)) = self.table.of_topic(id).next() else { continue };
            let instance = instances.entry(first.channel.topic.clone()).or_default();
            let mut topic = self.topic(id, first, *instance);
            *instance += 1;
            if let Some((definition, encoding)) = missing_definition(&topic) {
                topic.definition = definition;
                topic.metadata.insert(SCHEMA_ENCODING.to_owned(), encoding.to_owned());
                let name = &topic.name;
                self.remarks.push(format!(
                    "the topic {name:?}: its definition is empty; that of the common type \
                     is used"
                ));
            }
            // Many channels may share a schema: what it takes is bounded for all together.
            told = told.saturating_add(topic.definition_bytes().len());
            let name = topic.name.clone();
            let is_defined = !topic.definition_bytes().trim_ascii().is_empty();
            // Where nothing is defined, or there is nothing to decode, nothing is lost; and
            // a definition that only is not supported is sound.
            let is_loss = is_defined && topic.records != Some(0);
            let records = is_loss.then_some(topic.records.unwrap_or(0));
            let mut raw = |kind: ErrorKind, why: &str| match records {
                Some(records) if kind != ErrorKind::Unsupported => {
                    let place = first.schema_place.clone();
                    let unusable = Damage::new(DamageKind::Definition, place);
                    let unusable = unusable.with_records(records, Some(id));
                    self.damage.push(unusable.with_reason(why));
                }
                _ => self
                    .remarks
                    .push(format!("the topic {name:?} has only raw bytes: {why}")),
            };
            if told > MAX_DEFINITIONS || room.check().is_err() {
                (topic.definition, topic.descriptor) = (String::new(), Vec::new());
                topic.metadata.remove(SCHEMA_ENCODING);
                raw(ErrorKind::Limit, "too much is defined before it");
                topics.push(topic);
                continue;
            }
            let schema = match layout(&topic) {
                None => {
                    if let Some(Err(why)) = protobuf::reader(&topic) {
                        raw(why.kind(), why.what());
                    }
                    if let Some(why) = unusable_json_schema(&topic) {
                        raw(ErrorKind::Malformed, &why);
                    }
                    let schema =
                        decoder(&topic, &Columns::default(), None)?.schema().clone();
                    room.admit(&schema).map(|()| schema)
                }
                Some(Ok(layout)) => {
                    if let Some(what) = layout.uncounted() {
                        oddities.push(format!("the topic {name:?}: {what}"));
                    }
                    room.schema(&layout)
                }
                Some(Err(why)) => {
                    if why.kind() == ErrorKind::Limit {
                        room.refuse();
                    }
                    raw(why.kind(), why.what());
                    Ok(raw_schema("ns"))
                }
            };
            match schema {
                Ok(schema) => topic.schema = schema,
                Err(why) => {
                    (topic.definition, topic.descriptor) = (String::new(), Vec::new());
                    topic.metadata.remove(SCHEMA_ENCODING);
                    raw(why.kind(), why.what());
                }
            }
            topics.push(topic);
        }
        self.remarks.append(&mut oddities);
        Ok(topics)
    }

    /// The topic `id`, whose first channel is `first`.
    fn topic(&self, id: TopicId, first: &Entry, instance: u32) -> Topic {
        let Entry { channel, schema, .. } = first;
        let is_text =
            str::from_utf8(&schema.data).is_ok() && schema.encoding != PROTOBUF;
        let descriptor = if is_text { Vec::new() } else { schema.data.clone() };
        // That of a message of ROS may be in Latin-1.
        let is_of_ros = matches!(schema.encoding.as_str(), "ros1msg" | "ros2msg");
        let definition = match is_text || is_of_ros {
            true => logtool_core::decode_text(&schema.data).into_owned(),
            false => protobuf::text(schema),
        };
        let mut metadata = channel.metadata.clone();
        metadata.insert(SCHEMA_ENCODING.to_owned(), schema.encoding.clone());
        let channels = self.table.of_topic(id).map(|(_, entry)| entry.channel.id);
        let total = self.counts.as_ref().and_then(|counts| {
            let count = |id| counts.get(&id).copied().unwrap_or(NONE);
            channels.map(count).reduce(Count::and)
        });
        Topic {
            name: channel.topic.clone(),
            instance,
            origin: TopicOrigin::Logged,
            content: TopicContent::Records,
            encoding: channel.encoding.clone(),
            type_name: schema.name.clone(),
            definition,
            schema: raw_schema("ns"),
            records: total.map(|total| total.records),
            bytes: total.and_then(|total| total.bytes),
            time: total.and_then(|total| total.time),
            odd_times: 0,
            before_start: 0,
            latched: self.latched(id),
            envelope: ENVELOPE,
            descriptor,
            metadata,
        }
    }

    /// The streams of `topic` whose last message is for those too who come later.
    fn latched(&self, topic: TopicId) -> Vec<u32> {
        let is_latching = |entry: &Entry| {
            let told = entry.channel.metadata.get("latching").map(String::as_str);
            let is_latching = matches!(told, Some("1" | "true"));
            is_latching || is_latched(&entry.channel.metadata)
        };
        let entries = self.table.of_topic(topic);
        let latched = entries.filter(|(_, entry)| is_latching(entry));
        latched.filter_map(|(stream, _)| u32::try_from(stream).ok()).collect()
    }

    /// What people want to know of the file.
    fn facts(&self) -> BTreeMap<String, Value> {
        let text = |text: &str| Value::Text(text.to_owned());
        let mut facts = BTreeMap::from([
            ("profile".to_owned(), text(&self.profile)),
            ("library".to_owned(), text(&self.library)),
            ("attachments".to_owned(), Value::UInt(self.attached.len() as u64)),
        ]);
        facts.insert("chunks".to_owned(), self.packing());
        let told = self.metadata.iter().map(|(name, words)| {
            let words = words.iter().map(|(key, value)| (key.clone(), text(value)));
            (name.clone(), Value::Map(words.collect()))
        });
        facts.insert("metadata".to_owned(), Value::Map(told.collect()));
        facts
    }
}

impl Found {
    /// How many chunks there are, and how they are packed.
    fn packing(&self) -> Value {
        let map = |facts: &[(&str, u64)]| {
            let facts = facts.iter();
            Value::Map(
                facts
                    .map(|(name, fact)| ((*name).to_owned(), Value::UInt(*fact)))
                    .collect(),
            )
        };
        let kinds = self.packing.iter().map(|(name, packing)| {
            let Packing { chunks, packed, size } = *packing;
            let facts =
                [("chunks", chunks), ("bytes", packed), ("unpacked_bytes", size)];
            (name.clone(), map(&facts))
        });
        let chunks = self.packing.values().map(|packing| packing.chunks).sum();
        Value::Map(BTreeMap::from([
            ("chunks".to_owned(), Value::UInt(chunks)),
            ("looked_at".to_owned(), Value::UInt(chunks)),
            ("by_compression".to_owned(), Value::Map(kinds.collect())),
        ]))
    }
}

/// How many bytes the definitions of all topics may be, a topic more or less.
const MAX_DEFINITIONS: usize = 64 << 20;

/// The topics, and those that are derived of them.
fn with_derived(mut topics: TopicSet, derived: &Derived) -> TopicSet {
    let made: Vec<TopicId> = derived
        .pairs()
        .filter_map(|(id, parent)| topics.contains(parent).then_some(id))
        .collect();
    made.into_iter().for_each(|id| topics.insert(id));
    topics
}

/// A channel as people know it.
fn stream(entry: &Entry) -> Stream {
    let text = |text: &str| Value::Text(text.to_owned());
    let channel = &entry.channel;
    let words = channel.metadata.iter().map(|(key, value)| (key.clone(), text(value)));
    let mut metadata: BTreeMap<String, Value> = words.collect();
    let facts = [
        Value::UInt(channel.id.into()),
        text(&channel.topic),
        text(&entry.schema.name),
    ];
    metadata.extend(STREAM_KEYS.map(str::to_owned).into_iter().zip(facts));
    Stream { topic: entry.topic, metadata }
}

/// What is known of a channel without messages.
const NONE: Count = Count { records: 0, bytes: Some(0), time: None };

impl Count {
    fn and(self, other: Self) -> Self {
        let time = match (self.time, other.time) {
            (Some(a), Some(b)) => Some(a.cover(&b)),
            (one, other) => one.or(other),
        };
        Self {
            records: self.records.saturating_add(other.records),
            bytes: self.bytes.zip(other.bytes).map(|(a, b)| a.saturating_add(b)),
            time,
        }
    }
}
