//! What a new log says before its records.

use std::collections::{HashMap, HashSet};

use logtool_core::{
    ClockFit, ClockZero, Error, ErrorKind, LogSlice, Result, TimeRange, Timestamp,
    TopicId, TopicOrigin, WriteOptions,
};

use crate::{
    header::Head,
    notes::{FORMAT_NAME, Notes},
    registry::Declaration,
    sink::{
        metadata::Metadata,
        names::{Name, Names, renamed},
        types::{self, Defined, Types},
    },
    utc_offset,
    wire::kind,
};

/// What a record of a topic becomes in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Becomes {
    /// A data message with this id.
    Data(u16),
    /// The message that it is.
    Itself,
    /// Nothing: it is made of other records.
    Nothing,
    /// An error: it was not asked for.
    Unwanted,
}

/// What a new log says before its records, put together from all extracts.
pub(super) struct Opening {
    /// When it starts, in microseconds.
    pub(super) start_micros: u64,
    /// The messages, in their order.
    pub(super) messages: Vec<(u8, Vec<u8>)>,
    /// How many message ids are given.
    pub(super) topics: u16,
    /// Of each extract, what a record of each topic becomes.
    pub(super) becomes: Vec<Vec<Becomes>>,
    /// What people should know.
    /// Whether a complete copy of a log has information that the log itself does not have.
    pub(super) has_more: bool,
    pub(super) remarks: Vec<String>,
}

/// An opening that is being put together.
struct Making<'o> {
    logs: usize,
    options: &'o WriteOptions,
    /// What comes before the first topic, and what comes from there on.
    head: Vec<(u8, Vec<u8>)>,
    tail: Vec<(u8, Vec<u8>)>,
    types: Types,
    metadata: Metadata,
    ids: HashMap<Name, u16>,
    next_id: u32,
}

impl Opening {
    pub(super) fn new(
        extracts: &[LogSlice<'_>],
        options: &WriteOptions,
    ) -> Result<Self> {
        let mut making = Making {
            logs: extracts.len(),
            options,
            head: Vec::new(),
            tail: Vec::new(),
            types: Types::default(),
            metadata: Metadata::default(),
            ids: HashMap::new(),
            next_id: 0,
        };
        let (mut becomes, mut start) = (Vec::new(), Timestamp::MAX);
        for (from, extract) in extracts.iter().enumerate() {
            if extract.manifest.format != FORMAT_NAME {
                let what = format!("records of {} in a ULog", extract.manifest.format);
                return Err(Error::new(ErrorKind::Unsupported, what));
            }
            let notes: Notes = extract.manifest.decode_state(FORMAT_NAME)?;
            start = start.min(start_of(extract, &notes.head));
            becomes.push(making.take(from, extract, &notes)?);
        }
        let has_more = making.keep_utc(extracts);
        let mut messages = making.head;
        messages.append(&mut making.tail);
        Ok(Self {
            start_micros: u64::try_from(start.as_nanos() / 1_000).unwrap_or(0),
            messages,
            topics: u16::try_from(making.next_id).unwrap_or(u16::MAX),
            becomes,
            has_more,
            remarks: making.metadata.remark().into_iter().collect(),
        })
    }
}

/// When the `extract` of a log with this `head` starts: where its cut does, if that is
/// later than the log.
fn start_of(extract: &LogSlice<'_>, head: &Head) -> Timestamp {
    let cut = extract.selection.time.start;
    let log = extract.manifest.time.map_or(head.start, |time| time.start);
    if cut > log { cut } else { head.start }
}

/// Returns true if `extract` may not contain the source of UTC: the topic, some of its
/// records, or the old header; or if the source is not in the log, as a start that the user
/// states.
fn loses_utc(extract: &LogSlice<'_>, fit: &ClockFit) -> bool {
    let manifest = extract.manifest;
    let topic = fit.source.strip_suffix(utc_offset::FIELD);
    let topic = topic.and_then(|label| label.strip_suffix('.'));
    let is_kept = topic
        .and_then(|label| manifest.topic(label).ok())
        .is_some_and(|topic| extract.selection.topics.contains(topic));
    let is_cut = extract.selection.time != TimeRange::ALL;
    let is_in_head =
        [utc_offset::BOOT_TIME, utc_offset::HEADER].contains(&&*fit.source);
    is_cut || !is_in_head && !is_kept
}

impl Making<'_> {
    /// Adds the UTC time of the vehicle's boot, as PX4 writes it, if the first log has it and
    /// its extract no longer shows it. Returns true if it was added.
    fn keep_utc(&mut self, extracts: &[LogSlice<'_>]) -> bool {
        let Some(extract) = extracts.first() else { return false };
        let clock = &extract.manifest.clock;
        let fit = clock.to_unix.as_ref().filter(|_| clock.zero == ClockZero::Boot);
        let Some(fit) = fit.filter(|fit| loses_utc(extract, fit)) else { return false };
        let Ok(boot) = u64::try_from(fit.offset_nanos / 1_000) else { return false };
        let key = format!("uint64_t {}", utc_offset::BOOT_TIME);
        let len = [key.len() as u8];
        let payload = [&len[..], key.as_bytes(), &boot.to_le_bytes()].concat();
        let is_told = self.head.iter().any(|(kind, told)| {
            *kind == kind::INFO && told.get(..=key.len()) == payload.get(..=key.len())
        });
        if !is_told {
            self.head.push((kind::INFO, payload));
        }
        !is_told
    }

    /// Takes what the log with the index `from` declares; says what its records become.
    fn take(
        &mut self,
        from: usize,
        extract: &LogSlice<'_>,
        notes: &Notes,
    ) -> Result<Vec<Becomes>> {
        let needed = self.needed(extract, notes)?;
        let (mut names, mut texts) = (Names::default(), HashMap::new());
        let mut ids: HashMap<TopicId, u16> = HashMap::new();
        for declaration in &notes.declarations {
            match declaration {
                Declaration::Format(name, fields) => {
                    texts.insert(name.as_str(), fields.as_str());
                    if needed.as_ref().is_none_or(|names| names.contains(name.as_str()))
                    {
                        self.define(name, fields, from)?;
                    }
                }
                Declaration::Subscription { name, instance, topic, .. } => {
                    if !extract.selection.topics.contains(*topic)
                        || ids.contains_key(topic)
                    {
                        continue;
                    }
                    let new = renamed(extract.manifest.get(*topic)?, self.options)?;
                    if let (Some(new), Some(fields)) = (&new, texts.get(name.as_str()))
                    {
                        self.define(&new.name, fields, from)?;
                    }
                    let is_renamed = new.is_some();
                    let own = Name { name: name.clone(), instance: *instance };
                    let name = new.unwrap_or(own);
                    names.give(&name, *topic, is_renamed)?;
                    ids.insert(*topic, self.subscribe(name)?);
                }
                Declaration::Metadata { kind, payload, change } => {
                    // A change is a record, unless it came before the cut.
                    let start = extract.selection.time.start;
                    let is_told = change.is_none_or(|(time, _)| time < start);
                    if is_told && self.metadata.take(from, *kind, payload) {
                        self.head.push((*kind, payload.clone()));
                    }
                }
            }
        }
        let topics = extract.manifest.topics();
        Ok(topics
            .map(|(id, topic)| match topic.origin {
                TopicOrigin::Derived => Becomes::Nothing,
                _ if !extract.selection.topics.contains(id) => Becomes::Unwanted,
                TopicOrigin::BuiltIn => Becomes::Itself,
                TopicOrigin::Logged => {
                    ids.get(&id).map_or(Becomes::Nothing, |id| Becomes::Data(*id))
                }
            })
            .collect())
    }

    /// The types that the topics need that are wanted; nothing where that is the whole
    /// log, which then has all that it had.
    fn needed<'n>(
        &self,
        extract: &LogSlice<'_>,
        notes: &'n Notes,
    ) -> Result<Option<HashSet<&'n str>>> {
        let is_wanted = |topic: &TopicId| extract.selection.topics.contains(*topic);
        let (mut wanted, mut is_whole) = (Vec::new(), self.logs == 1);
        for declaration in &notes.declarations {
            if let Declaration::Subscription { name, topic, .. } = declaration {
                let is_renamed =
                    renamed(extract.manifest.get(*topic)?, self.options)?.is_some();
                match is_wanted(topic) {
                    true => wanted.push((name.as_str(), is_renamed)),
                    false => is_whole = false,
                }
            }
        }
        if is_whole && self.options.rename.is_empty() {
            return Ok(None);
        }
        // Of a topic that is renamed, the type itself has another name too.
        let all = wanted.iter().map(|(name, _)| *name);
        let mut needed = types::needed(&notes.declarations, all);
        let kept = wanted.iter().filter(|(_, is_renamed)| !is_renamed);
        let kept = types::needed(&notes.declarations, kept.map(|(name, _)| *name));
        for (name, _) in wanted.iter().filter(|(_, is_renamed)| *is_renamed) {
            if !kept.contains(name) {
                needed.remove(name);
            }
        }
        Ok(Some(needed))
    }

    fn define(&mut self, name: &str, fields: &str, from: usize) -> Result<()> {
        let message = (kind::FORMAT, format!("{name}:{fields}").into_bytes());
        match self.types.define(name, fields, from, self.logs)? {
            Defined::Known => {}
            // What is subscribed already keeps the type that it has.
            Defined::Anew => self.tail.push(message),
            Defined::New => self.head.push(message),
        }
        Ok(())
    }

    /// The message id of the topic called `name`.
    fn subscribe(&mut self, name: Name) -> Result<u16> {
        // Topics of one log that have one name had different types when they began.
        let is_known = self.logs > 1;
        if let Some(id) = self.ids.get(&name).filter(|_| is_known) {
            return Ok(*id);
        }
        let too_many = |_| Error::new(ErrorKind::Limit, "a ULog of over 65,535 topics");
        let id = u16::try_from(self.next_id).map_err(too_many)?;
        self.next_id += 1;
        let [low, high] = id.to_le_bytes();
        let head = [name.instance, low, high];
        self.tail.push((kind::SUBSCRIPTION, [&head, name.name.as_bytes()].concat()));
        self.ids.insert(name, id);
        Ok(id)
    }
}
