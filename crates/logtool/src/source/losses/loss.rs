//! A loss with its description.

use logtool_core::{ClockZero, Damage, Manifest};

use crate::{text::units::Span, time::clock::TextTime};

/// A loss or an anomaly in an input.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The kind, the bytes and the records.
    pub damage: Damage,
    /// The description for users.
    pub text: String,
    /// The label of the topic, if it is known.
    pub topic: Option<String>,
}

impl Finding {
    /// Describes `damage` of a log with `manifest`.
    pub fn new(manifest: &Manifest, damage: &Damage) -> Self {
        let topic = damage.topic.and_then(|id| manifest.topic(id).ok());
        let mut text = damage.to_string();
        let time = damage.time.filter(|_| damage.kind.is_loss());
        if let (Some(time), ClockZero::Unix) = (time, manifest.clock.zero) {
            // For users, the time is formatted as a date.
            let untimed_damage = Damage { time: None, ..damage.clone() };
            let (start, span) =
                (TextTime::from_unix_time(time.start), Span(time.span_nanos()));
            text = format!("{untimed_damage}, {span} lost at {start}");
        }
        let topic = topic.map(|topic| topic.label().into_owned());
        if let Some(topic) = &topic {
            text = format!("{text}, of {topic}");
        }
        Self { damage: damage.clone(), text, topic }
    }
}
