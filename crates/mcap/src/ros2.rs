//! What topics of ROS 1 become in a file for ROS 2.

use std::collections::BTreeMap;

use logtool_core::{Error, ErrorKind, Result, Topic};
use logtool_rosmsg::{Transcoder, describe};

use crate::cdr::CDR;

/// What such a file says that it is.
pub(crate) const PROFILE: &str = "ros2";

/// Where a channel has the quality of service that its publisher offers.
const QOS: &str = "offered_qos_profiles";

/// Reliable, and kept for who comes later: as rosbags-convert 0.11 writes it for
/// connections that latch, in the numbers of rosbag2 (metadata version 8).
const LATCHED: &str = "\
- avoid_ros_namespace_conventions: false
  deadline: {nsec: 4294967295, sec: 2147483647}
  depth: 0
  durability: 1
  history: 3
  lifespan: {nsec: 4294967295, sec: 2147483647}
  liveliness: 1
  liveliness_lease_duration: {nsec: 4294967295, sec: 2147483647}
  reliability: 1";

/// So many names are told.
const MOST_NAMES: usize = 5;

/// How the messages of a topic of ROS 1 are written for ROS 2.
#[derive(Debug)]
pub(crate) struct Translation {
    /// The name of the type.
    pub(crate) type_name: String,
    pub(crate) definition: String,
    pub(crate) transcoder: Transcoder,
    /// What people should know: a sentence.
    pub(crate) remark: Option<String>,
}

impl Translation {
    /// How those of `topic` are, if `encoding` is wanted; nothing if they are no messages
    /// of ROS 1.
    ///
    /// # Errors
    /// `Unsupported` if the encoding is not CDR; `Malformed` if the definition of the
    /// topic cannot be understood.
    pub(crate) fn of(topic: &Topic, encoding: &str) -> Result<Option<Self>> {
        if encoding != CDR.0 {
            let what = format!("messages that are translated to {encoding:?}: \"cdr\"");
            return Err(Error::new(ErrorKind::Unsupported, what));
        }
        if topic.encoding != "ros1" {
            return Ok(None);
        }
        let md5sum = topic.metadata.get("md5sum").map_or("*", String::as_str);
        let translation = describe(&topic.type_name, md5sum, &topic.definition)
            .and_then(|described| {
                Ok(Self {
                    type_name: described.definition.ros2_name(),
                    definition: described.definition.ros2_text()?,
                    transcoder: match described.definition.is_log() {
                        true => Transcoder::of_logs(),
                        false => Transcoder::to_ros2(&described.layout)?,
                    },
                    remark: match described.definition.is_log() {
                        true => Some(log_remark(topic)),
                        false => remark(topic, &described.definition.ros2_misnamed()),
                    },
                })
            });
        translation.map(Some).map_err(|why| {
            let (label, because) = (topic.label(), why.what());
            let what = format!(
                "the topic {label:?} cannot be translated for ROS 2: {because}"
            );
            Error::new(why.kind(), what)
        })
    }
}

/// Returns the fields of log messages that are left out for ROS 2, as a sentence.
fn log_remark(topic: &Topic) -> String {
    let label = topic.label();
    format!(
        "the topic {label:?}: frame_id and topics are left out, because rcl_interfaces/msg/Log \
         does not have them"
    )
}

/// What is to be told of a topic with such names.
fn remark(topic: &Topic, misnamed: &[String]) -> Option<String> {
    let (first, rest) =
        misnamed.split_at_checked(MOST_NAMES).unwrap_or((misnamed, &[]));
    let more = match rest.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (label, names) = (topic.label(), first.join(", "));
    (!first.is_empty()).then(|| {
        format!(
            "the topic {label:?}: names that ROS 2 does not allow are kept: {names}{more}"
        )
    })
}

/// What a channel for ROS 2 says of one of ROS 1 of which `words` are told: who wrote it,
/// and whether its last message is for those too who come later.
pub(crate) fn words(
    words: &BTreeMap<String, String>,
    is_latched: bool,
) -> BTreeMap<String, String> {
    let caller = words.get_key_value("callerid");
    let mut kept: BTreeMap<String, String> =
        caller.map(|(key, value)| (key.clone(), value.clone())).into_iter().collect();
    if is_latched {
        kept.insert(QOS.to_owned(), LATCHED.to_owned());
    }
    kept
}

/// Whether `words`, which are told of a channel, say that its last message is for those
/// too who come later: rosbag2 writes that as a number or as a word.
pub(crate) fn is_latched(words: &BTreeMap<String, String>) -> bool {
    let profiles = words.get(QOS).map_or("", String::as_str);
    let mut told = profiles.split(['\n', ',', '{', '}']).filter_map(|pair| {
        let (key, value) = pair.trim().trim_start_matches("- ").split_once(':')?;
        (key.trim() == "durability").then_some(value.trim())
    });
    told.any(|value| matches!(value.trim_matches(['"', '\'']), "1" | "transient_local"))
}
