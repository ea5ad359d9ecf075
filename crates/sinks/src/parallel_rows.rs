//! Text of many rows, made on all threads.

use arrow_array::RecordBatch;
use logtool_core::{Queue, Result};

/// A slice has about so many values: the work of a fraction of a millisecond, of which the
/// text stays in the cache until it is written.
const VALUES: usize = 1 << 15;

/// Hands `batch` on in slices: several `scribes` write one each, side by side, and what
/// they have written is `taken` in the order of the rows while others go on. A scribe for
/// each thread is kept; those that are missing are `made`.
///
/// Says whether it did that: a batch that is too short for that is left alone, and so is
/// one where there is one thread only.
pub(crate) fn side_by_side<S: Send + 'static>(
    batch: &RecordBatch,
    scribes: &mut Vec<S>,
    made: impl Fn() -> S,
    write: impl Fn(&mut S, &RecordBatch) -> Result<()> + Clone + Send + 'static,
    mut taken: impl FnMut(&mut S) -> Result<()>,
) -> Result<bool> {
    let threads = rayon::current_num_threads();
    let rows = (VALUES / batch.num_columns().max(1)).max(1);
    if threads < 2 || batch.num_rows() < 2 * rows {
        return Ok(false);
    }
    let mut queue: Queue<Result<S>> = Queue::of(2 * threads + 2);
    let mut take = |written: Result<S>, scribes: &mut Vec<S>| -> Result<()> {
        let mut scribe = written?;
        taken(&mut scribe)?;
        scribes.push(scribe);
        Ok(())
    };
    for from in (0..batch.num_rows()).step_by(rows) {
        let slice = batch.slice(from, rows.min(batch.num_rows() - from));
        let mut scribe = scribes.pop().unwrap_or_else(&made);
        let write = write.clone();
        queue.push(move || write(&mut scribe, &slice).map(|()| scribe));
        while let Some(written) = queue.next() {
            take(written, scribes)?;
        }
    }
    while let Some(written) = queue.wait() {
        take(written, scribes)?;
    }
    scribes.truncate(threads);
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Int64Array;

    use super::*;
    use crate::{
        CsvOptions, CsvSink, Existing, JsonLinesSink, Outputs,
        testing::{column, names, table, written},
    };

    const ROWS: i64 = 100_000;

    /// Batches of 4, 99,995 and 1 rows of two columns: the number of the row, and its
    /// square, which is missing in each seventh.
    fn batches() -> Vec<RecordBatch> {
        let squares = (0..ROWS).map(|i| (i % 7 != 0).then_some(i * i));
        let all = table(vec![
            column("i", Arc::new(Int64Array::from_iter_values(0..ROWS))),
            column("square", Arc::new(Int64Array::from_iter(squares))),
        ]);
        let rest = ROWS as usize - 5;
        vec![all.slice(0, 4), all.slice(4, rest), all.slice(4 + rest, 1)]
    }

    fn on_three_threads<T: Send>(job: impl FnOnce() -> T + Send) -> T {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        pool.install(job)
    }

    /// The lines that there should be: `row` makes each.
    fn lines(row: impl Fn(i64, Option<i64>) -> String) -> String {
        (0..ROWS).map(|i| row(i, (i % 7 != 0).then_some(i * i))).collect()
    }

    #[test]
    fn rows_of_csv_come_in_order_from_all_threads() {
        let dir = tempfile::tempdir().unwrap();
        let text = on_three_threads(|| {
            let outputs = Outputs::new(dir.path(), Existing::Refuse);
            let sink = CsvSink::new(outputs.clone(), names("t"), CsvOptions::default());
            written(&outputs, &sink, &batches())
        });
        let expected = lines(|i, square| {
            format!("{i},{}\n", square.map(|n| n.to_string()).unwrap_or_default())
        });
        let text = String::from_utf8(text).unwrap();
        assert!(text == format!("i,square\n{expected}"));
    }

    #[test]
    fn rows_of_json_lines_come_in_order_from_all_threads() {
        let dir = tempfile::tempdir().unwrap();
        let text = on_three_threads(|| {
            let outputs = Outputs::new(dir.path(), Existing::Refuse);
            let sink = JsonLinesSink::new(outputs.clone(), names("t"));
            written(&outputs, &sink, &batches())
        });
        let expected = lines(|i, square| {
            let square = square.map_or("null".to_owned(), |n| n.to_string());
            format!("{{\"i\":{i},\"square\":{square}}}\n")
        });
        assert!(String::from_utf8(text).unwrap() == expected);
    }

    #[test]
    fn short_batches_and_single_threads_are_left_alone() {
        let batches = batches();
        let handed = |batch: &RecordBatch| {
            side_by_side(batch, &mut Vec::<()>::new(), || (), |_, _| Ok(()), |_| Ok(()))
        };
        assert!(!on_three_threads(|| handed(&batches[0])).unwrap());
        assert!(on_three_threads(|| handed(&batches[1])).unwrap());
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert!(!one.install(|| handed(&batches[1])).unwrap());
    }
}
