//! Something that was lost, in words.

use logtool_core::{ClockZero, Damage, Manifest};

use crate::{time::clock::TextTime, units::Span};

/// Something that was lost.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What and where.
    pub damage: Damage,
    /// The same in words.
    pub text: String,
    /// The label of the topic, if it is known.
    pub topic: Option<String>,
}

impl Finding {
    /// What `damage` is, of a log that holds `manifest`.
    pub fn new(manifest: &Manifest, damage: &Damage) -> Self {
        let topic = damage.topic.and_then(|id| manifest.get(id).ok());
        let mut text = damage.to_string();
        let time = damage.time.filter(|_| damage.kind.is_loss());
        if let (Some(time), ClockZero::Unix) = (time, manifest.clock.zero) {
            // To people, a moment is a date.
            let what = Damage { time: None, ..damage.clone() };
            let (at, span) = (TextTime::date(time.start), Span(time.span_nanos()));
            text = format!("{what}, {span} lost at {at}");
        }
        let topic = topic.map(|topic| topic.label().into_owned());
        if let Some(topic) = &topic {
            text = format!("{text}, of {topic}");
        }
        Self { damage: damage.clone(), text, topic }
    }
}
