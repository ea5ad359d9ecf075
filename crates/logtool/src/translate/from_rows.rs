//! Topics whose messages are made of their rows, as they would be in a table.

use std::sync::Arc;

use arrow_array::RecordBatch;
use logtool_core::{
    Columns, Log, RowTranslator, Topic, TopicId, Translate, Translation, View,
};

/// How each row of the topic `id` of `log` becomes a message of `about`: `put` adds it to a
/// buffer, if it becomes one.
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

/// The same of rows that have only these `columns`.
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
