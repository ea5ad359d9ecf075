//! Converts the findings about an MCAP file to a manifest.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use logtool_core::{
    ChunkStatistics, Clock, ColumnBudget, Columns, Damage, DamageKind, ErrorKind,
    IdSet, LogAccess, Manifest, MetadataKey, MetadataKeys, Part, Result, Stream,
    TimeRange, Topic, TopicContent, TopicId, TopicOrigin, TopicSet, Value, raw_schema,
};
use logtool_rosmsg::{ConnectionMetadata, DerivedTopics};

use crate::{
    channel_table::ChannelEntry,
    channels::derived_of,
    chunk::Compression,
    format_state::{FORMAT_NAME, FormatState, STREAM_KEYS},
    index::{ChannelStatistics, IndexPass},
    messages::{
        decoder, layout, missing_definition,
        protobuf::{self, PROTOBUF},
        ros2::is_latched,
        unusable_json_schema,
    },
    schema_encoding::{remove_schema_encoding, schema_encoding, set_schema_encoding},
    wire::PAYLOAD_HEADER_LEN,
};

impl IndexPass {
    /// Returns the manifest of a file of `bytes` bytes.
    pub(super) fn finish(mut self, bytes: u64) -> Result<(Manifest, FormatState)> {
        if self.table.conflicts > 0 {
            let conflicts = self.table.conflicts;
            self.remarks.push(format!(
                "schemas and channels that contradict earlier ones with the same id: \
                 {conflicts}"
            ));
        }
        let unknown = self.unknown().map(|(name, chunks)| {
            let chunks = match chunks {
                1 => "a chunk is".to_owned(),
                chunks => format!("{chunks} chunks are"),
            };
            format!("{chunks} not read because of the unknown compression {name:?}")
        });
        let unknown: Vec<String> = unknown.collect();
        self.remarks.extend(unknown);
        let mut topics = self.topics()?;
        let derived = derived_of(&topics);
        topics.extend(derived.topics(&topics)?);
        let part = |part: &super::PartEntry| Part {
            bytes: part.bytes.clone(),
            topics: with_derived(part.topics(&self.table), &derived),
            time: part.time,
        };
        let mut parts: Vec<Part> = self.part_entries.iter().map(part).collect();
        let times = parts.iter().map(|part| part.time);
        let times =
            times.filter(|time| *time != TimeRange::ALL && time.start < time.end);
        let time = times.reduce(|range, next| range.cover(&next));
        derived.add_time_margin(&mut parts);
        let entries = self.table.channels.iter();
        let format_state = FormatState {
            profile: self.profile.clone(),
            channels: entries.clone().map(|e| (e.channel.id, e.topic)).collect(),
            known_channels: IdSet::default(),
            schemas: self.schemas(&topics).unwrap_or_default(),
            chunks: self.part_entries.iter().map(|part| part.is_chunk).collect(),
            damaged_ranges: self.damaged_ranges.clone(),
            metadata: self.metadata.clone(),
            attachments: self.attachments.clone(),
            integers: BTreeMap::new(),
            unreadable: self.unreadable_reason(),
            may_have_null_times: false,
            point_columns: Vec::new(),
        };
        let manifest = Manifest {
            format: FORMAT_NAME.to_owned(),
            bytes,
            access: if self.has_summary {
                LogAccess::Indexed
            } else {
                LogAccess::Damaged
            },
            topics,
            streams: entries.map(stream).collect(),
            time,
            parts,
            time_margins: BTreeMap::new(),
            oldest: None,
            clock: Clock::default(),
            metadata: self.metadata(),
            damage: self.damage,
            remarks: self.remarks,
            format_state: Manifest::encode_state(&format_state)?,
        };
        Ok((manifest, format_state))
    }

    /// Returns the reason why the file cannot be read, if all of its parts are chunks
    /// with an unknown compression.
    fn unreadable_reason(&self) -> Option<String> {
        let mut names = self.compressions.keys();
        // A range without messages loses nothing.
        let is_empty = |part: &super::PartEntry| {
            part.channels.as_ref().is_some_and(BTreeSet::is_empty)
        };
        let is_complete =
            self.part_entries.iter().all(|part| part.is_chunk || is_empty(part))
                && !self.compressions.is_empty()
                && names.all(|name| Compression::from_name(name.as_bytes()).is_none());
        let names = self.unknown().map(|(name, _)| format!("{name:?}"));
        let names = names.collect::<Vec<_>>().join(" and ");
        is_complete.then(|| format!("its chunks have the unknown compression {names}"))
    }

    /// Returns the schema ids of all channels, if the channels can be declared
    /// identically from the information in `topics` and streams.
    fn schemas(&self, topics: &[Topic]) -> Option<Vec<u16>> {
        let number = |entry: &ChannelEntry| {
            let ChannelEntry { channel, schema, topic, .. } = entry;
            let topic = topics.get(topic.index())?;
            let is_as_declared = schema.id == channel.schema
                && topic.type_name == schema.name
                && schema_encoding(topic).unwrap_or_default() == schema.encoding
                && topic.definition_bytes() == schema.data
                && !STREAM_KEYS.iter().any(|key| channel.metadata.contains_key(*key));
            is_as_declared.then_some(channel.schema)
        };
        let numbers = self.table.channels.iter().map(number);
        (self.table.conflicts == 0).then(|| numbers.collect())?
    }

    fn topics(&mut self) -> Result<Vec<Topic>> {
        let mut instances: HashMap<String, u32> = HashMap::new();
        let (mut topics, mut declared, mut room) =
            (Vec::new(), 0_usize, ColumnBudget::default());
        let mut anomalies = Vec::new();
        for id in (0..self.table.topics() as u32).map(TopicId) {
            let Some((_, first)) = self.table.topic_channels(id).next() else {
                continue;
            };
            let instance = instances.entry(first.channel.topic.clone()).or_default();
            let mut topic = self.topic(id, first, *instance);
            *instance += 1;
            if let Some((definition, encoding)) = missing_definition(&topic) {
                topic.definition = definition;
                set_schema_encoding(&mut topic.metadata, encoding);
                let name = &topic.name;
                self.remarks.push(format!(
                    "the topic {name:?} has an empty definition; that of the well-known \
                     type is used"
                ));
            }
            // Many channels may share a schema, so the total size is bounded.
            declared = declared.saturating_add(topic.definition_bytes().len());
            let name = topic.name.clone();
            let is_defined = !topic.definition_bytes().trim_ascii().is_empty();
            // A topic without a definition or without messages loses nothing, and an
            // unsupported definition is valid.
            let is_loss = is_defined && topic.records != Some(0);
            let records = is_loss.then_some(topic.records.unwrap_or(0));
            let mut raw = |kind: ErrorKind, reason: &str| match records {
                Some(records) if kind != ErrorKind::Unsupported => {
                    let position = first.schema_position.clone();
                    let unusable = Damage::new(DamageKind::Definition, position);
                    let unusable = unusable.with_records(records, Some(id));
                    self.damage.push(unusable.with_reason(reason));
                }
                _ => self
                    .remarks
                    .push(format!("the topic {name:?} has only raw bytes: {reason}")),
            };
            if declared > MAX_DEFINITIONS || room.check().is_err() {
                (topic.definition, topic.descriptor) = (String::new(), Vec::new());
                remove_schema_encoding(&mut topic);
                raw(ErrorKind::Limit, "the definitions exceed the limit");
                topics.push(topic);
                continue;
            }
            let schema = match layout(&topic) {
                None => {
                    if let Some(Err(err)) = protobuf::reader(&topic) {
                        raw(err.kind(), err.message());
                    }
                    if let Some(reason) = unusable_json_schema(&topic) {
                        raw(ErrorKind::Malformed, &reason);
                    }
                    let schema =
                        decoder(&topic, &Columns::default(), None)?.schema().clone();
                    room.admit(&schema).map(|()| schema)
                }
                Some(Ok(layout)) => {
                    if let Some(message) = layout.uncountable_list() {
                        anomalies.push(format!("the topic {name:?}: {message}"));
                    }
                    room.schema(&layout)
                }
                Some(Err(err)) => {
                    if err.kind() == ErrorKind::Limit {
                        room.refuse();
                    }
                    raw(err.kind(), err.message());
                    Ok(raw_schema("ns"))
                }
            };
            match schema {
                Ok(schema) => topic.schema = schema,
                Err(err) => {
                    (topic.definition, topic.descriptor) = (String::new(), Vec::new());
                    remove_schema_encoding(&mut topic);
                    raw(err.kind(), err.message());
                }
            }
            topics.push(topic);
        }
        self.remarks.append(&mut anomalies);
        Ok(topics)
    }

    /// Creates the topic `id`, whose first channel is `first`.
    fn topic(&self, id: TopicId, first: &ChannelEntry, instance: u32) -> Topic {
        let ChannelEntry { channel, schema, .. } = first;
        let is_text =
            str::from_utf8(&schema.data).is_ok() && schema.encoding != PROTOBUF;
        let descriptor = if is_text { Vec::new() } else { schema.data.clone() };
        // Definitions of ROS messages may be in Latin-1.
        let is_of_ros = matches!(schema.encoding.as_str(), "ros1msg" | "ros2msg");
        let definition = if is_text || is_of_ros {
            logtool_core::decode_text(&schema.data).into_owned()
        } else {
            protobuf::text(schema)
        };
        let mut metadata = channel.metadata.clone();
        set_schema_encoding(&mut metadata, &schema.encoding);
        let channels = self.table.topic_channels(id).map(|(_, entry)| entry.channel.id);
        let total = self.counts.as_ref().and_then(|counts| {
            let count = |id| counts.get(&id).copied().unwrap_or(NO_MESSAGES);
            channels.map(count).reduce(ChannelStatistics::merge)
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
            implausible_times: 0,
            before_start: 0,
            latched: self.latched_streams(id),
            header_len: PAYLOAD_HEADER_LEN,
            descriptor,
            metadata,
        }
    }

    /// Returns the streams of `topic` that are latched.
    fn latched_streams(&self, topic: TopicId) -> Vec<u32> {
        let is_latching = |entry: &ChannelEntry| {
            let metadata = ConnectionMetadata::from_strings(&entry.channel.metadata);
            let is_latching = matches!(metadata.latching, Some("1" | "true"));
            is_latching || is_latched(&entry.channel.metadata)
        };
        let entries = self.table.topic_channels(topic);
        let latched = entries.filter(|(_, entry)| is_latching(entry));
        latched.filter_map(|(stream, _)| u32::try_from(stream).ok()).collect()
    }

    /// Returns the metadata of the file for display.
    fn metadata(&self) -> BTreeMap<String, Value> {
        let text = |text: &str| Value::Text(text.to_owned());
        let mut facts = BTreeMap::from([
            (MetadataKey::Profile.into(), text(&self.profile)),
            (MetadataKey::Library.into(), text(&self.library)),
            (
                MetadataKey::Attachments.into(),
                Value::UInt(self.attachments.len() as u64),
            ),
        ]);
        facts.insert(MetadataKey::Chunks.into(), self.chunk_statistics().to_value());
        let declared = self.metadata.iter().map(|(name, entries)| {
            let entries = entries.iter().map(|(key, value)| (key.clone(), text(value)));
            (name.clone(), Value::Map(entries.collect()))
        });
        facts.insert(
            MetadataKey::MetadataRecords.into(),
            Value::Map(declared.collect()),
        );
        facts
    }
}

impl IndexPass {
    /// Returns the number of chunks, and their sizes by compression.
    fn chunk_statistics(&self) -> ChunkStatistics {
        let chunks =
            self.compressions.values().map(|statistics| statistics.chunks).sum();
        let by_compression = self.compressions.clone();
        ChunkStatistics { chunks, inspected_chunks: chunks, by_compression }
    }
}

/// The maximum length of the definitions of all topics, in bytes; the last one may
/// exceed it.
const MAX_DEFINITIONS: usize = 64 << 20;

/// Adds the topics that are derived from `topics`.
fn with_derived(mut topics: TopicSet, derived: &DerivedTopics) -> TopicSet {
    let derived_ids: Vec<TopicId> = derived
        .pairs()
        .filter_map(|(id, parent)| topics.contains(parent).then_some(id))
        .collect();
    derived_ids.into_iter().for_each(|id| topics.insert(id));
    topics
}

/// Returns the stream of a channel.
fn stream(entry: &ChannelEntry) -> Stream {
    let text = |text: &str| Value::Text(text.to_owned());
    let channel = &entry.channel;
    let entries =
        channel.metadata.iter().map(|(key, value)| (key.clone(), text(value)));
    let mut metadata: BTreeMap<String, Value> = entries.collect();
    let facts = [
        Value::UInt(channel.id.into()),
        text(&channel.topic),
        text(&entry.schema.name),
    ];
    metadata.extend(STREAM_KEYS.map(str::to_owned).into_iter().zip(facts));
    Stream { topic: entry.topic, metadata, metadata_keys: MetadataKeys::File }
}

/// The statistics of a channel without messages.
const NO_MESSAGES: ChannelStatistics =
    ChannelStatistics { records: 0, bytes: Some(0), time: None };

impl ChannelStatistics {
    fn merge(self, other: Self) -> Self {
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
