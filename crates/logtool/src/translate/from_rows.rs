//! Translates the rows of a topic to messages.

use std::sync::Arc;

use arrow_array::RecordBatch;
use logtool_core::{
    Columns, Log, RowTranslator, Topic, TopicId, Translate, Translation, View,
};

/// Translates each row of the topic `id` of `log` to a message of the topic `about`. `put`
/// appends the message to a buffer, and returns whether the row becomes one.
pub(super) fn of_rows<F>(
    log: &Arc<dyn Log>,
    id: TopicId,
    about: Topic,
    put: F,
) -> Translation
where
    F: Fn(&RecordBatch, usize, &mut Vec<u8>) -> bool + Clone + Send + Sync + 'static,
{
    of_columns(log, id, Columns::all(View::Flat), about, put)
}

/// Like [`of_rows`], for rows that have only these `columns`.
pub(super) fn of_columns<F>(
    log: &Arc<dyn Log>,
    id: TopicId,
    columns: Columns,
    about: Topic,
    put: F,
) -> Translation
where
    F: Fn(&RecordBatch, usize, &mut Vec<u8>) -> bool + Clone + Send + Sync + 'static,
{
    let log = log.clone();
    let begin = Arc::new(move || {
        let decoder = log.decoder(id, &columns)?;
        let translator: Box<dyn Translate> =
            Box::new(RowTranslator::new(decoder, put.clone()));
        Ok(translator)
    });
    Translation { from: id, topic: about, begin }
}
