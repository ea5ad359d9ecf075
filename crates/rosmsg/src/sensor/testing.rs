//! Help for tests: messages in the encoding of ROS 1 (little-endian and without gaps), and decoded
//! tables as text.

use logtool_core::{Block, Columns, Damage, Decoder, Timestamp, TopicId, View};

/// A message that is being built.
#[derive(Clone, Default)]
pub(crate) struct Message(pub(crate) Vec<u8>);

impl Message {
    /// Starts a message with a header: the sequence number 1, and the frame `base`.
    pub(crate) fn with_header(seconds: u32, nanos: u32) -> Self {
        Self::default().u32(1).u32(seconds).u32(nanos).text("base")
    }

    pub(crate) fn u8(self, value: u8) -> Self {
        self.raw(&[value])
    }

    pub(crate) fn u32(self, value: u32) -> Self {
        self.raw(&value.to_le_bytes())
    }

    pub(crate) fn f32(self, value: f32) -> Self {
        self.raw(&value.to_le_bytes())
    }

    /// Appends a string, or a list of bytes.
    pub(crate) fn text(self, text: impl AsRef<[u8]>) -> Self {
        let text = text.as_ref();
        self.u32(text.len() as u32).raw(text)
    }

    /// Appends a list of floats.
    pub(crate) fn floats(self, floats: &[f32]) -> Self {
        let message = self.u32(floats.len() as u32);
        floats.iter().fold(message, |message, float| message.f32(*float))
    }

    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }
}

/// Returns the rows that `decoder` decodes from `payloads`, recorded at 100 s, and the number of
/// records in the damage that it reports.
pub(crate) fn decode(
    mut decoder: impl Decoder,
    payloads: &[&[u8]],
) -> (arrow_array::RecordBatch, u64) {
    let (mut block, mut damage) = (Block::default(), Vec::<Damage>::new());
    block.reset(payloads.concat().into(), 0);
    let mut start = 0;
    for payload in payloads {
        let time = Timestamp::from_nanos(100_000_000_000);
        block.push(TopicId(0), time, start..start + payload.len());
        start += payload.len();
    }
    block.runs().for_each(|run| decoder.append(run, &mut damage));
    let damaged_records = damage.iter().map(|damage| damage.records).sum();
    (decoder.take().unwrap(), damaged_records)
}

/// Formats each row of the table as a line, without the time of the record.
pub(crate) fn rows(batch: &arrow_array::RecordBatch) -> Vec<String> {
    let cell = |column: &arrow_array::ArrayRef, row| match column.is_null(row) {
        true => "-".to_owned(),
        false => {
            use arrow_array::{cast::AsArray as _, types::*};
            macro_rules! number {
                ($($arrow:ty),*) => {
                    $(if let Some(array) = column.as_primitive_opt::<$arrow>() {
                        return array.value(row).to_string();
                    })*
                };
            }
            number!(
                Int8Type,
                UInt8Type,
                Int16Type,
                UInt16Type,
                Int32Type,
                UInt32Type,
                Float32Type,
                Float64Type,
                TimestampNanosecondType
            );
            let list = column.as_fixed_size_list().value(row);
            let list = list.as_primitive::<Float32Type>();
            format!("{:?}", list.values().to_vec())
        }
    };
    let row = |row| -> String {
        let cells: Vec<String> =
            batch.columns().iter().skip(1).map(|column| cell(column, row)).collect();
        cells.join(" ")
    };
    (0..batch.num_rows()).map(row).collect()
}

/// Returns the names of the columns.
pub(crate) fn names(batch: &arrow_array::RecordBatch) -> String {
    let schema = batch.schema();
    let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    names.join(" ")
}

pub(crate) fn nested_columns() -> Columns {
    Columns::new(View::Nested)
}
