//! Formats each row of a table as a line: JSON for programs, text for users.

mod times;

use std::{io::Write as _, sync::Arc};

use arrow_array::{
    Array, ArrayRef, RecordBatch, StringArray, cast::AsArray as _, types::*,
};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use logtool_core::{FIELD_NAME_KEY, Timestamp};
use logtool_sinks::{Infinities, JsonColumn, JsonRows};

use crate::{
    error::Result,
    records::message_text::{self, LevelChoice},
    text::units::{escape_unprintable, is_unprintable},
    time::clock::{ShownClock, TimeUnit},
};

/// The rows of one table, prepared for printing. Its first column is the time.
pub struct PrintedRows {
    times: ArrayRef,
    /// The levels, texts and sources, if these are log messages.
    messages: Option<MessageColumns>,
    form: RowFormat,
}

/// The columns of log messages.
struct MessageColumns {
    levels: StringArray,
    texts: StringArray,
    sources: Option<StringArray>,
}

/// The format of the printed rows.
enum RowFormat {
    /// The key before the time, e.g. `{"timestamp":`, the unit of the time, and the other columns.
    Json(String, TimeUnit, JsonRows, Infinities),
    Text(Vec<(String, JsonColumn)>),
    Message(StringArray),
}

impl PrintedRows {
    /// Prepares rows for printing as JSON. The time has the name and the unit of JSON Lines, and
    /// infinities are `null`.
    pub fn json(batch: &RecordBatch) -> Result<Self> {
        Self::json_with(batch, Infinities::default())
    }

    /// Like [`json`](Self::json), but infinities are `1e999`.
    pub fn json_with_infinities(batch: &RecordBatch) -> Result<Self> {
        Self::json_with(batch, Infinities::as_large_numbers())
    }

    fn json_with(batch: &RecordBatch, infinities: Infinities) -> Result<Self> {
        let others: Vec<usize> = (1..batch.num_columns()).collect();
        let named = with_field_names(batch.project(&others)?)?;
        let rows = JsonRows::with_infinities(&named, &infinities)?;
        let messages = MessageColumns::new(batch);
        let schema = batch.schema();
        let time = schema.field(0);
        let start = format!("{{{}:", serde_json::Value::from(time.name().as_str()));
        let form = RowFormat::Json(start, TimeUnit::from_field(time), rows, infinities);
        Ok(Self { times: batch.column(0).clone(), messages, form })
    }

    /// Returns how many infinities were printed as `null` since the last call.
    pub fn take_null_infinities(&self) -> u64 {
        match &self.form {
            RowFormat::Json(.., infinities) => infinities.take_null_count(),
            RowFormat::Text(_) | RowFormat::Message(_) => 0,
        }
    }

    /// Prepares rows for printing as text: `name=value` for each column, or level and message
    /// of log messages, or their column `line`.
    pub fn text(batch: &RecordBatch) -> Result<Self> {
        let times = batch.column(0).clone();
        if let Some(messages) = MessageColumns::new(batch) {
            let lines = batch.column_by_name("line");
            let lines = lines.and_then(|lines| lines.as_string_opt::<i32>());
            let form = RowFormat::Message(lines.unwrap_or(&messages.texts).clone());
            return Ok(Self { times, messages: Some(messages), form });
        }
        let batch = times::as_texts(batch)?;
        let schema = batch.schema();
        let mut columns = Vec::new();
        for index in 1..batch.num_columns() {
            let field = schema.field(index);
            let values = JsonColumn::for_text(field, batch.column(index))?;
            columns.push((format!("{}=", field_name(field)), values));
        }
        Ok(Self { times, messages: None, form: RowFormat::Text(columns) })
    }

    /// Returns the time of the row at index `row`.
    pub fn time(&self, row: usize) -> Timestamp {
        let is_time = matches!(self.times.data_type(), DataType::Timestamp(..));
        if !is_time || self.times.is_null(row) {
            return Timestamp::MAX;
        }
        let nanos = self.times.as_primitive::<TimestampNanosecondType>().value(row);
        Timestamp::from_nanos(nanos)
    }

    /// Returns whether the row at index `row` is at least as severe as `min_level`, or not a log
    /// message.
    pub fn is_urgent(&self, row: usize, min_level: LevelChoice) -> bool {
        let messages = self.messages.as_ref();
        messages.is_none_or(|columns| {
            message_text::is_urgent(columns.levels.value(row), min_level)
        })
    }

    /// Returns the text and the source of the log message at index `row`: the ROS node, or the kind
    /// of a message of PX4. Returns `None` for other rows.
    pub fn message(&self, row: usize) -> Option<(&str, Option<&str>)> {
        let MessageColumns { texts, sources, .. } = self.messages.as_ref()?;
        Some((texts.value(row), sources.as_ref().map(|sources| sources.value(row))))
    }

    /// Appends the row at index `row` of the topic `label`, and a line end. Without a label, the
    /// columns are in the same JSON object as the time.
    pub fn write(
        &self,
        row: usize,
        clock: &ShownClock,
        label: Option<&Label>,
        line: &mut Vec<u8>,
    ) {
        let time = self.time(row);
        match &self.form {
            RowFormat::Json(start, unit, rows, _) => {
                line.extend_from_slice(start.as_bytes());
                clock.row_time(time, *unit).append(line);
                match label {
                    Some(label) => {
                        line.extend_from_slice(label.json.as_bytes());
                        rows.write_row(row, line);
                        line.push(b'}');
                    }
                    None => {
                        let start = line.len();
                        rows.write_row(row, line);
                        line[start] = b','; // replaces the `{`
                    }
                }
            }
            RowFormat::Text(columns) => {
                let start = line.len();
                let label = label.map_or("", |label| &label.text);
                let _ = write!(line, "{}  {label} ", clock.exact_text(time));
                for (name, values) in columns {
                    line.push(b' ');
                    line.extend_from_slice(name.as_bytes());
                    values.write(row, line);
                }
                escape_from(start, line);
            }
            RowFormat::Message(messages) => {
                let level = self.messages.as_ref();
                let level = level.map_or("", |messages| messages.levels.value(row));
                message_text::write(clock, time, level, messages.value(row), line);
            }
        }
        line.push(b'\n');
    }
}

impl MessageColumns {
    /// Returns the columns of `batch`, if these are log messages.
    fn new(batch: &RecordBatch) -> Option<Self> {
        let (levels, texts) = message_text::columns(batch)?;
        // PX4 has the kind of the message, and ROS the name of the node.
        let source = batch.column_by_name("source").or(batch.column_by_name("name"));
        Some(Self { levels, texts, sources: source.and_then(message_text::strings) })
    }
}

/// Renames columns to the names of their fields. Tables rename a field that has the name of the
/// time column, which is not a column here.
fn with_field_names(batch: RecordBatch) -> Result<RecordBatch> {
    let schema = batch.schema();
    if schema.fields().iter().all(|field| field_name(field) == field.name()) {
        return Ok(batch);
    }
    let rename = |field: &FieldRef| Field::clone(field).with_name(field_name(field));
    let fields: Vec<Field> = schema.fields().iter().map(rename).collect();
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), batch.columns().to_vec())?)
}

/// Returns the name of the field with the values of `column`.
fn field_name(column: &Field) -> &str {
    column.metadata().get(FIELD_NAME_KEY).unwrap_or_else(|| column.name())
}

/// Escapes the characters that act on a terminal in `line`, from byte `start` to the end.
/// JSON escapes only some of them.
fn escape_from(start: usize, line: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(line.get(start..).unwrap_or_default());
    if text.chars().any(is_unprintable) {
        let text = escape_unprintable(&text);
        line.truncate(start);
        line.extend_from_slice(text.as_bytes());
    }
}

/// The name of a topic, prepared for printing.
pub struct Label {
    json: String,
    text: String,
}

impl Label {
    /// Prepares the name `label`; in text it is padded with spaces to `width`.
    pub fn new(label: &str, width: usize) -> Self {
        let quoted = serde_json::Value::from(label);
        Self {
            json: format!(",\"topic\":{quoted},\"data\":"),
            text: format!("{:width$}", escape_unprintable(label)),
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{
        DurationNanosecondArray, FixedSizeListArray, Float32Array, StructArray,
        TimestampNanosecondArray, UInt64Array,
    };
    use logtool_core::{Clock, ClockZero, Manifest};

    use super::*;
    use crate::time::clock::TimeChoice;

    fn lines(rows: &PrintedRows) -> String {
        let clock = Clock { zero: ClockZero::Boot, to_unix: None };
        let manifest = Manifest { clock, ..Manifest::default() };
        let clock = ShownClock::new(&manifest, TimeChoice::Boot).unwrap();
        let (label, mut lines) = (Label::new("imu.1", 6), Vec::new());
        let mut write = |row| rows.write(row, &clock, Some(&label), &mut lines);
        (0..rows.times.len()).for_each(&mut write);
        String::from_utf8(lines).unwrap()
    }

    #[test]
    fn row_is_one_line_of_json_or_text() {
        let times = TimestampNanosecondArray::from(vec![Some(1_500_000_000), None]);
        let columns: [(&str, ArrayRef); 3] = [
            ("timestamp", Arc::new(times)),
            ("big", Arc::new(UInt64Array::from(vec![0, 9_223_372_036_854_775_809]))),
            ("x", Arc::new(Float32Array::from(vec![0.1, f32::NAN]))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        assert_eq!(
            lines(&PrintedRows::json(&batch).unwrap()),
            "{\"timestamp\":1500000000,\"topic\":\"imu.1\",\"data\":\
             {\"big\":0,\"x\":0.1}}\n\
             {\"timestamp\":null,\"topic\":\"imu.1\",\"data\":\
             {\"big\":9223372036854775809,\"x\":null}}\n"
        );
        assert_eq!(
            lines(&PrintedRows::text(&batch).unwrap()),
            "00:00:01.500  imu.1   big=0 x=0.1\n?  imu.1   big=9223372036854775809 x=null\n"
        );
    }

    #[test]
    fn times_in_messages_are_dates_in_text_and_numbers_in_json() {
        let stamp: ArrayRef =
            Arc::new(TimestampNanosecondArray::from(vec![2_000_000_003]));
        let spans =
            DurationNanosecondArray::from(vec![-500_000_000, 3_723_000_000_000]);
        let item = Field::new("item", spans.data_type().clone(), true);
        let spans = FixedSizeListArray::new(item.into(), 2, Arc::new(spans), None);
        let field = Field::new("stamp", stamp.data_type().clone(), true);
        let header = StructArray::from(vec![(Arc::new(field), stamp.clone())]);
        let columns: [(&str, ArrayRef); 3] = [
            ("timestamp", stamp),
            ("header", Arc::new(header)),
            ("spans", Arc::new(spans)),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        assert_eq!(
            lines(&PrintedRows::text(&batch).unwrap()),
            "00:00:02.000000003  imu.1   header={\"stamp\":\"1970-01-01 00:00:02.000000003\"} \
             spans=[\"-00:00:00.500\",\"01:02:03.000\"]\n"
        );
        assert!(
            lines(&PrintedRows::json(&batch).unwrap())
                .contains("{\"stamp\":2000000003}")
        );
    }

    #[test]
    fn control_characters_in_topic_names_are_escaped() {
        assert_eq!(Label::new("/e\u{1b}[31m", 0).text, "/e\\u{1b}[31m");
    }

    #[test]
    fn log_message_is_a_readable_line() {
        let columns: [(&str, ArrayRef); 3] = [
            (
                "timestamp",
                Arc::new(TimestampNanosecondArray::from(vec![62_000_000_000])),
            ),
            ("level", Arc::new(StringArray::from(vec!["warning"]))),
            ("message", Arc::new(StringArray::from(vec!["[ekf2] low\tbattery\u{1b}"]))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let rows = PrintedRows::text(&batch).unwrap();
        assert_eq!(lines(&rows), "[00:01:02.000] WARN   [ekf2] low battery\\u{1b}\n");
    }
}
