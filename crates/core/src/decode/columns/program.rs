//! Programs that find the pieces of payloads whose fields are at variable offsets.
//!
//! A layout with strings and lists is compiled into a few [`Step`]s. Running them on a
//! payload checks every length against the remaining bytes, and records each piece that a
//! leaf needs in the table of that leaf. Nothing else is inspected and no length is
//! trusted, so that the time and memory are proportional to the size of the payload.

use crate::{io::decode_text::TextEncoding, model::layout::TrailingBytes};

/// The index of a table of pieces.
pub(super) type TableIndex = usize;

/// A program that parses the payloads of a layout.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
    /// The number of tables.
    pub(super) table_count: usize,
    pub(super) trailing_bytes: TrailingBytes,
}

/// A step of a program. It records a piece in the table, if there is one.
#[derive(Debug)]
pub(super) enum Step {
    /// A range of fixed size.
    FixedSize { len: u32, table: Option<TableIndex> },
    /// A `u32`, then that many elements of `stride` bytes each. The piece contains the
    /// elements.
    Elements { stride: u32, is_text: bool, table: Option<TableIndex> },
    /// A repeated sequence of steps that takes at least `min_element_len` bytes (1 or more) each
    /// time.
    Repeat { count: RepeatCount, min_element_len: u32, body: Vec<Step> },
}

/// The number of repetitions.
#[derive(Clone, Copy, Debug)]
pub(super) enum RepeatCount {
    /// A constant.
    Fixed(u32),
    /// A preceding `u32`. The piece contains that number.
    Counted { table: Option<TableIndex> },
}

/// The start and the end of a piece in the concatenated payloads.
pub(super) type ByteRange = (u32, u32);

/// The pieces found since the tables were last cleared.
#[derive(Debug, Default)]
pub(super) struct Tables {
    tables: Vec<Vec<ByteRange>>,
    /// The number of pieces in each table before the last payload.
    lengths_before_last: Vec<usize>,
}

/// The number of pieces for which a table keeps its memory.
const MAX_RETAINED_PIECES: usize = 1 << 14;

impl Program {
    /// Finds the pieces of `payload`, whose copy will start at `base`. Returns `None` if
    /// the payload is too short. Then the caller removes its pieces with
    /// [`Tables::remove_last_payload`].
    pub(super) fn parse(
        &self,
        payload: &[u8],
        base: usize,
        tables: &mut Tables,
    ) -> Option<PayloadSummary> {
        tables.lengths_before_last.clear();
        tables.lengths_before_last.extend(tables.tables.iter().map(Vec::len));
        u32::try_from(base.checked_add(payload.len())?).ok()?;
        let mut parser = PayloadParser {
            payload,
            offset: 0,
            base,
            string_bytes: 0,
            text_encoding: TextEncoding::Utf8,
            tables: &mut tables.tables,
        };
        parser.run_steps(&self.steps)?;
        Some(PayloadSummary {
            max_column_bytes: payload.len() as u64 + parser.string_bytes,
            text_encoding: parser.text_encoding,
            fields_len: parser.offset,
        })
    }
}

/// The result of parsing a payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct PayloadSummary {
    /// An upper bound of the size of the payload in columns in bytes: a byte that is not
    /// valid UTF-8 becomes two.
    pub(super) max_column_bytes: u64,
    /// The encoding of its strings: that with the largest defect.
    pub(super) text_encoding: TextEncoding,
    /// The total size of the fields in bytes.
    pub(super) fields_len: usize,
}

struct PayloadParser<'p> {
    payload: &'p [u8],
    /// The offset of the next byte in the payload.
    offset: usize,
    /// The position of the payload in the concatenated payloads.
    base: usize,
    /// The number of bytes in strings.
    string_bytes: u64,
    text_encoding: TextEncoding,
    tables: &'p mut [Vec<ByteRange>],
}

impl PayloadParser<'_> {
    fn run_steps(&mut self, steps: &[Step]) -> Option<()> {
        for step in steps {
            match step {
                Step::FixedSize { len, table } => self.skip(*len as usize, *table)?,
                Step::Elements { stride, is_text, table } => {
                    let count = self.read_count(None)?;
                    let len = u64::from(count) * u64::from(*stride);
                    let start = self.offset;
                    self.skip(usize::try_from(len).ok()?, *table)?;
                    if *is_text {
                        self.string_bytes += len;
                        let text = self.payload.get(start..self.offset)?;
                        let encoding = TextEncoding::detect(text);
                        self.text_encoding = self.text_encoding.max(encoding);
                    }
                }
                Step::Repeat { count, min_element_len, body } => {
                    let count = match count {
                        RepeatCount::Fixed(count) => *count,
                        RepeatCount::Counted { table } => self.read_count(*table)?,
                    };
                    let len = u64::from(count) * u64::from(*min_element_len);
                    if len > (self.payload.len() - self.offset) as u64 {
                        return None;
                    }
                    for _ in 0..count {
                        self.run_steps(body)?;
                    }
                }
            }
        }
        Some(())
    }

    /// Skips `len` bytes and records them in `table`.
    fn skip(&mut self, len: usize, table: Option<TableIndex>) -> Option<()> {
        let end =
            self.offset.checked_add(len).filter(|end| *end <= self.payload.len())?;
        if let Some(table) = table {
            // Cannot overflow, because the end of the payload was checked at the start.
            let piece = ((self.base + self.offset) as u32, (self.base + end) as u32);
            self.tables[table].push(piece);
        }
        self.offset = end;
        Some(())
    }

    /// Reads a `u32` and records its bytes in `table`.
    fn read_count(&mut self, table: Option<TableIndex>) -> Option<u32> {
        let bytes = self.payload.get(self.offset..)?.first_chunk()?;
        self.skip(bytes.len(), table)?;
        Some(u32::from_le_bytes(*bytes))
    }
}

impl Tables {
    /// Creates empty tables for `program`.
    pub(super) fn for_program(program: &Program) -> Self {
        Self { tables: vec![vec![]; program.table_count], lengths_before_last: vec![] }
    }

    /// Returns the pieces in `table`.
    pub(super) fn get(&self, table: TableIndex) -> &[ByteRange] {
        &self.tables[table]
    }

    /// Removes the pieces of the last payload.
    pub(super) fn remove_last_payload(&mut self) {
        for (table, len) in self.tables.iter_mut().zip(&self.lengths_before_last) {
            table.truncate(*len);
        }
    }

    /// Removes all pieces.
    pub(super) fn clear(&mut self) {
        for table in &mut self.tables {
            table.clear();
            table.shrink_to(MAX_RETAINED_PIECES);
        }
    }
}
