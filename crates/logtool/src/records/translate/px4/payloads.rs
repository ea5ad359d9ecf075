//! Translates each payload to at most one message.

use std::sync::Arc;

use logtool_core::{
    Layout, MessageBuffer, Result, Run, Topic, TopicId, Translate, Translation,
};

use crate::records::translate::px4::field_reader::{FieldReader, measurement_time};

/// Translates the payloads of the topic `id` to messages of the topic `topic_info`. `encode` gets a
/// payload and the time for the header, appends the message to a buffer, and returns whether
/// there is one.
///
/// That time is the time of the measurement, if the payload contains it, on the clock of the
/// records, with `offset_nanos` added.
pub(in crate::records::translate) fn translate_payloads<F>(
    id: TopicId,
    topic_info: Topic,
    layout: &Layout,
    offset_nanos: i64,
    encode: F,
) -> Translation
where
    F: Fn(&[u8], i64, &mut Vec<u8>) -> Option<()> + Clone + Send + Sync + 'static,
{
    let measurement_time = FieldReader::find(layout, "timestamp_sample");
    let new_translator = Arc::new(move || {
        let encode = encode.clone();
        let translator: Box<dyn Translate> =
            Box::new(Px4Payloads { measurement_time, offset_nanos, encode });
        Ok(translator)
    });
    Translation { source_topic: id, topic: topic_info, new_translator }
}

struct Px4Payloads<F> {
    /// The time of the measurement, in microseconds.
    measurement_time: Option<FieldReader>,
    offset_nanos: i64,
    encode: F,
}

impl<F> Translate for Px4Payloads<F>
where
    F: Fn(&[u8], i64, &mut Vec<u8>) -> Option<()> + Send,
{
    fn translate(&mut self, run: Run<'_>, messages: &mut MessageBuffer) -> Result<()> {
        for (index, record) in run.records().enumerate() {
            let nanos = measurement_time(self.measurement_time, &record);
            let nanos = nanos.saturating_add(self.offset_nanos);
            let buffer = messages.buffer();
            let before = buffer.len();
            match (self.encode)(record.payload, nanos, buffer) {
                Some(()) => messages.end_message(index),
                // Payloads that are too short are reported by the translation of the topic itself.
                None => buffer.truncate(before),
            }
        }
        Ok(())
    }
}
