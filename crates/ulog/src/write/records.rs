//! Topics and their records: the messages `A` and `D`.

use std::{io::Write, ops::RangeInclusive};

use logtool_core::{Error, ErrorKind, Result};

use crate::{wire::kind, write::Writer};

/// The maximum length of a record: 2 bytes of its message are the id.
const MAX_PAYLOAD: usize = u16::MAX as usize - 2;

/// A topic to be logged: an instance of a format.
///
/// ```
/// use logtool_ulog::write::Subscription;
///
/// let second_battery =
///     Subscription::new("battery_status").instance(1).at_most_every_micros(200_000);
/// # let _ = second_battery;
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Subscription<'n> {
    format: &'n str,
    multi_id: u8,
    min_interval_micros: u64,
    is_optional: bool,
}

/// A handle of a topic; valid for the writer that returned it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TopicHandle(usize);

/// The state of a topic.
#[derive(Debug)]
pub(super) struct TopicState {
    identity: Identity,
    payload_len: RangeInclusive<usize>,
    min_interval_micros: u64,
    last_micros: Option<u64>,
}

#[derive(Debug)]
enum Identity {
    /// The `A` message is not written yet.
    Unnumbered { format: String, multi_id: u8 },
    /// The message id of the topic.
    Numbered(u16),
}

impl<'n> Subscription<'n> {
    /// Creates a subscription of the first instance of a format, with all of its records.
    pub const fn new(format: &'n str) -> Self {
        Self { format, multi_id: 0, min_interval_micros: 0, is_optional: false }
    }

    /// Selects another instance; the first is 0.
    pub const fn instance(mut self, multi_id: u8) -> Self {
        self.multi_id = multi_id;
        self
    }

    /// Writes only records that are at least this far from the last written record.
    pub const fn at_most_every_micros(mut self, min_interval_micros: u64) -> Self {
        self.min_interval_micros = min_interval_micros;
        self
    }

    /// Omits the topic from the log if it has no records.
    pub const fn omit_if_empty(mut self) -> Self {
        self.is_optional = true;
        self
    }
}

impl<W: Write> Writer<W> {
    /// Adds a topic; the format and all types in it must be defined.
    ///
    /// Unless the topic is [optional](Subscription::omit_if_empty), this ends the
    /// definitions.
    ///
    /// # Errors
    ///
    /// `Malformed` if a format is missing, nested too deeply, recursive, or longer than
    /// a message; `Limit` if there are already 65,536 topics; `Unsupported` if this
    /// instance of the format is already subscribed.
    pub fn subscribe(&mut self, subscription: Subscription<'_>) -> Result<TopicHandle> {
        let layout = self.formats.layout(subscription.format)?;
        let payload_len = layout.size_without_padding() as usize..=layout.size as usize;
        if !self
            .subscribed
            .insert((subscription.format.to_owned(), subscription.multi_id))
        {
            let message = format!(
                "{:?} {} is already subscribed",
                subscription.format, subscription.multi_id
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let topic = self.add_topic(TopicState {
            identity: Identity::Unnumbered {
                format: subscription.format.to_owned(),
                multi_id: subscription.multi_id,
            },
            payload_len,
            min_interval_micros: subscription.min_interval_micros,
            last_micros: None,
        });
        if !subscription.is_optional {
            self.assign_id(topic)?;
        }
        Ok(topic)
    }

    /// Returns the handle of a topic by its message id, if the log had the topic before
    /// it was [appended to](Writer::append), or if it was subscribed with a raw
    /// message. Its payloads are not checked.
    pub fn topic_by_id(&mut self, msg_id: u16) -> TopicHandle {
        self.add_topic(TopicState {
            identity: Identity::Numbered(msg_id),
            payload_len: 0..=MAX_PAYLOAD,
            min_interval_micros: 0,
            last_micros: None,
        })
    }

    /// Writes a record. Returns false if it was skipped because of the minimum interval
    /// of the topic.
    ///
    /// `time_micros` must be the time in the field `timestamp` of the record. The
    /// trailing padding of `payload` may be omitted, as PX4 does.
    ///
    /// # Errors
    ///
    /// `Malformed` if the payload does not have the length of its format; `NoSuch` if
    /// the topic belongs to another writer; `Limit` if all message ids are in use; `Io`
    /// if writing fails.
    pub fn data(
        &mut self,
        topic: TopicHandle,
        time_micros: u64,
        payload: &[u8],
    ) -> Result<bool> {
        let state = self.topic_mut(topic)?;
        if !state.payload_len.contains(&payload.len()) {
            let (len, valid_len) = (payload.len(), &state.payload_len);
            let message = format!(
                "the payload has {len} bytes, but its format has {valid_len:?}"
            );
            return Err(Error::new(ErrorKind::Malformed, message));
        }
        if state.is_too_soon(time_micros) {
            return Ok(false);
        }
        let msg_id = self.assign_id(topic)?;
        self.sync_if_due(time_micros)?;
        self.write_message(kind::DATA, &[&msg_id.to_le_bytes(), payload])?;
        self.topic_mut(topic)?.last_micros = Some(time_micros);
        Ok(true)
    }

    /// Returns the message id of a topic. Assigns an id and writes the `A` message if
    /// necessary.
    fn assign_id(&mut self, topic: TopicHandle) -> Result<u16> {
        let next_id = self.next_id;
        let (multi_id, format) = match &self.topic_mut(topic)?.identity {
            Identity::Numbered(msg_id) => return Ok(*msg_id),
            Identity::Unnumbered { format, multi_id } => (*multi_id, format.clone()),
        };
        let Ok(msg_id) = u16::try_from(next_id) else {
            return Err(Error::new(
                ErrorKind::Limit,
                "a log cannot have more than 65,536 topics",
            ));
        };
        self.write_message(
            kind::SUBSCRIPTION,
            &[&[multi_id], &msg_id.to_le_bytes(), format.as_bytes()],
        )?;
        self.next_id += 1;
        self.topic_mut(topic)?.identity = Identity::Numbered(msg_id);
        Ok(msg_id)
    }

    fn add_topic(&mut self, topic: TopicState) -> TopicHandle {
        self.topics.push(topic);
        TopicHandle(self.topics.len() - 1)
    }

    fn topic_mut(&mut self, topic: TopicHandle) -> Result<&mut TopicState> {
        self.topics.get_mut(topic.0).ok_or_else(|| {
            Error::new(ErrorKind::NoSuch, "the topic belongs to another writer")
        })
    }
}

impl TopicState {
    /// Compares the absolute distance, so that a clock that is set back does not end
    /// the topic.
    fn is_too_soon(&self, time_micros: u64) -> bool {
        let is_recent =
            |last: u64| time_micros.abs_diff(last) < self.min_interval_micros;
        self.last_micros.is_some_and(is_recent)
    }
}
