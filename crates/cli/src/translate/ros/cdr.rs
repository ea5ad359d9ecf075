//! MCAP files of ROS 2 with messages of ROS 1: those in CDR are translated by the definitions
//! that the file has, those of ROS 1 are as they are.

use std::sync::Arc;

use anyhow::Result;
use logtool_core::{
    Log, Manifest, Messages, Run, Topic, TopicId, TopicOrigin, TopicSet, Translate,
    TranslatedLog, Translation, Value,
};
use logtool_rosmsg::{Definition, Transcoder};

use crate::{complaint::Complaint, human::counted, moved::Moved, translate::Prepared};

/// How messages of ROS 1 are written.
const ROS1: &str = "ros1";

/// How messages of ROS 2 are written, and their definitions.
const CDR: (&str, &str) = ("cdr", "ros2msg");

/// What of CDR's topics says nothing of those that they become.
const OF_CDR: [&str; 2] = ["schema_encoding", "md5sum"];

/// Metadata that say where a file is from: a bag made of it has its own.
const OF_LOGTOOL: [&str; 2] = ["logtool", "provenance"];

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
        let why = warnings.join("\n").replace("left out: ", "");
        return Err(Complaint::new(format!("{what}\n{why}")).into());
    }
    let Moved { nanos, is_unix } = moved;
    let log = TranslatedLog::new(log, translations, nanos, is_unix).with_streams();
    Ok(Prepared { log: Arc::new(log), remarks: Vec::new(), warnings })
}

/// What an MCAP file has beside its messages: a sentence.
pub(in crate::translate) fn left_out(manifest: &Manifest) -> Option<String> {
    let files = match manifest.metadata.get("attachments") {
        Some(Value::UInt(count)) => *count,
        _ => 0,
    };
    let words = match manifest.metadata.get("metadata") {
        Some(Value::Map(all)) => {
            all.keys().filter(|key| !OF_LOGTOOL.contains(&key.as_str())).count() as u64
        }
        _ => 0,
    };
    let counts = [(files, "attachment"), (words, "metadata record")];
    let told = counts.iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> = told.map(|(count, one)| counted(*count, one)).collect();
    (!told.is_empty())
        .then(|| format!("left out: {} (an MCAP file has them)", told.join(", ")))
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
    let transcoder = Transcoder::of_ros1(&*definition.layout()?)?;
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
        messages.each(run, |payload, out| {
            let Some(message) = payload.get(self.envelope..) else { return false };
            match &self.transcoder {
                Some(transcoder) => transcoder.from_cdr(message, out),
                None => {
                    out.extend_from_slice(message);
                    true
                }
            }
        });
        Ok(())
    }
}
