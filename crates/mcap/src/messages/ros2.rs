//! Translates topics of ROS 1 for ROS 2.

use std::collections::BTreeMap;

use logtool_core::{Error, ErrorKind, Result, Topic};
use logtool_rosmsg::{
    ConnectionMetadata, TopicMetadata, Transcoder, resolve_definition_for_table,
};

use crate::messages::cdr;

/// The profile of a file for ROS 2.
pub(crate) const PROFILE: &str = "ros2";

/// The metadata key of the quality of service that the publisher offers.
const QOS_KEY: &str = "offered_qos_profiles";

/// A reliable and transient local quality of service, in the form that rosbags-convert
/// 0.11 writes for latched connections: the policies are numbers, as in rosbag2 (metadata
/// version 8).
const LATCHED_QOS: &str = "\
- avoid_ros_namespace_conventions: false
  deadline: {nsec: 4294967295, sec: 2147483647}
  depth: 0
  durability: 1
  history: 3
  lifespan: {nsec: 4294967295, sec: 2147483647}
  liveliness: 1
  liveliness_lease_duration: {nsec: 4294967295, sec: 2147483647}
  reliability: 1";

/// The maximum number of names in a remark.
const MAX_NAMES: usize = 5;

/// The translation of a topic of ROS 1 for ROS 2.
#[derive(Debug)]
pub(crate) struct Translation {
    /// The name of the ROS 2 type.
    pub(crate) type_name: String,
    pub(crate) definition: String,
    pub(crate) transcoder: Transcoder,
    /// A remark for the user.
    pub(crate) remark: Option<String>,
}

impl Translation {
    /// Returns the translation of `topic` to `encoding`, or `None` if its messages are
    /// not of ROS 1.
    ///
    /// # Errors
    /// `Unsupported` if the encoding is not CDR; `Malformed` if the definition of the
    /// topic cannot be parsed.
    pub(crate) fn new(topic: &Topic, encoding: &str) -> Result<Option<Self>> {
        if encoding != cdr::MESSAGE_ENCODING {
            let message = format!(
                "messages cannot be translated to the encoding {encoding:?}, only to \"cdr\""
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        if topic.encoding != "ros1" {
            return Ok(None);
        }
        let md5sum = TopicMetadata::new(&topic.metadata).md5sum_or_any();
        let translation =
            resolve_definition_for_table(&topic.type_name, md5sum, &topic.definition)
                .and_then(|described| {
                    let is_log = described.definition.is_log();
                    Ok(Self {
                        type_name: described.definition.ros2_name(),
                        definition: described.definition.ros2_text()?,
                        transcoder: if is_log {
                            Transcoder::for_log_messages()
                        } else {
                            Transcoder::for_ros1_layout_with_added_fields(
                                &described.layout,
                            )?
                        },
                        remark: if is_log {
                            Some(omitted_fields_remark(topic))
                        } else {
                            changed_names_remark(
                                topic,
                                &described.definition.names_changed_for_ros2(),
                            )
                        },
                    })
                });
        translation.map(Some).map_err(|err| {
            let (label, reason) = (topic.label(), err.message());
            let message =
                format!("the topic {label:?} cannot be translated for ROS 2: {reason}");
            Error::new(err.kind(), message)
        })
    }
}

/// Returns a remark about the fields of log messages that ROS 2 does not have.
fn omitted_fields_remark(topic: &Topic) -> String {
    let label = topic.label();
    format!(
        "the topic {label:?}: frame_id and topics are omitted, because rcl_interfaces/msg/Log \
         does not have them"
    )
}

/// Returns a remark about the names in the type of `topic` that are changed, because ROS 2
/// does not allow them, if there are any.
fn changed_names_remark(topic: &Topic, changed_names: &[String]) -> Option<String> {
    let label = topic.label();
    let names = name_list(changed_names)?;
    Some(format!(
        "the topic {label:?}: names that ROS 2 does not allow are changed: {names}"
    ))
}

/// Returns the first of `changed_names`, separated by commas, and the number of the others;
/// `None` if there are no names.
pub(crate) fn name_list(changed_names: &[String]) -> Option<String> {
    if changed_names.is_empty() {
        return None;
    }
    let (listed, unlisted) =
        changed_names.split_at_checked(MAX_NAMES).unwrap_or((changed_names, &[]));
    let and_more = match unlisted.len() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    Some(format!("{}{and_more}", listed.join(", ")))
}

/// Returns the metadata of a channel for ROS 2, from the metadata of a channel of ROS 1:
/// the publisher, and a quality of service for latched topics.
pub(crate) fn channel_metadata(
    ros1_metadata: &BTreeMap<String, String>,
    is_latched: bool,
) -> BTreeMap<String, String> {
    let caller = ConnectionMetadata::from_strings(ros1_metadata).caller;
    let publisher = ConnectionMetadata { caller, ..ConnectionMetadata::default() };
    let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    let mut metadata: BTreeMap<String, String> =
        publisher.entries().map(owned).collect();
    if is_latched {
        metadata.insert(QOS_KEY.to_owned(), LATCHED_QOS.to_owned());
    }
    metadata
}

/// Returns true if the metadata of a channel of ROS 2 declare that its last message is
/// delivered to late subscribers. rosbag2 writes the durability as a number or as a
/// word.
pub(crate) fn is_latched(metadata: &BTreeMap<String, String>) -> bool {
    let profiles = metadata.get(QOS_KEY).map_or("", String::as_str);
    let mut durabilities = profiles.split(['\n', ',', '{', '}']).filter_map(|pair| {
        let (key, value) = pair.trim().trim_start_matches("- ").split_once(':')?;
        (key.trim() == "durability").then_some(value.trim())
    });
    durabilities
        .any(|value| matches!(value.trim_matches(['"', '\'']), "1" | "transient_local"))
}
