//! Translates the rows of a topic to messages.

use std::sync::Arc;

use arrow_array::RecordBatch;
use logtool_core::{
    Columns, Log, RowTranslator, Topic, TopicId, Translate, Translation, View,
};

/// Translates each row of the topic `id` of `log` to a message of the topic `topic_info`. `encode`
/// appends the message to a buffer, and returns whether the row becomes one.
pub(super) fn translate_rows<F>(
    log: &Arc<dyn Log>,
    id: TopicId,
    topic_info: Topic,
    encode: F,
) -> Translation
where
    F: Fn(&RecordBatch, usize, &mut Vec<u8>) -> bool + Clone + Send + Sync + 'static,
{
    translate_columns(log, id, Columns::new(View::Flat), topic_info, encode)
}

/// Like [`translate_rows`], for rows that have only these `columns`.
pub(super) fn translate_columns<F>(
    log: &Arc<dyn Log>,
    id: TopicId,
    columns: Columns,
    topic_info: Topic,
    encode: F,
) -> Translation
where
    F: Fn(&RecordBatch, usize, &mut Vec<u8>) -> bool + Clone + Send + Sync + 'static,
{
    let log = log.clone();
    let new_translator = Arc::new(move || {
        let decoder = log.decoder(id, &columns)?;
        let translator: Box<dyn Translate> =
            Box::new(RowTranslator::new(decoder, encode.clone()));
        Ok(translator)
    });
    Translation { source_topic: id, topic: topic_info, new_translator }
}
