//! Formats many rows as text on all threads.

use arrow_array::RecordBatch;
use logtool_core::{Result, TaskQueue};

/// The number of values (rows times columns) of a slice. Formatting them takes a fraction of a
/// millisecond, and their text stays in the cache until it is written.
const VALUES_PER_SLICE: usize = 1 << 15;

/// Splits `batch` into slices of rows and formats them in parallel.
///
/// `write` formats a slice with an encoder that no other slice uses at that time. `append` then
/// receives the encoders in the order of the rows, while other slices are being formatted.
/// `encoders` keeps up to one encoder for each thread for reuse; `new_encoder` creates those that
/// are missing.
///
/// Returns `false` and does nothing if the batch is too short, or if there is only one thread.
pub(crate) fn format_in_parallel<E: Send + 'static>(
    batch: &RecordBatch,
    encoders: &mut Vec<E>,
    new_encoder: impl Fn() -> E,
    write: impl Fn(&mut E, &RecordBatch) -> Result<()> + Clone + Send + 'static,
    mut append: impl FnMut(&mut E) -> Result<()>,
) -> Result<bool> {
    let threads = rayon::current_num_threads();
    let rows_per_slice = (VALUES_PER_SLICE / batch.num_columns().max(1)).max(1);
    if threads < 2 || batch.num_rows() < 2 * rows_per_slice {
        return Ok(false);
    }
    let mut queue: TaskQueue<Result<E>> = TaskQueue::with_width(2 * threads + 2);
    let mut append_slice = |result: Result<E>, encoders: &mut Vec<E>| -> Result<()> {
        let mut encoder = result?;
        append(&mut encoder)?;
        encoders.push(encoder);
        Ok(())
    };
    for start_row in (0..batch.num_rows()).step_by(rows_per_slice) {
        let row_count = rows_per_slice.min(batch.num_rows() - start_row);
        let slice = batch.slice(start_row, row_count);
        let mut encoder = encoders.pop().unwrap_or_else(&new_encoder);
        let write = write.clone();
        queue.push(move || write(&mut encoder, &slice).map(|()| encoder));
        while let Some(result) = queue.next() {
            append_slice(result, encoders)?;
        }
    }
    while let Some(result) = queue.wait() {
        append_slice(result, encoders)?;
    }
    encoders.truncate(threads);
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Int64Array;

    use super::*;
    use crate::{
        CsvOptions, CsvSink, ExistingFiles, JsonLinesSink, Outputs,
        testing::{column, names, table, write_one_file},
    };

    const ROWS: i64 = 100_000;

    /// Batches of 4, 99,995 and 1 rows of two columns: the index of the row, and its square,
    /// which is null in every seventh row.
    fn batches() -> Vec<RecordBatch> {
        let squares = (0..ROWS).map(|i| (i % 7 != 0).then_some(i * i));
        let batch = table(vec![
            column("i", Arc::new(Int64Array::from_iter_values(0..ROWS))),
            column("square", Arc::new(Int64Array::from_iter(squares))),
        ]);
        let last_row = ROWS as usize - 1;
        vec![batch.slice(0, 4), batch.slice(4, last_row - 4), batch.slice(last_row, 1)]
    }

    fn on_three_threads<T: Send>(job: impl FnOnce() -> T + Send) -> T {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        pool.install(job)
    }

    /// The expected lines; `format_row` formats each row.
    fn lines(format_row: impl Fn(i64, Option<i64>) -> String) -> String {
        (0..ROWS).map(|i| format_row(i, (i % 7 != 0).then_some(i * i))).collect()
    }

    #[test]
    fn csv_rows_formatted_in_parallel_keep_their_order() {
        let dir = tempfile::tempdir().unwrap();
        let text = on_three_threads(|| {
            let outputs = Outputs::new(dir.path(), ExistingFiles::Refuse);
            let sink = CsvSink::new(outputs.clone(), names("t"), CsvOptions::default());
            write_one_file(&outputs, &sink, &batches())
        });
        let expected = lines(|i, square| {
            format!("{i},{}\n", square.map(|n| n.to_string()).unwrap_or_default())
        });
        let text = String::from_utf8(text).unwrap();
        assert!(text == format!("i,square\n{expected}"));
    }

    #[test]
    fn json_rows_formatted_in_parallel_keep_their_order() {
        let dir = tempfile::tempdir().unwrap();
        let text = on_three_threads(|| {
            let outputs = Outputs::new(dir.path(), ExistingFiles::Refuse);
            let sink = JsonLinesSink::new(outputs.clone(), names("t"));
            write_one_file(&outputs, &sink, &batches())
        });
        let expected = lines(|i, square| {
            let square = square.map_or("null".to_owned(), |n| n.to_string());
            format!("{{\"i\":{i},\"square\":{square}}}\n")
        });
        assert!(String::from_utf8(text).unwrap() == expected);
    }

    #[test]
    fn short_batches_and_single_threads_are_not_split() {
        let batches = batches();
        let is_split = |batch: &RecordBatch| {
            format_in_parallel(
                batch,
                &mut Vec::<()>::new(),
                || (),
                |_, _| Ok(()),
                |_| Ok(()),
            )
        };
        assert!(!on_three_threads(|| is_split(&batches[0])).unwrap());
        assert!(on_three_threads(|| is_split(&batches[1])).unwrap());
        let single_thread =
            rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert!(!single_thread.install(|| is_split(&batches[1])).unwrap());
    }
}
