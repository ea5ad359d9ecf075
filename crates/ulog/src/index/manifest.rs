//! Converts the results of the index pass to a manifest.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use arrow_schema::SchemaRef;
use logtool_core::{
    Damage, DamageKind, DropoutStatistics, LogAccess, Manifest, MetadataKey, Result,
    TimeRange, Timestamp, Topic, TopicContent, TopicId, TopicOrigin, Value,
};

use crate::{
    built_in_topics::{self, EventLayout},
    declarations::{
        metadata::{Metadata, Parameter, ParameterValue},
        system_info,
    },
    format_state::{BuiltIn, FORMAT_NAME, FormatState},
    index::{IndexPass, statistics::TopicStatistics},
    time::{clock, pauses::Pauses, utc_offset},
    topic_names,
    topics::registry::Declaration,
    wire,
};

/// The maximum number of bytes of definitions in a manifest; further topics have no definition. A
/// PX4 log has less than a megabyte, but a small file can subscribe 256 times to a long definition.
const MAX_DEFINITIONS: usize = 16 << 20;

/// Returns the counts of records of a topic with anomalous times.
fn time_anomalies(stats: &TopicStatistics) -> BTreeMap<String, String> {
    let counts = [
        ("older_than_before", stats.late),
        ("older_than_start", stats.before_start),
        ("impossible_times", stats.implausible),
    ];
    let anomalies = counts.into_iter().filter(|(_, count)| *count > 0);
    anomalies.map(|(name, count)| (name.to_owned(), count.to_string())).collect()
}

/// Returns a note about records from before the start of logging, if there are any.
fn older_than_start(records: u64) -> Option<String> {
    let records = match records {
        0 => return None,
        1 => "1 record is".to_owned(),
        records => format!("{records} records are"),
    };
    Some(format!("{records} older than the start of logging"))
}

/// Returns the range of the trusted times of a topic.
fn trusted_times(stats: &TopicStatistics) -> Option<TimeRange> {
    Some(stats.trusted).filter(|time| !time.is_empty())
}

impl IndexPass {
    /// Returns the manifest of a log of `bytes` bytes, and the private state for
    /// readers.
    pub(super) fn finish(mut self, bytes: u64) -> Result<(Manifest, FormatState)> {
        let (time, oldest) = (self.time(), self.oldest_record_time());
        self.metadata.finish(&mut self.registry.formats);
        self.add_remarks();
        let mut topics = self.logged_topics();
        let built_in = self.add_built_in(&mut topics);

        let mut parts = Vec::new();
        let mut starts = Vec::new();
        let event_topics: Vec<TopicId> = (0..)
            .map(TopicId)
            .zip(&self.registry.topics)
            .filter(|(_, topic)| EventLayout::for_topic(topic).is_some())
            .map(|(id, _)| id)
            .collect();
        for raw in std::mem::take(&mut self.statistics.parts).finish(bytes) {
            let has_events =
                event_topics.iter().any(|id| raw.part.topics.contains(*id));
            let mut built_in_topics = Vec::new();
            if raw.built_in.strings {
                built_in_topics.extend([built_in.logged_strings, built_in.messages]);
            }
            if has_events {
                built_in_topics.push(built_in.messages);
                built_in_topics.extend(built_in.events);
            }
            if raw.built_in.changes {
                built_in_topics.push(built_in.parameter_changes);
            }
            if raw.built_in.dropouts {
                built_in_topics.push(built_in.dropouts);
            }
            let (part, state) = raw.with_topics(built_in_topics);
            parts.push(part);
            starts.push(state);
        }

        let observations = std::mem::take(&mut self.statistics.utc)
            .into_iter()
            .filter_map(|(index, (_, times))| {
                Some((topics.get(index)?.label().into_owned(), times))
            })
            .collect();
        let start = self.metadata.file_header.start_micros();
        let clock = utc_offset::clock(start, time, &self.metadata.info, observations);
        let mut damage: Vec<Damage> = std::mem::take(&mut self.damage);
        damage.sort_by_key(|damage| damage.bytes.start);
        let metadata = self.metadata();
        let format_state = FormatState {
            file_header: self.metadata.file_header,
            declarations: self.declarations,
            damaged_ranges: self.damaged_ranges,
            data_start: self.data_start.unwrap_or(bytes),
            starts,
            corrections: self.corrections,
            built_in,
            is_partial: false,
        };
        let manifest = Manifest {
            format: FORMAT_NAME.to_owned(),
            bytes,
            access: LogAccess::Scanned,
            topics,
            streams: Vec::new(),
            parts,
            time_margins: BTreeMap::new(),
            clock,
            time,
            oldest,
            metadata,
            damage,
            remarks: self.remarks,
            format_state: Manifest::encode_state(&format_state)?,
        };
        Ok((manifest, format_state))
    }

    /// Returns true if the records contradict the start of logging in the header: it is
    /// after the last record, or more than 5 minutes before the first, or no record has
    /// a time that is consistent with it.
    ///
    /// PX4 first writes the last publication of each topic with its old timestamp. So
    /// records from before the start are valid if they are fewer than the others, or at
    /// most one of each topic.
    pub(super) fn contradicts_header(&self) -> bool {
        let Some(start) = self.registry.streams.clock.start() else { return false };
        let stats = &self.statistics.stats;
        let old_records: u64 = stats.iter().map(|stats| stats.before_start).sum();
        let Some(time) = self.statistics.time.range() else {
            return stats.iter().any(|stats| stats.records > 0);
        };
        let trusted_records: u64 =
            stats.iter().map(|s| s.records - s.before_start - s.implausible).sum();
        let wait = time.start.as_nanos() / 1_000 - start as i64;
        let is_long_before = old_records == 0 && wait > clock::MAX_STEP as i64;
        is_long_before || old_records > trusted_records.max(stats.len() as u64)
    }

    /// Returns the time from the start of logging to the last record.
    fn time(&self) -> Option<TimeRange> {
        let records = self.statistics.time.range()?;
        let start = self.registry.streams.clock.start();
        let start = start.map_or(records.start, Timestamp::from_micros);
        Some(TimeRange { start: start.min(records.start), ..records })
    }

    /// Returns the time of the oldest record from before the start of logging.
    fn oldest_record_time(&self) -> Option<Timestamp> {
        let before = self.statistics.before_start;
        (!before.is_empty()).then_some(before.start)
    }

    fn add_remarks(&mut self) {
        for (kind, (count, offset)) in std::mem::take(&mut self.unknown_messages) {
            let kind = char::from(kind);
            self.remark(format!(
                "{count} messages of the unknown type {kind:?} were skipped, the first at \
                 byte {offset}"
            ));
        }
        let sum = |count: fn(&TopicStatistics) -> u64| {
            self.statistics.stats.iter().map(count).sum()
        };
        let late: u64 = sum(|stats| stats.late);
        let before_start: u64 = sum(|stats| stats.before_start);
        let implausible: u64 = sum(|stats| stats.implausible);
        if let Some(records) = older_than_start(before_start) {
            self.remark(records);
        }
        if late > 0 {
            self.remark(format!(
                "records older than the one before of their topic: {late}"
            ));
        }
        if implausible > 0 {
            let problem =
                "records with an impossible time (0, or far from the times around it)";
            self.remark(format!("{problem}: {implausible}"));
        }
        if let Some(dropped @ 1..) =
            self.registry.streams.pauses().map(Pauses::dropped_corrections)
        {
            let problem =
                "records after pauses whose counters do not determine the time";
            self.remark(format!("{problem}: {dropped}"));
        }
        let unusable = self.unusable_definitions();
        self.damage.extend(unusable);
        // A topic without records loses nothing.
        let topics = self.registry.topics.iter().zip(&self.statistics.stats);
        let without_records = topics.filter(|(_, stats)| stats.records == 0);
        let remarks: Vec<String> = without_records
            .filter_map(|(topic, _)| Some((&topic.name, topic.layout.as_ref().err()?)))
            .map(|(name, reason)| {
                format!("the topic {name:?} has only raw bytes: {reason}")
            })
            .collect();
        remarks.into_iter().for_each(|remark| self.remark(remark));
        if let Some(Value::Text(name)) = self.metadata.info.get("replay") {
            self.remark(format!("this is a replay of {name}"));
        }
    }

    /// Returns the topics with records that have no layout, each with the byte range of
    /// its definition, or of its subscription if it has no definition.
    fn unusable_definitions(&self) -> Vec<Damage> {
        let mut subscribed_at: HashMap<TopicId, Range<u64>> = HashMap::new();
        for declaration in &self.declarations {
            if let Declaration::Subscription { offset, name, topic, .. } = declaration {
                let len = (wire::HEADER_LEN + 3 + name.len()) as u64;
                subscribed_at.entry(*topic).or_insert(*offset..offset + len);
            }
        }
        let topics = (0..).map(TopicId).zip(&self.registry.topics);
        let with_records =
            topics.zip(&self.statistics.stats).filter(|(_, stats)| stats.records > 0);
        let unusable = with_records.filter_map(|((id, topic), stats)| {
            let reason = topic.layout.as_ref().err()?;
            let bytes = self.format_ranges.get(&topic.type_name).cloned();
            let bytes = bytes.or_else(|| subscribed_at.get(&id).cloned());
            let damage = Damage::new(DamageKind::Definition, bytes.unwrap_or(0..0));
            Some(
                damage
                    .with_records(stats.records, Some(id))
                    .with_reason(reason.clone()),
            )
        });
        unusable.collect()
    }

    fn logged_topics(&self) -> Vec<Topic> {
        let (mut definition_budget, mut nested_budget) =
            (MAX_DEFINITIONS, MAX_DEFINITIONS);
        let mut definition =
            |text: &str| match definition_budget.checked_sub(text.len()) {
                Some(remaining) => {
                    definition_budget = remaining;
                    text.to_owned()
                }
                None => String::new(),
            };
        let topic = |(declared, stats): (
            &crate::topics::registry::DeclaredTopic,
            &TopicStatistics,
        )| {
            Topic {
                name: declared.name.clone(),
                instance: declared.instance.into(),
                origin: TopicOrigin::Logged,
                content: TopicContent::Records,
                encoding: "ulog".to_owned(),
                type_name: declared.type_name.clone(),
                definition: definition(
                    &self.registry.definition(declared, &mut nested_budget),
                ),
                schema: declared.schema.clone(),
                records: Some(stats.records),
                bytes: Some(stats.bytes),
                time: trusted_times(stats),
                implausible_times: stats.implausible,
                before_start: stats.before_start,
                latched: Vec::new(),
                header_len: 0,
                descriptor: Vec::new(),
                metadata: time_anomalies(stats),
            }
        };
        self.registry.topics.iter().zip(&self.statistics.stats).map(topic).collect()
    }

    /// Adds the built-in topics.
    fn add_built_in(&self, topics: &mut Vec<Topic>) -> BuiltIn {
        let stats = &self.statistics.built_in;
        let mut add = |name: &str, schema: SchemaRef, origin, records| {
            let mut name = name.to_owned();
            while topics.iter().any(|topic| topic.name == name) {
                name.push('_');
            }
            topics.push(Topic {
                type_name: name.clone(),
                origin,
                encoding: "ulog message".to_owned(),
                records,
                ..Topic::new(name, schema)
            });
            TopicId(topics.len() as u32 - 1)
        };
        let origin = TopicOrigin::BuiltIn;
        let logged_strings = add(
            topic_names::LOGGED_STRINGS,
            built_in_topics::strings_schema(),
            origin,
            Some(stats.strings),
        );
        let parameter_changes = add(
            topic_names::PARAMETER_CHANGES,
            built_in_topics::changes_schema(),
            origin,
            Some(stats.changes),
        );
        let dropouts = add(
            topic_names::DROPOUTS,
            built_in_topics::dropouts_schema(),
            origin,
            Some(stats.dropouts),
        );
        let derived = TopicOrigin::Derived;
        let events: u64 = (self.registry.topics.iter().zip(&self.statistics.stats))
            .filter(|(declared, _)| EventLayout::for_topic(declared).is_some())
            .map(|(_, stats)| stats.records)
            .sum();
        let events = (events > 0).then(|| {
            add(
                topic_names::EVENTS,
                built_in_topics::events_schema(),
                derived,
                Some(events),
            )
        });
        let messages = add(
            topic_names::MESSAGES,
            built_in_topics::messages_schema(),
            derived,
            None,
        );
        BuiltIn { logged_strings, parameter_changes, dropouts, messages, events }
    }

    /// Returns the metadata of the log, by section.
    fn metadata(&self) -> BTreeMap<String, Value> {
        let Metadata { info, info_multiple, parameters, .. } = &self.metadata;
        let lists = info_multiple.iter();
        let lists =
            lists.map(|(name, values)| (name.clone(), Value::List(values.clone())));
        let values = parameters.iter();
        let values = values.map(|(name, parameter): (&String, &Parameter)| {
            (name.clone(), parameter.value.into())
        });
        let stats = &self.statistics.built_in;
        let dropouts = DropoutStatistics {
            count: stats.dropouts,
            total_millis: stats.dropout_millis,
            longest_millis: stats.dropout_longest.into(),
        };
        let non_default = parameters.values().filter(|p| p.is_non_default()).count();
        let mut sections = BTreeMap::from([
            (MetadataKey::Info.into(), Value::Map(info.clone())),
            (MetadataKey::InfoMultiple.into(), Value::Map(lists.collect())),
            (MetadataKey::Parameters.into(), Value::Map(values.collect())),
            (MetadataKey::ParametersNonDefault.into(), Value::UInt(non_default as u64)),
            (MetadataKey::Dropouts.into(), dropouts.to_value()),
            (MetadataKey::SyncMarks.into(), Value::UInt(stats.syncs)),
            (MetadataKey::System.into(), Value::Map(system_info::readable_facts(info))),
            (
                "ulog_version".to_owned(),
                Value::UInt(self.metadata.file_header.version.into()),
            ),
            (
                "start_us".to_owned(),
                Value::UInt(self.metadata.file_header.start_micros()),
            ),
        ]);
        type Default = fn(&Parameter) -> Option<ParameterValue>;
        let defaults: [(&str, Default); 2] = [
            ("parameters_system_default", |parameter| parameter.system_default),
            ("parameters_setup_default", |parameter| parameter.setup_default),
        ];
        for (name, default_of) in defaults {
            let values = parameters.iter();
            let values = values
                .filter_map(|(name, p)| Some((name.clone(), default_of(p)?.into())));
            let values: BTreeMap<String, Value> = values.collect();
            if !values.is_empty() {
                sections.insert(name.to_owned(), Value::Map(values));
            }
        }
        sections
    }
}
