//! The declarations of a new log, which precede its records.

use std::collections::{HashMap, HashSet};

use logtool_core::{
    ClockFit, ClockZero, Error, ErrorKind, LogSlice, Result, TimeRange, Timestamp,
    TopicId, TopicOrigin, WriteOptions,
};

use crate::{
    declarations::metadata::FileHeader,
    format_state::{FORMAT_NAME, FormatState},
    sink::{
        metadata::MergedMetadata,
        names::{Name, TopicNames, new_name},
        types::{self, DefinitionAction, TypeTable},
    },
    time::utc_offset,
    topics::{registry::Declaration, streams::Stream},
    wire::kind,
};

/// The form in which the records of a topic are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordTarget {
    /// Data messages with this message id. Records of other lengths are dropped, because readers
    /// that rely on the length would shift all records after them.
    Data { id: u16, min_len: u32, max_len: u32 },
    /// Copies of the messages of a built-in topic.
    Message,
    /// The records are derived from other records, and are not written.
    Omitted,
    /// The topic is not selected, so its records are an error.
    Unselected,
}

/// The declarations of a new log, combined from all selections.
pub(super) struct Declarations {
    /// The start of logging, in microseconds.
    pub(super) start_micros: u64,
    /// The messages, in their order.
    pub(super) messages: Vec<(u8, Vec<u8>)>,
    /// The number of message ids in use.
    pub(super) topics: u16,
    /// For each selection, how the records of each topic are written.
    pub(super) targets: Vec<Vec<RecordTarget>>,
    /// Whether a complete copy of a log needs information that the log itself does not
    /// have.
    pub(super) adds_information: bool,
    /// Notes for the user.
    pub(super) remarks: Vec<String>,
}

/// Combines the declarations of several logs.
struct DeclarationsBuilder<'o> {
    logs: usize,
    options: &'o WriteOptions,
    /// The messages before the first subscription.
    declarations: Vec<(u8, Vec<u8>)>,
    /// The first subscription and the messages after it.
    data_declarations: Vec<(u8, Vec<u8>)>,
    types: TypeTable,
    metadata: MergedMetadata,
    ids: HashMap<Name, u16>,
    next_id: u32,
}

impl Declarations {
    pub(super) fn new(slices: &[LogSlice<'_>], options: &WriteOptions) -> Result<Self> {
        let mut builder = DeclarationsBuilder {
            logs: slices.len(),
            options,
            declarations: Vec::new(),
            data_declarations: Vec::new(),
            types: TypeTable::default(),
            metadata: MergedMetadata::default(),
            ids: HashMap::new(),
            next_id: 0,
        };
        let (mut targets, mut start) = (Vec::new(), Timestamp::MAX);
        for (log_index, slice) in slices.iter().enumerate() {
            if slice.manifest.format != FORMAT_NAME {
                let message = format!(
                    "records of {} cannot be written to a ULog",
                    slice.manifest.format
                );
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            let format_state: FormatState = slice.manifest.decode_state(FORMAT_NAME)?;
            start = start.min(start_of(slice, &format_state.file_header));
            targets.push(builder.add(log_index, slice, &format_state)?);
        }
        let adds_information = builder.add_boot_time(slices);
        let mut messages = builder.declarations;
        messages.append(&mut builder.data_declarations);
        Ok(Self {
            start_micros: u64::try_from(start.as_nanos() / 1_000).unwrap_or(0),
            messages,
            topics: u16::try_from(builder.next_id).unwrap_or(u16::MAX),
            targets,
            adds_information,
            remarks: builder.metadata.remark().into_iter().collect(),
        })
    }
}

/// Returns the start of a selection of a log with this header: the start of the
/// selected time, if that is later than the start of the log.
fn start_of(slice: &LogSlice<'_>, header: &FileHeader) -> Timestamp {
    let selected_start = slice.selection.time.start;
    let log_start = slice.manifest.time.map_or(header.start, |time| time.start);
    if selected_start > log_start { selected_start } else { header.start }
}

/// Returns true if the selection may not contain the source of UTC: the topic, some of
/// its records, or the header. This is also the case if the source is not in the log,
/// e.g. if the user specified the start.
fn loses_utc(slice: &LogSlice<'_>, fit: &ClockFit) -> bool {
    let manifest = slice.manifest;
    let topic = fit.source.strip_suffix(utc_offset::FIELD);
    let topic = topic.and_then(|label| label.strip_suffix('.'));
    let is_kept = topic
        .and_then(|label| manifest.topic_id(label).ok())
        .is_some_and(|topic| slice.selection.topics.contains(topic));
    let is_cut = slice.selection.time != TimeRange::ALL;
    let is_in_header =
        [utc_offset::BOOT_TIME, utc_offset::HEADER].contains(&&*fit.source);
    is_cut || !is_in_header && !is_kept
}

impl DeclarationsBuilder<'_> {
    /// Adds the UTC time of the vehicle's boot, in the form that PX4 uses, if it is known for the
    /// first log and the selection no longer contains its source. Returns true if it was added.
    fn add_boot_time(&mut self, slices: &[LogSlice<'_>]) -> bool {
        let Some(slice) = slices.first() else { return false };
        let clock = &slice.manifest.clock;
        let fit = clock.to_unix.as_ref().filter(|_| clock.zero == ClockZero::Boot);
        let Some(fit) = fit.filter(|fit| loses_utc(slice, fit)) else { return false };
        let Ok(boot) = u64::try_from(fit.offset_nanos / 1_000) else { return false };
        let key = format!("uint64_t {}", utc_offset::BOOT_TIME);
        let len = [key.len() as u8];
        let payload = [&len[..], key.as_bytes(), &boot.to_le_bytes()].concat();
        let is_declared = self.declarations.iter().any(|(kind, existing)| {
            *kind == kind::INFO
                && existing.get(..=key.len()) == payload.get(..=key.len())
        });
        if !is_declared {
            self.declarations.push((kind::INFO, payload));
        }
        !is_declared
    }

    /// Adds the declarations of the log with the index `log_index`. Returns for each topic how its
    /// records are written.
    fn add(
        &mut self,
        log_index: usize,
        slice: &LogSlice<'_>,
        format_state: &FormatState,
    ) -> Result<Vec<RecordTarget>> {
        let needed = self.required_types(slice, format_state)?;
        let (mut names, mut texts) = (TopicNames::default(), HashMap::new());
        let mut ids: HashMap<TopicId, u16> = HashMap::new();
        for declaration in &format_state.declarations {
            match declaration {
                Declaration::Format(name, fields) => {
                    texts.insert(name.as_str(), fields.as_str());
                    if needed.as_ref().is_none_or(|names| names.contains(name.as_str()))
                    {
                        self.define(name, fields, log_index)?;
                    }
                }
                Declaration::Subscription { name, instance, topic, .. } => {
                    if !slice.selection.topics.contains(*topic)
                        || ids.contains_key(topic)
                    {
                        continue;
                    }
                    let new_name_of_topic =
                        new_name(slice.manifest.topic(*topic)?, self.options)?;
                    if let (Some(new_name_of_topic), Some(fields)) =
                        (&new_name_of_topic, texts.get(name.as_str()))
                    {
                        self.define(&new_name_of_topic.name, fields, log_index)?;
                    }
                    let is_renamed = new_name_of_topic.is_some();
                    let original = Name { name: name.clone(), instance: *instance };
                    let name = new_name_of_topic.unwrap_or(original);
                    names.assign(&name, *topic, is_renamed)?;
                    ids.insert(*topic, self.subscribe(name)?);
                }
                Declaration::OmittedTopics { .. } => {}
                Declaration::Metadata { kind, payload, change } => {
                    // A change is a record, unless it happened before the selected
                    // time.
                    let start = slice.selection.time.start;
                    let is_initial = change.is_none_or(|(time, _)| time < start);
                    if is_initial && self.metadata.add(log_index, *kind, payload) {
                        self.declarations.push((*kind, payload.clone()));
                    }
                }
            }
        }
        let (registry, _) = format_state.replay();
        let target = |topic: TopicId| {
            let id = *ids.get(&topic)?;
            let &Stream { min_len, max_len, .. } =
                registry.streams.get(topic.index())?;
            Some(RecordTarget::Data { id, min_len, max_len })
        };
        let topics = slice.manifest.topics();
        Ok(topics
            .map(|(id, topic)| match topic.origin {
                TopicOrigin::Derived => RecordTarget::Omitted,
                _ if !slice.selection.topics.contains(id) => RecordTarget::Unselected,
                TopicOrigin::BuiltIn => RecordTarget::Message,
                TopicOrigin::Logged => target(id).unwrap_or(RecordTarget::Omitted),
            })
            .collect())
    }

    /// Returns the types that the selected topics need, or `None` if the whole log is
    /// copied with all of its types.
    fn required_types<'n>(
        &self,
        slice: &LogSlice<'_>,
        format_state: &'n FormatState,
    ) -> Result<Option<HashSet<&'n str>>> {
        let is_selected = |topic: &TopicId| slice.selection.topics.contains(*topic);
        let (mut selected, mut is_whole) = (Vec::new(), self.logs == 1);
        for declaration in &format_state.declarations {
            if let Declaration::Subscription { name, topic, .. } = declaration {
                let is_renamed =
                    new_name(slice.manifest.topic(*topic)?, self.options)?.is_some();
                if is_selected(topic) {
                    selected.push((name.as_str(), is_renamed));
                } else {
                    is_whole = false;
                }
            }
        }
        if is_whole && self.options.rename.is_empty() {
            return Ok(None);
        }
        // The type of a renamed topic itself is renamed, too.
        let all_names = selected.iter().map(|(name, _)| *name);
        let mut needed = types::required_types(&format_state.declarations, all_names);
        let unrenamed = selected.iter().filter(|(_, is_renamed)| !is_renamed);
        let unrenamed = types::required_types(
            &format_state.declarations,
            unrenamed.map(|(name, _)| *name),
        );
        for (name, _) in selected.iter().filter(|(_, is_renamed)| *is_renamed) {
            if !unrenamed.contains(name) {
                needed.remove(name);
            }
        }
        Ok(Some(needed))
    }

    fn define(&mut self, name: &str, fields: &str, log_index: usize) -> Result<()> {
        let message = (kind::FORMAT, format!("{name}:{fields}").into_bytes());
        match self.types.define(name, fields, log_index, self.logs)? {
            DefinitionAction::Skip => {}
            // Existing subscriptions keep the previous definition.
            DefinitionAction::Redefine => self.data_declarations.push(message),
            DefinitionAction::Add => self.declarations.push(message),
        }
        Ok(())
    }

    /// Returns the message id of the topic `name`.
    fn subscribe(&mut self, name: Name) -> Result<u16> {
        // In a single log, topics with the same name have different types.
        let is_known = self.logs > 1;
        if let Some(id) = self.ids.get(&name).filter(|_| is_known) {
            return Ok(*id);
        }
        let too_many = |_| {
            Error::new(ErrorKind::Limit, "a ULog cannot have more than 65,536 topics")
        };
        let id = u16::try_from(self.next_id).map_err(too_many)?;
        self.next_id += 1;
        let [low, high] = id.to_le_bytes();
        let ids = [name.instance, low, high];
        self.data_declarations
            .push((kind::SUBSCRIPTION, [&ids, name.name.as_bytes()].concat()));
        self.ids.insert(name, id);
        Ok(id)
    }
}
