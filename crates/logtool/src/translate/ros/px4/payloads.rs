//! Messages that are made of payloads, one for one or none.

use std::sync::Arc;

use logtool_core::{
    Layout, Messages, Result, Run, Topic, TopicId, Translate, Translation,
};

use crate::translate::ros::px4::field_reader::{Numbers, sampled};

/// How each payload of the topic `id` becomes a message of `about`: `put` gets it and the
/// time for the header, and adds the message to a buffer, if it becomes one.
///
/// That time is when the measurement was made, if the payload tells it, on the clock of the
/// records, `offset_nanos` later.
pub(super) fn of_payloads<F>(
    id: TopicId,
    about: Topic,
    layout: &Layout,
    offset_nanos: i64,
    put: F,
) -> Translation
where
    F: Fn(&[u8], i64, &mut Vec<u8>) -> Option<()> + Clone + Send + Sync + 'static,
{
    let sampled = Numbers::find(layout, "timestamp_sample");
    let begin = Arc::new(move || {
        let put = put.clone();
        let translator: Box<dyn Translate> =
            Box::new(Payloads { sampled, offset_nanos, put });
        Ok(translator)
    });
    Translation { from: id, topic: about, begin }
}

struct Payloads<F> {
    /// When the measurement was made, in microseconds.
    sampled: Option<Numbers>,
    offset_nanos: i64,
    put: F,
}

impl<F> Translate for Payloads<F>
where
    F: Fn(&[u8], i64, &mut Vec<u8>) -> Option<()> + Send,
{
    fn translate(&mut self, run: Run<'_>, messages: &mut Messages) -> Result<()> {
        for (index, record) in run.records().enumerate() {
            let nanos = sampled(self.sampled, &record);
            let nanos = nanos.saturating_add(self.offset_nanos);
            let buffer = messages.buffer();
            let before = buffer.len();
            match (self.put)(record.payload, nanos, buffer) {
                Some(()) => messages.end(index),
                // That a payload is too short, the topic itself tells.
                None => buffer.truncate(before),
            }
        }
        Ok(())
    }
}
