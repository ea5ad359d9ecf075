//! From all that was counted to the manifest.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use arrow_schema::SchemaRef;
use logtool_core::{
    Damage, DamageKind, LogAccess, Manifest, Result, TimeRange, Timestamp, Topic,
    TopicContent, TopicId, TopicOrigin, Value,
};

use crate::{
    built_in::{self, EventLayout},
    clock,
    header::{Header, Parameter, ParameterValue},
    notes::{BuiltIn, FORMAT_NAME, Notes},
    pauses::Pauses,
    registry::Declaration,
    survey::{Survey, statistics::Stats},
    system, utc_offset, wire,
};

/// How many bytes of definitions a manifest has; topics beyond have none. A log of PX4
/// has less than a megabyte, and few bytes can subscribe 256 times to a long one.
const MAX_DEFINITIONS: usize = 16 << 20;

/// What is odd about the times of a topic's records.
fn oddities(stats: &Stats) -> BTreeMap<String, String> {
    let counted = [
        ("older_than_before", stats.late),
        ("older_than_start", stats.before_start),
        ("odd_times", stats.odd),
    ];
    let odd = counted.into_iter().filter(|(_, count)| *count > 0);
    odd.map(|(name, count)| (name.to_owned(), count.to_string())).collect()
}

/// Tells how many records are from before the start of logging, if some are.
fn older_than_start(records: u64) -> Option<String> {
    let records = match records {
        0 => return None,
        1 => "1 record is".to_owned(),
        records => format!("{records} records are"),
    };
    Some(format!("{records} older than the start of logging"))
}

/// When the records of a topic happened whose times can be right.
fn believed(stats: &Stats) -> Option<TimeRange> {
    Some(stats.believed).filter(|time| !time.is_empty())
}

impl Survey {
    /// The manifest of a log of `bytes` bytes, and what readers of it need.
    pub(super) fn finish(mut self, bytes: u64) -> Result<(Manifest, Notes)> {
        let (time, oldest) = (self.time(), self.oldest());
        self.header.finish(&mut self.registry.formats);
        self.remark_on_odds();
        let mut topics = self.logged_topics();
        let built_in = self.add_built_in(&mut topics);

        let mut parts = Vec::new();
        let mut starts = Vec::new();
        let event_topics: Vec<TopicId> = (0..)
            .map(TopicId)
            .zip(&self.registry.topics)
            .filter(|(_, topic)| EventLayout::of(topic).is_some())
            .map(|(id, _)| id)
            .collect();
        for raw in std::mem::take(&mut self.tally.parts).finish(bytes) {
            let has_events =
                event_topics.iter().any(|id| raw.part.topics.contains(*id));
            let mut more = Vec::new();
            if raw.built_in.strings {
                more.extend([built_in.logged_strings, built_in.messages]);
            }
            if has_events {
                more.push(built_in.messages);
                more.extend(built_in.events);
            }
            if raw.built_in.changes {
                more.push(built_in.parameter_changes);
            }
            if raw.built_in.dropouts {
                more.push(built_in.dropouts);
            }
            let (part, state) = raw.with(more);
            parts.push(part);
            starts.push(state);
        }

        let observations = std::mem::take(&mut self.tally.utc)
            .into_iter()
            .filter_map(|(index, (_, seen))| {
                Some((topics.get(index)?.label().into_owned(), seen))
            })
            .collect();
        let start = self.header.head.start_micros();
        let clock = utc_offset::clock(start, time, &self.header.info, observations);
        let mut damage: Vec<Damage> = std::mem::take(&mut self.damage);
        damage.sort_by_key(|damage| damage.bytes.start);
        let metadata = self.metadata();
        let notes = Notes {
            head: self.header.head,
            declarations: self.declarations,
            gaps: self.gaps,
            data_start: self.data_start.unwrap_or(bytes),
            starts,
            corrections: self.corrections,
            built_in,
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
            format_state: Manifest::encode_state(&notes)?,
        };
        Ok((manifest, notes))
    }

    /// Returns true if the records contradict the start of logging in the header: it is
    /// after the last record, or more than 5 minutes before the first, or no record has a
    /// time that fits it.
    ///
    /// PX4 first writes the last publication of each topic with its old timestamp. So
    /// records from before the start are fine, as long as they are fewer than the
    /// others, or no more than one of each topic.
    pub(super) fn contradicts_header(&self) -> bool {
        let Some(start) = self.registry.streams.clock.start() else { return false };
        let stats = &self.tally.stats;
        let before: u64 = stats.iter().map(|stats| stats.before_start).sum();
        let Some(time) = self.tally.time.range() else {
            return stats.iter().any(|stats| stats.records > 0);
        };
        let believed: u64 =
            stats.iter().map(|s| s.records - s.before_start - s.odd).sum();
        let wait = time.start.as_nanos() / 1_000 - start as i64;
        let is_long_before = before == 0 && wait > clock::NEAR as i64;
        is_long_before || before > believed.max(stats.len() as u64)
    }

    /// From the start of logging to the last record.
    fn time(&self) -> Option<TimeRange> {
        let records = self.tally.time.range()?;
        let start = self.registry.streams.clock.start();
        let start = start.map_or(records.start, Timestamp::from_micros);
        Some(TimeRange { start: start.min(records.start), ..records })
    }

    /// The time of the oldest record from before the start of logging.
    fn oldest(&self) -> Option<Timestamp> {
        let before = self.tally.before_start;
        (!before.is_empty()).then_some(before.start)
    }

    fn remark_on_odds(&mut self) {
        for (kind, (count, at)) in std::mem::take(&mut self.unknown) {
            let kind = char::from(kind);
            self.remark(format!(
                "{count} messages of the unknown type {kind:?} were passed over, the \
                 first at byte {at}"
            ));
        }
        let sum = |count: fn(&Stats) -> u64| self.tally.stats.iter().map(count).sum();
        let late: u64 = sum(|stats| stats.late);
        let before_start: u64 = sum(|stats| stats.before_start);
        let odd: u64 = sum(|stats| stats.odd);
        if let Some(records) = older_than_start(before_start) {
            self.remark(records);
        }
        if late > 0 {
            let what = "are older than one of their topic before them";
            self.remark(format!("records that {what}: {late}"));
        }
        if odd > 0 {
            let what = "cannot be right (0, or far from those around)";
            self.remark(format!("records of which the time {what}: {odd}"));
        }
        if let Some(lost @ 1..) = self.registry.streams.pauses().map(Pauses::lost) {
            let what = "records after pauses whose counters tell no certain time";
            self.remark(format!("{what}: {lost}"));
        }
        let unusable = self.unusable_definitions();
        self.damage.extend(unusable);
        // Where there are no records, nothing is lost.
        let topics = self.registry.topics.iter().zip(&self.tally.stats);
        let without_records = topics.filter(|(_, stats)| stats.records == 0);
        let why: Vec<String> = without_records
            .filter_map(|(topic, _)| Some((&topic.name, topic.layout.as_ref().err()?)))
            .map(|(name, why)| format!("the topic {name:?} has only raw bytes: {why}"))
            .collect();
        why.into_iter().for_each(|why| self.remark(why));
        if let Some(Value::Text(name)) = self.header.info.get("replay") {
            self.remark(format!("this is a replay of {name}"));
        }
    }

    /// The topics with records that have no layout, each with the bytes of its definition,
    /// or of its subscription if it has no definition.
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
            topics.zip(&self.tally.stats).filter(|(_, stats)| stats.records > 0);
        let unusable = with_records.filter_map(|((id, topic), stats)| {
            let why = topic.layout.as_ref().err()?;
            let place = self.formats_at.get(&topic.type_name).cloned();
            let place = place.or_else(|| subscribed_at.get(&id).cloned());
            let damage = Damage::new(DamageKind::Definition, place.unwrap_or(0..0));
            Some(damage.with_records(stats.records, Some(id)).with_reason(why.clone()))
        });
        unusable.collect()
    }

    fn logged_topics(&self) -> Vec<Topic> {
        let (mut room, mut inside) = (MAX_DEFINITIONS, MAX_DEFINITIONS);
        let mut definition = |text: &str| match room.checked_sub(text.len()) {
            Some(less) => {
                room = less;
                text.to_owned()
            }
            None => String::new(),
        };
        let topic = |(declared, stats): (&crate::registry::Declared, &Stats)| Topic {
            name: declared.name.clone(),
            instance: declared.instance.into(),
            origin: TopicOrigin::Logged,
            content: TopicContent::Records,
            encoding: "ulog".to_owned(),
            type_name: declared.type_name.clone(),
            definition: definition(&self.registry.definition(declared, &mut inside)),
            schema: declared.schema.clone(),
            records: Some(stats.records),
            bytes: Some(stats.bytes),
            time: believed(stats),
            odd_times: stats.odd,
            before_start: stats.before_start,
            latched: Vec::new(),
            envelope: 0,
            descriptor: Vec::new(),
            metadata: oddities(stats),
        };
        self.registry.topics.iter().zip(&self.tally.stats).map(topic).collect()
    }

    /// Adds the topics that a ULog has beside those it names.
    fn add_built_in(&self, topics: &mut Vec<Topic>) -> BuiltIn {
        let stats = &self.tally.built_in;
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
        let own = TopicOrigin::BuiltIn;
        let logged_strings =
            add("logged_strings", built_in::strings_schema(), own, Some(stats.strings));
        let parameter_changes = add(
            "parameter_changes",
            built_in::changes_schema(),
            own,
            Some(stats.changes),
        );
        let dropouts =
            add("dropouts", built_in::dropouts_schema(), own, Some(stats.dropouts));
        let derived = TopicOrigin::Derived;
        let events: u64 = (self.registry.topics.iter().zip(&self.tally.stats))
            .filter(|(declared, _)| EventLayout::of(declared).is_some())
            .map(|(_, stats)| stats.records)
            .sum();
        let has_events = events > 0
            && self.header.info_multiple.contains_key(built_in::EVENT_DEFINITIONS);
        let events = has_events
            .then(|| add("events", built_in::events_schema(), derived, Some(events)));
        let messages = add("messages", built_in::messages_schema(), derived, None);
        BuiltIn { logged_strings, parameter_changes, dropouts, messages, events }
    }

    /// What people want to know of the log, by section.
    fn metadata(&self) -> BTreeMap<String, Value> {
        let Header { info, info_multiple, parameters, .. } = &self.header;
        let lists = info_multiple.iter();
        let lists =
            lists.map(|(name, values)| (name.clone(), Value::List(values.clone())));
        let values = parameters.iter();
        let values = values.map(|(name, parameter): (&String, &Parameter)| {
            (name.clone(), parameter.value.into())
        });
        let stats = &self.tally.built_in;
        let dropouts = [
            ("count", stats.dropouts),
            ("total_ms", stats.dropout_millis),
            ("longest_ms", stats.dropout_longest.into()),
        ];
        let dropouts =
            dropouts.map(|(name, value)| (name.to_owned(), Value::UInt(value)));
        let non_default = parameters.values().filter(|p| p.is_non_default()).count();
        let mut all = BTreeMap::from([
            ("info".to_owned(), Value::Map(info.clone())),
            ("info_multiple".to_owned(), Value::Map(lists.collect())),
            ("parameters".to_owned(), Value::Map(values.collect())),
            ("parameters_non_default".to_owned(), Value::UInt(non_default as u64)),
            ("dropouts".to_owned(), Value::Map(dropouts.into())),
            ("sync_marks".to_owned(), Value::UInt(stats.syncs)),
            ("system".to_owned(), Value::Map(system::readable(info))),
            ("ulog_version".to_owned(), Value::UInt(self.header.head.version.into())),
            ("start_us".to_owned(), Value::UInt(self.header.head.start_micros())),
        ]);
        type Default = fn(&Parameter) -> Option<ParameterValue>;
        let defaults: [(&str, Default); 2] = [
            ("parameters_system_default", |parameter| parameter.system_default),
            ("parameters_setup_default", |parameter| parameter.setup_default),
        ];
        for (name, of) in defaults {
            let told = parameters.iter();
            let told = told.filter_map(|(name, p)| Some((name.clone(), of(p)?.into())));
            let told: BTreeMap<String, Value> = told.collect();
            if !told.is_empty() {
                all.insert(name.to_owned(), Value::Map(told));
            }
        }
        all
    }
}
