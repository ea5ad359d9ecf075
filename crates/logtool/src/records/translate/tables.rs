//! Translates tables to messages of types that are derived from their columns.

use std::sync::Arc;

use logtool_core::{Log, TopicSet, TranslatedLog};

use crate::{
    error::Result,
    records::translate::{MessageSource, PreparedTranslation, protobuf, ros},
    time::offset::ClockOffset,
};

/// The package of derived types.
const PACKAGE: &str = "table";

/// Translates the `selected` topics of `log`, a table, to protocol buffers, or to messages of ROS 1
/// if it `is_ros`.
///
/// # Errors
/// A topic cannot be read.
pub(super) fn tables(
    log: Arc<dyn Log>,
    selected: &TopicSet,
    offset: ClockOffset,
    is_ros: bool,
) -> Result<PreparedTranslation> {
    let manifest = log.manifest();
    let (mut translations, mut left_out) = (Vec::new(), Vec::new());
    for (id, topic) in manifest.topics().filter(|(id, _)| selected.contains(*id)) {
        let translation = if is_ros {
            ros::rows(&log, id, topic, PACKAGE)?
        } else {
            protobuf::rows(&log, id, topic, PACKAGE, &topic.name)?
        };
        match translation {
            Ok(translation) => translations.push(translation),
            Err(reason) => left_out.push(format!("{} ({reason})", topic.label())),
        }
    }
    let mut warnings = Vec::new();
    if !left_out.is_empty() {
        warnings.push(format!("left out: {}", left_out.join(", ")));
    }
    let clock = offset.resulting_clock(&manifest.clock);
    let sources = MessageSource::of_each(&translations);
    let log = TranslatedLog::new(log, translations, offset.nanos).with_clock(clock);
    Ok(PreparedTranslation {
        log: Arc::new(log),
        sources,
        remarks: Vec::new(),
        warnings,
    })
}
