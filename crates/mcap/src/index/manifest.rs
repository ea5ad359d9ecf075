//! Converts the results of the index pass to a manifest.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use logtool_core::{
    ChunkStatistics, Clock, ColumnBudget, Columns, Damage, DamageKind, ErrorKind,
    IdSet, LogAccess, Manifest, MetadataKey, MetadataKeys, Part, Result, Stream,
    TimeRange, Topic, TopicContent, TopicId, TopicOrigin, TopicSet, Value, raw_schema,
};
use logtool_rosmsg::{ConnectionMetadata, DerivedTopics};

use crate::{
    channel_table::DeclaredChannel,
    channels::derived_topics,
    chunk::Compression,
    format_state::{FORMAT_NAME, FormatState, STREAM_KEYS},
    index::{ChannelStatistics, IndexPass, PartEntry},
    messages::{
        decoder, has_definition, json_schema_error, layout,
        protobuf::{self, PROTOBUF},
        ros2::is_latched,
        well_known_definition,
    },
    metadata_name,
    schema_encoding::{remove_schema_encoding, schema_encoding, set_schema_encoding},
    wire::PAYLOAD_HEADER_LEN,
};

impl IndexPass {
    /// Returns the manifest of a file of `file_len` bytes.
    pub(super) fn finish(mut self, file_len: u64) -> Result<(Manifest, FormatState)> {
        if self.table.conflicts > 0 {
            let conflicts = self.table.conflicts;
            self.remarks.push(format!(
                "schemas and channels that contradict earlier ones with the same id: \
                 {conflicts}"
            ));
        }
        let unknown = self.unknown_compressions().map(|(name, chunks)| {
            let chunks_are = match chunks {
                1 => "a chunk is".to_owned(),
                chunks => format!("{chunks} chunks are"),
            };
            format!("{chunks_are} not read because of the unknown compression {name:?}")
        });
        let unknown: Vec<String> = unknown.collect();
        self.remarks.extend(unknown);
        let mut topics = self.create_topics()?;
        let derived = derived_topics(&topics);
        topics.extend(derived.topics(&topics)?);
        let part = |part: &PartEntry| Part {
            bytes: part.bytes.clone(),
            topics: with_derived(part.topics(&self.table), &derived),
            time: part.time,
        };
        let mut parts: Vec<Part> = self.parts.iter().map(part).collect();
        let times = parts.iter().map(|part| part.time);
        let times =
            times.filter(|time| *time != TimeRange::ALL && time.start < time.end);
        let time = times.reduce(|range, next| range.cover(&next));
        derived.add_time_margin(&mut parts);
        let channels = self.table.channels.iter();
        let ids_and_topics =
            channels.clone().map(|declared| (declared.channel.id, declared.topic));
        let format_state = FormatState {
            profile: self.profile.clone(),
            channels: ids_and_topics.collect(),
            all_channel_ids: IdSet::default(),
            schema_ids: self.schema_ids(&topics).unwrap_or_default(),
            is_chunk: self.parts.iter().map(|part| part.is_chunk).collect(),
            damaged_ranges: self.damaged_ranges.clone(),
            metadata: self.metadata.clone(),
            attachments: self.attachments.clone(),
            integer_types: BTreeMap::new(),
            unreadable: self.unreadable_reason(),
            may_have_null_times: false,
            point_columns: Vec::new(),
        };
        let manifest = Manifest {
            format: FORMAT_NAME.to_owned(),
            bytes: file_len,
            access: if self.has_summary {
                LogAccess::Indexed
            } else {
                LogAccess::Damaged
            },
            topics,
            streams: channels.map(stream).collect(),
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

    /// Returns the reason why no message can be read, if all messages are in chunks with an
    /// unknown compression.
    fn unreadable_reason(&self) -> Option<String> {
        let has_no_messages =
            |part: &PartEntry| part.channels.as_ref().is_some_and(BTreeSet::is_empty);
        let are_messages_in_chunks =
            self.parts.iter().all(|part| part.is_chunk || has_no_messages(part));
        let mut names = self.compressions.keys();
        let are_all_unknown = !self.compressions.is_empty()
            && names.all(|name| Compression::from_name(name.as_bytes()).is_none());
        if !are_messages_in_chunks || !are_all_unknown {
            return None;
        }
        let names = self.unknown_compressions().map(|(name, _)| format!("{name:?}"));
        let names = names.collect::<Vec<_>>().join(" and ");
        Some(format!("its chunks have the unknown compression {names}"))
    }

    /// Returns the schema ids of all channels, if the channels can be declared
    /// identically from the information in `topics` and streams.
    fn schema_ids(&self, topics: &[Topic]) -> Option<Vec<u16>> {
        if self.table.conflicts > 0 {
            return None;
        }
        let schema_id = |declared: &DeclaredChannel| {
            let DeclaredChannel { channel, schema, topic, .. } = declared;
            let topic = topics.get(topic.index())?;
            let is_as_declared = schema.id == channel.schema
                && topic.type_name == schema.name
                && schema_encoding(topic).unwrap_or_default() == schema.encoding
                && topic.definition_bytes() == schema.data
                && !STREAM_KEYS.iter().any(|key| channel.metadata.contains_key(*key));
            is_as_declared.then_some(channel.schema)
        };
        self.table.channels.iter().map(schema_id).collect()
    }

    /// Creates the topics with their columns. Adds damage or a remark for each topic whose
    /// definition is not usable.
    fn create_topics(&mut self) -> Result<Vec<Topic>> {
        let mut instances: HashMap<String, u32> = HashMap::new();
        let (mut topics, mut anomalies) = (Vec::new(), Vec::new());
        let (mut definition_bytes, mut budget) = (0_usize, ColumnBudget::default());
        for id in (0..self.table.topic_count() as u32).map(TopicId) {
            let Some((_, first)) = self.table.topic_channels(id).next() else {
                continue;
            };
            let instance = instances.entry(first.channel.topic.clone()).or_default();
            let mut topic = self.create_topic(id, first, *instance);
            *instance += 1;
            if let Some((definition, encoding)) = well_known_definition(&topic) {
                let what = match topic.definition_bytes().trim_ascii() {
                    b"" => "an empty definition",
                    _ => "a definition without fields",
                };
                topic.definition = definition;
                set_schema_encoding(&mut topic.metadata, encoding);
                let name = &topic.name;
                self.remarks.push(format!(
                    "the topic {name:?} has {what}; that of the well-known type is used"
                ));
            }
            // Many channels may share a schema, so the total size is limited.
            definition_bytes =
                definition_bytes.saturating_add(topic.definition_bytes().len());
            let name = topic.name.clone();
            // A topic without a definition or without messages loses nothing, and an
            // unsupported definition is valid.
            let has_loss = has_definition(&topic) && topic.records != Some(0);
            let records = topic.records.unwrap_or(0);
            let mut report_unusable = |kind: ErrorKind, reason: &str| {
                if has_loss && kind != ErrorKind::Unsupported {
                    let position = first.schema_position.clone();
                    let unusable = Damage::new(DamageKind::Definition, position);
                    let unusable = unusable.with_records(records, Some(id));
                    self.damage.push(unusable.with_reason(reason));
                } else {
                    self.remarks.push(format!(
                        "the topic {name:?} has only raw bytes: {reason}"
                    ));
                }
            };
            if definition_bytes > MAX_DEFINITION_BYTES || budget.check().is_err() {
                clear_definition(&mut topic);
                report_unusable(ErrorKind::Limit, "the definitions exceed the limit");
                topics.push(topic);
                continue;
            }
            let schema = match layout(&topic) {
                None => {
                    if let Some(Err(err)) = protobuf::reader(&topic) {
                        report_unusable(err.kind(), err.message());
                    }
                    if let Some(reason) = json_schema_error(&topic) {
                        report_unusable(ErrorKind::Malformed, &reason);
                    }
                    let schema =
                        decoder(&topic, &Columns::default(), None)?.schema().clone();
                    budget.admit(&schema).map(|()| schema)
                }
                Some(Ok(layout)) => {
                    if let Some(message) = layout.count_column() {
                        anomalies.push(format!("the topic {name:?}: {message}"));
                    }
                    budget.schema(&layout)
                }
                Some(Err(err)) => {
                    if err.kind() == ErrorKind::Limit {
                        budget.refuse();
                    }
                    report_unusable(err.kind(), err.message());
                    Ok(raw_schema("ns"))
                }
            };
            match schema {
                Ok(schema) => topic.schema = schema,
                Err(err) => {
                    clear_definition(&mut topic);
                    report_unusable(err.kind(), err.message());
                }
            }
            topics.push(topic);
        }
        self.remarks.append(&mut anomalies);
        Ok(topics)
    }

    /// Creates the topic `id`, whose first channel is `first`.
    fn create_topic(
        &self,
        id: TopicId,
        first: &DeclaredChannel,
        instance: u32,
    ) -> Topic {
        let DeclaredChannel { channel, schema, .. } = first;
        let is_text =
            str::from_utf8(&schema.data).is_ok() && schema.encoding != PROTOBUF;
        let descriptor = if is_text { Vec::new() } else { schema.data.clone() };
        // Definitions of ROS messages may be in Latin-1.
        let is_ros = matches!(schema.encoding.as_str(), "ros1msg" | "ros2msg");
        let definition = if is_text || is_ros {
            logtool_core::decode_text(&schema.data).into_owned()
        } else {
            protobuf::readable_schema(schema)
        };
        let mut metadata = channel.metadata.clone();
        set_schema_encoding(&mut metadata, &schema.encoding);
        let channels = self.table.topic_channels(id);
        let channel_ids = channels.map(|(_, declared)| declared.channel.id);
        let total = self.counts.as_ref().and_then(|counts| {
            let statistics = |id| counts.get(&id).copied().unwrap_or(NO_MESSAGES);
            channel_ids.map(statistics).reduce(ChannelStatistics::merge)
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
        let is_channel_latched = |declared: &DeclaredChannel| {
            let metadata = &declared.channel.metadata;
            let latching = ConnectionMetadata::from_strings(metadata).latching;
            matches!(latching, Some("1" | "true")) || is_latched(metadata)
        };
        let channels = self.table.topic_channels(topic);
        let latched = channels.filter(|(_, declared)| is_channel_latched(declared));
        latched.filter_map(|(stream, _)| u32::try_from(stream).ok()).collect()
    }

    /// Returns the metadata of the file for display.
    fn metadata(&self) -> BTreeMap<String, Value> {
        let text = |text: &str| Value::Text(text.to_owned());
        let mut metadata = BTreeMap::from([
            (MetadataKey::Profile.into(), text(&self.profile)),
            (MetadataKey::Library.into(), text(&self.library)),
            (
                MetadataKey::Attachments.into(),
                Value::UInt(self.attachments.len() as u64),
            ),
        ]);
        metadata.insert(MetadataKey::Chunks.into(), self.chunk_statistics().to_value());
        let records = self.metadata.iter().map(|(name, entries_of_record)| {
            let entries =
                entries_of_record.iter().map(|(key, value)| (key.clone(), text(value)));
            let name = metadata_name::without_checksum(name, entries_of_record);
            (name.to_owned(), Value::Map(entries.collect()))
        });
        metadata
            .insert(MetadataKey::MetadataRecords.into(), Value::Map(records.collect()));
        metadata
    }

    /// Returns the number of chunks, and their sizes by compression.
    fn chunk_statistics(&self) -> ChunkStatistics {
        let chunks =
            self.compressions.values().map(|statistics| statistics.chunks).sum();
        let by_compression = self.compressions.clone();
        ChunkStatistics { chunks, inspected_chunks: chunks, by_compression }
    }
}

/// The maximum length of the definitions of all topics.
const MAX_DEFINITION_BYTES: usize = 64 << 20;

/// Removes the definition of `topic`, so that its messages have only raw bytes.
fn clear_definition(topic: &mut Topic) {
    (topic.definition, topic.descriptor) = (String::new(), Vec::new());
    remove_schema_encoding(topic);
}

/// Returns `topics` together with the topics that are derived from them.
fn with_derived(mut topics: TopicSet, derived: &DerivedTopics) -> TopicSet {
    let derived_ids: Vec<TopicId> = derived
        .pairs()
        .filter_map(|(id, parent)| topics.contains(parent).then_some(id))
        .collect();
    derived_ids.into_iter().for_each(|id| topics.insert(id));
    topics
}

/// Returns the stream of a channel.
fn stream(declared: &DeclaredChannel) -> Stream {
    let text = |text: &str| Value::Text(text.to_owned());
    let channel = &declared.channel;
    let entries =
        channel.metadata.iter().map(|(key, value)| (key.clone(), text(value)));
    let mut metadata: BTreeMap<String, Value> = entries.collect();
    let values = [
        Value::UInt(channel.id.into()),
        text(&channel.topic),
        text(&declared.schema.name),
    ];
    metadata.extend(STREAM_KEYS.map(str::to_owned).into_iter().zip(values));
    Stream { topic: declared.topic, metadata, metadata_keys: MetadataKeys::File }
}

/// The statistics of a channel without messages.
const NO_MESSAGES: ChannelStatistics =
    ChannelStatistics { records: 0, bytes: Some(0), time: None };

impl ChannelStatistics {
    fn merge(self, other: Self) -> Self {
        let time = match (self.time, other.time) {
            (Some(a), Some(b)) => Some(a.cover(&b)),
            (time, other) => time.or(other),
        };
        Self {
            records: self.records.saturating_add(other.records),
            bytes: self.bytes.zip(other.bytes).map(|(a, b)| a.saturating_add(b)),
            time,
        }
    }
}
