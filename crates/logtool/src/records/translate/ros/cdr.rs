//! Translates MCAP files of ROS 2 to messages of ROS 1: messages in CDR are translated with the
//! definitions in the file; messages of ROS 1 are copied.

use std::sync::Arc;

use logtool_core::{
    DamageKind, Log, MessageBuffer, Run, Topic, TopicId, TopicOrigin, TopicSet,
    Translate, TranslatedLog, Translation,
};
use logtool_mcap::{remove_schema_encoding, schema_encoding};
use logtool_rosmsg::{
    CdrRemainder, Definition, Encoding, MAX_DECOMPRESSED_BYTES, TopicMetadata,
    Transcoder,
};

use crate::{
    error::{Error, Result},
    records::translate::{MessageSource, PreparedTranslation},
    time::offset::ClockOffset,
};

/// The encoding of messages of ROS 1.
const ROS1: &str = "ros1";

/// The encoding of messages of ROS 2, and the encoding of their definitions.
const CDR: (&str, &str) = ("cdr", "ros2msg");

/// The reason of damage for messages with times that ROS 1 cannot represent.
const NOT_REPRESENTABLE: &str =
    "a time before 1970, which ROS 1 reads as one after 2038";

/// Returns whether the messages of `topic` must be translated, or cannot be stored.
pub(in crate::records::translate) fn is_foreign(topic: &Topic) -> bool {
    topic.origin == TopicOrigin::Logged && topic.encoding != ROS1
}

/// Translates the `selected` topics of `log`, an MCAP file, to messages of ROS 1.
///
/// # Errors
/// No topic can be translated.
pub(in crate::records::translate) fn cdr(
    log: Arc<dyn Log>,
    selected: &TopicSet,
    offset: ClockOffset,
) -> Result<PreparedTranslation> {
    let (mut translations, mut warnings) = (Vec::new(), Vec::new());
    for (id, topic) in log.manifest().topics() {
        if !selected.contains(id) || topic.origin != TopicOrigin::Logged {
            continue;
        }
        match translation(id, topic) {
            Ok(translation) => translations.push(translation),
            Err(reason) => {
                warnings
                    .push(format!("left out: the topic {:?}: {reason}", topic.label()));
            }
        }
    }
    if translations.is_empty() && !warnings.is_empty() {
        let message =
            "no topic can be translated to messages of ROS 1, which bags need";
        let reasons = warnings.join("; ").replace("left out: ", "");
        return Err(Error::other(format!("{message}; {reasons}")));
    }
    let clock = offset.resulting_clock(&log.manifest().clock);
    let sources = MessageSource::of_each(&translations);
    let log = TranslatedLog::new(log, translations, offset.nanos)
        .with_clock(clock)
        .with_streams();
    let log = Arc::new(log);
    Ok(PreparedTranslation { log, sources, remarks: Vec::new(), warnings })
}

/// Translates `topic`, which has the id `id`, to messages of ROS 1, or returns why this is
/// impossible.
fn translation(id: TopicId, topic: &Topic) -> Result<Translation, String> {
    let header_len = topic.header_len as usize;
    let mut topic_info = Topic { header_len: 0, ..topic.clone() };
    let transcoder = match topic.encoding.as_str() {
        ROS1 => None,
        encoding if encoding == CDR.0 => {
            let of_schema = schema_encoding(topic).unwrap_or_default();
            if of_schema != CDR.1 {
                return Err(format!(
                    "its definition is encoded as {of_schema:?}, not as {:?}",
                    CDR.1
                ));
            }
            let (definition, transcoder) =
                definition_and_transcoder(topic).map_err(|e| e.to_string())?;
            definition.name().clone_into(&mut topic_info.type_name);
            (topic_info.encoding, topic_info.definition) =
                (ROS1.to_owned(), definition.text());
            remove_schema_encoding(&mut topic_info);
            TopicMetadata::remove_md5sum(&mut topic_info.metadata);
            Some(Arc::new(transcoder))
        }
        other => {
            return Err(format!(
                "its messages are encoded as {other:?}, which is not an encoding of ROS"
            ));
        }
    };
    let new_translator = Arc::new(move || {
        let translator: Box<dyn Translate> =
            Box::new(Ros1 { transcoder: transcoder.clone(), header_len });
        Ok(translator)
    });
    Ok(Translation { source_topic: id, topic: topic_info, new_translator })
}

/// Returns the definition of `topic` in ROS 1, and the conversion of its messages.
fn definition_and_transcoder(
    topic: &Topic,
) -> logtool_core::Result<(Definition, Transcoder)> {
    let definition = Definition::ros1_from_ros2(&topic.type_name, &topic.definition)?;
    // Log messages of ROS 2 differ from those of ROS 1 in CDR.
    let is_log = definition.is_log() && topic.type_name == "rcl_interfaces/msg/Log";
    let transcoder = if is_log {
        Transcoder::for_log_messages()
    } else {
        let (name, text) = (&topic.type_name, &topic.definition);
        if Definition::has_fields_added_in_ros2(name, text)? {
            Transcoder::for_ros1_layout_with_added_fields(&*definition.layout()?)?
        } else {
            Transcoder::for_ros1_layout(&*definition.layout()?)?
        }
    };
    Ok((definition, transcoder))
}

/// Translates messages to ROS 1.
struct Ros1 {
    /// The conversion from CDR; `None` if messages are already of ROS 1.
    transcoder: Option<Arc<Transcoder>>,
    /// The number of bytes before each message.
    header_len: usize,
}

impl Translate for Ros1 {
    fn translate(
        &mut self,
        run: Run<'_>,
        messages: &mut MessageBuffer,
    ) -> logtool_core::Result<()> {
        for (index, record) in run.records().enumerate() {
            let message = record.payload.get(self.header_len..).unwrap_or_default();
            let buffer = messages.buffer();
            let room = MAX_DECOMPRESSED_BYTES.saturating_sub(buffer.len());
            let message = match self.transcoder {
                Some(_) => Encoding::Cdr.message(message, room),
                None => Ok(message.into()),
            };
            let translated = message.and_then(|message| {
                self.append(&message, buffer).ok_or(DamageKind::Undecodable.into())
            });
            let remainder = match translated {
                Ok(remainder) => remainder,
                Err(unreadable) => {
                    messages.discard(unreadable.damage(&record));
                    continue;
                }
            };
            messages.end_message(index);
            if remainder.unrepresentable_times > 0 {
                let damage =
                    record.undecodable_damage().with_kind(DamageKind::Doubtful);
                messages.discard(damage.with_reason(NOT_REPRESENTABLE));
            }
            if remainder.extra_bytes > 0 {
                messages.discard(record.extra_bytes_damage(remainder.extra_bytes));
            }
        }
        Ok(())
    }
}

impl Ros1 {
    /// Appends `message`, translated to ROS 1, to `out`. Returns `None` if it does not match its
    /// definition.
    fn append(&self, message: &[u8], out: &mut Vec<u8>) -> Option<CdrRemainder> {
        match &self.transcoder {
            Some(transcoder) => transcoder.from_cdr(message, out),
            None => {
                out.extend_from_slice(message);
                Some(CdrRemainder::default())
            }
        }
    }
}
