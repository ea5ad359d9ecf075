//! MCAP files of ROS 2 with messages of ROS 1: those in CDR are translated by the definitions
//! that the file has, those of ROS 1 are as they are.

use std::sync::Arc;

use logtool_core::{
    DamageKind, Log, Messages, Run, Topic, TopicId, TopicOrigin, TopicSet, Translate,
    TranslatedLog, Translation,
};
use logtool_rosmsg::{CdrRemainder, Definition, Encoding, MAX_UNPACKED, Transcoder};

use crate::{
    error::{Error, Result},
    time::offset::Moved,
    translate::Prepared,
};

/// How messages of ROS 1 are written.
const ROS1: &str = "ros1";

/// How messages of ROS 2 are written, and their definitions.
const CDR: (&str, &str) = ("cdr", "ros2msg");

/// What of CDR's topics says nothing of those that they become.
const OF_CDR: [&str; 2] = ["schema_encoding", "md5sum"];

/// What is to be told of a message with a time that is none of ROS 1.
const BEYOND: &str = "a time before 1970, which ROS 1 reads as one after 2038";

/// Whether the messages of `topic` are to be translated, or cannot be taken.
pub(in crate::translate) fn is_foreign(topic: &Topic) -> bool {
    topic.origin == TopicOrigin::Logged && topic.encoding != ROS1
}

/// `log`, an MCAP file, with its `wanted` topics as messages of ROS 1.
///
/// # Errors
/// If none of them can be such.
pub(in crate::translate) fn cdr(
    log: Arc<dyn Log>,
    wanted: &TopicSet,
    moved: Moved,
) -> Result<Prepared> {
    let (mut translations, mut warnings) = (Vec::new(), Vec::new());
    for (id, topic) in log.manifest().topics() {
        if !wanted.contains(id) || topic.origin != TopicOrigin::Logged {
            continue;
        }
        match translation(id, topic) {
            Ok(translation) => translations.push(translation),
            Err(why) => {
                warnings
                    .push(format!("left out: the topic {:?}: {why}", topic.label()));
            }
        }
    }
    if translations.is_empty() && !warnings.is_empty() {
        let what = "no topic can be one of messages of ROS 1, which bags have";
        let why = warnings.join("; ").replace("left out: ", "");
        return Err(Error::failed(format!("{what}; {why}")));
    }
    let Moved { nanos, is_unix } = moved;
    let log = TranslatedLog::new(log, translations, nanos, is_unix).with_streams();
    Ok(Prepared { log: Arc::new(log), remarks: Vec::new(), warnings })
}

/// How `topic`, which is the topic `id`, becomes one of messages of ROS 1; or why it does not.
fn translation(id: TopicId, topic: &Topic) -> Result<Translation, String> {
    let envelope = topic.envelope as usize;
    let mut about = Topic { envelope: 0, ..topic.clone() };
    let transcoder = match topic.encoding.as_str() {
        ROS1 => None,
        encoding if encoding == CDR.0 => {
            let of_schema = topic.metadata.get("schema_encoding");
            let of_schema = of_schema.map_or("", String::as_str);
            if of_schema != CDR.1 {
                return Err(format!(
                    "its definition is written as {of_schema:?}, and not as {:?}",
                    CDR.1
                ));
            }
            let (definition, transcoder) =
                understood(topic).map_err(|e| e.to_string())?;
            definition.name().clone_into(&mut about.type_name);
            (about.encoding, about.definition) = (ROS1.to_owned(), definition.text());
            OF_CDR.iter().for_each(|key| drop(about.metadata.remove(*key)));
            Some(Arc::new(transcoder))
        }
        other => {
            return Err(format!(
                "its messages are not written as ROS writes them, but as {other:?}"
            ));
        }
    };
    let begin = Arc::new(move || {
        let translator: Box<dyn Translate> =
            Box::new(Ros1 { transcoder: transcoder.clone(), envelope });
        Ok(translator)
    });
    Ok(Translation { from: id, topic: about, begin })
}

/// The definition of `topic` in ROS 1, and how its messages become such.
fn understood(topic: &Topic) -> logtool_core::Result<(Definition, Transcoder)> {
    let definition = Definition::ros1_from_ros2(&topic.type_name, &topic.definition)?;
    // The log messages of ROS 2, and not those of ROS 1 in CDR.
    let is_log = definition.is_log() && topic.type_name == "rcl_interfaces/msg/Log";
    let transcoder = match is_log {
        true => Transcoder::of_logs(),
        false => {
            let (name, text) = (&topic.type_name, &topic.definition);
            match Definition::has_added_fields(name, text)? {
                true => Transcoder::to_ros2(&*definition.layout()?)?,
                false => Transcoder::of_ros1(&*definition.layout()?)?,
            }
        }
    };
    Ok((definition, transcoder))
}

/// Makes messages of ROS 1.
struct Ros1 {
    /// From CDR; nothing if they are such.
    transcoder: Option<Arc<Transcoder>>,
    /// How many bytes are before each message.
    envelope: usize,
}

impl Translate for Ros1 {
    fn translate(
        &mut self,
        run: Run<'_>,
        messages: &mut Messages,
    ) -> logtool_core::Result<()> {
        for (index, record) in run.records().enumerate() {
            let message = record.payload.get(self.envelope..).unwrap_or_default();
            let buffer = messages.buffer();
            let room = MAX_UNPACKED.saturating_sub(buffer.len());
            let message = match self.transcoder {
                Some(_) => Encoding::Cdr.unpacked(message, room),
                None => Ok(message.into()),
            };
            let translated = message.and_then(|message| {
                self.put(&message, buffer).ok_or(DamageKind::Undecodable)
            });
            let remainder = match translated {
                Ok(remainder) => remainder,
                Err(kind) => {
                    messages.lose(record.undecodable().as_kind(kind));
                    continue;
                }
            };
            messages.end(index);
            if remainder.unrepresentable_times > 0 {
                let damage = record.undecodable().as_kind(DamageKind::Doubtful);
                messages.lose(damage.because(BEYOND));
            }
            if remainder.surplus > 0 {
                messages.lose(record.surplus(remainder.surplus));
            }
        }
        Ok(())
    }
}

impl Ros1 {
    /// Adds the message of ROS 1 that `message` becomes to `out`. Returns `None` if `message`
    /// does not fit its definition.
    fn put(&self, message: &[u8], out: &mut Vec<u8>) -> Option<CdrRemainder> {
        match &self.transcoder {
            Some(transcoder) => transcoder.from_cdr(message, out),
            None => {
                out.extend_from_slice(message);
                Some(CdrRemainder::default())
            }
        }
    }
}
