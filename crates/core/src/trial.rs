//! Decoding records only to see whether they can be.

use crate::{
    block::Block,
    damage::Damage,
    error::Result,
    log::{Columns, Decoder, Log, View},
    topic::TopicId,
};

/// Decodes the records of a log, and keeps nothing of them.
pub(crate) struct Trial<'l> {
    log: &'l dyn Log,
    /// By topic.
    decoders: Vec<Option<Box<dyn Decoder>>>,
    /// Which of them have been given records of the block.
    used: Vec<usize>,
}

impl<'l> Trial<'l> {
    /// Of `log`, of which nothing is decoded yet.
    pub(crate) fn new(log: &'l dyn Log) -> Self {
        let topics = log.manifest().topics.len();
        Self { log, decoders: (0..topics).map(|_| None).collect(), used: Vec::new() }
    }

    /// Adds what is damaged in the records of `block` to `damage`.
    ///
    /// # Errors
    /// If a topic cannot be decoded at all.
    pub(crate) fn decode(
        &mut self,
        block: &Block,
        damage: &mut Vec<Damage>,
    ) -> Result<()> {
        for run in block.runs() {
            let index = run.topic().index();
            let Some(known) = self.decoders.get_mut(index) else { continue };
            let decoder = match known {
                Some(decoder) => decoder,
                none => none.insert(decoder(self.log, run.topic())?),
            };
            decoder.append(run, damage);
            if !self.used.contains(&index) {
                self.used.push(index);
            }
        }
        for index in self.used.drain(..) {
            if let Some(Some(decoder)) = self.decoders.get_mut(index) {
                decoder.take()?;
            }
        }
        Ok(())
    }
}

/// A decoder of the records of `topic` that keeps as little of them as can be.
///
/// # Errors
/// If the topic cannot be decoded at all.
pub(crate) fn decoder(log: &dyn Log, topic: TopicId) -> Result<Box<dyn Decoder>> {
    // No column but the time: the records are walked over all the same.
    let only = Some(Vec::new());
    log.decoder(topic, &Columns { only, ..Columns::all(View::Nested) })
}
