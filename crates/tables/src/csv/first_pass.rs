//! The first pass over a CSV file, which determines the types of the columns, the parts and the
//! times.

use std::sync::Arc;

use logtool_core::{
    Block, Damage, Error, ErrorKind, LogAccess, Manifest, OpenOptions, Part, Result,
    Selection, Source, TimeRange, Topic, TopicSet, decode_text,
};
use serde::{Deserialize, Serialize};

use crate::{
    column_names::unique_names,
    csv::{
        cell_type::CellType,
        columns::{self, CsvColumn},
        cursor::{RowCursor, RowLayout},
        header::{self, Header},
        row_parser::{ParsedRow, RowParser},
    },
    time_column::{
        self, TimeColumn, TimeColumnChoice, TimeUnit, cell_nanos, unit_of,
        without_time_column,
    },
};

/// The name of the format in manifests.
pub(super) const NAME: &str = "csv";

/// The minimum length of a part.
const PART_BYTES: u64 = 1 << 20;

/// The maximum number of bytes that are searched for the first row.
const FIRST_ROW_BYTES: u64 = 16 << 20;

/// The private state of the format.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CsvState {
    pub(super) delimiter: u8,
    /// The number of cells of a row.
    pub(super) cells: usize,
    pub(super) columns: Vec<CsvColumn>,
    pub(super) time: TimeColumn,
    /// The start offset of each part, and its first line number.
    lines: Vec<(u64, u64)>,
}

impl CsvState {
    pub(super) fn layout(&self) -> RowLayout {
        RowLayout {
            delimiter: self.delimiter,
            cells: self.cells,
            time: (self.time.index, self.time.unit),
        }
    }

    /// Returns the line number of the row at `offset`, which is the start of a part.
    pub(super) fn line_at(&self, offset: u64) -> u64 {
        let next = self.lines.partition_point(|(start, _)| *start <= offset);
        let entry = next.checked_sub(1).and_then(|index| self.lines.get(index));
        entry.map_or(1, |(_, line)| *line)
    }
}

/// Reads `source` once, and returns its manifest with a topic called `topic`.
///
/// # Errors
/// `Unsupported` if no column contains times; errors of [`header::read`]; errors of the source.
pub(super) fn manifest(
    source: &Arc<dyn Source>,
    topic: &str,
    choice: Option<&TimeColumnChoice>,
    options: OpenOptions,
) -> Result<Manifest> {
    let header = header::read(&**source, options)?;
    let time = time_column(&**source, &header, choice)?;
    let cells = header.names.len();
    let mut state = CsvState {
        delimiter: header.delimiter,
        cells,
        columns: Vec::new(),
        time,
        lines: Vec::new(),
    };
    let header_bytes = source.read_at(0..header.end)?;
    let line = 1 + header_bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    let mut pass = FirstPass::new(cells, (header.end, line));
    let bytes = header.end..source.len();
    let layout = state.layout();
    let everything = Selection::default();
    let mut cursor =
        RowCursor::new((source.clone(), bytes), line, layout, everything, options);
    pass.read(&mut cursor)?;

    let kinds = pass.kinds.iter().map(|(kind, _)| *kind).enumerate();
    let names = header.names.iter().zip(kinds);
    let columns: Vec<_> =
        names.filter(|(_, (index, _))| *index != state.time.index).collect();
    let unique = unique_names(columns.iter().map(|(name, _)| name.as_str()));
    let columns = columns.iter().zip(unique);
    let columns = columns.map(|((_, (cell, kind)), name)| CsvColumn {
        name,
        cell: *cell,
        kind: *kind,
    });
    state.columns = columns.collect();
    columns::join_array_types(&mut state.columns);
    state.lines = std::mem::take(&mut pass.lines);

    let mut remarks = vec![state.time.to_string()];
    remarks.extend(pass.mixed_types(&header.names, state.time.index));
    if cursor.is_unterminated() && pass.records > 0 {
        let text = "the last row has no end of its line: if the file was cut there, the last \
                    cell may be incomplete";
        remarks.push(text.to_owned());
    }
    let time = (!pass.time.is_empty()).then_some(pass.time);
    let schema = columns::nested_schema(&state.columns);
    Ok(Manifest {
        format: NAME.to_owned(),
        bytes: source.len(),
        access: LogAccess::Scanned,
        topics: vec![Topic {
            encoding: NAME.to_owned(),
            records: Some(pass.records),
            bytes: Some(pass.bytes),
            time,
            ..Topic::new(topic, schema)
        }],
        parts: pass.parts,
        clock: state.time.clock(time),
        time,
        damage: pass.damage,
        remarks,
        format_state: Manifest::encode_state(&state)?,
        ..Manifest::default()
    })
}

/// Returns the time column: the chosen column, or the first column with a known name and a time in
/// the first row, or the first column with a date and a time in the first row.
fn time_column(
    source: &dyn Source,
    header: &Header,
    choice: Option<&TimeColumnChoice>,
) -> Result<TimeColumn> {
    let names = &header.names;
    let row = first_row(source, header)?;
    let cell = |index: usize| row.cell(index).filter(|cell| !cell.is_empty());
    let column = |index: usize, unit: TimeUnit| {
        let name = names.get(index).cloned().unwrap_or_default();
        TimeColumn { index, name, unit, is_utc: false }
    };
    let is_iso = |index: usize| {
        cell(index).is_some_and(|cell| cell_nanos(cell, TimeUnit::Iso8601).is_some())
    };
    let number = |index: usize| str::from_utf8(cell(index)?).ok()?.trim().parse().ok();
    let detect = |index: usize, default_unit: TimeUnit| -> Option<TimeColumn> {
        if is_iso(index) {
            return Some(column(index, TimeUnit::Iso8601));
        }
        number(index).map(|first: f64| column(index, unit_of(default_unit, first)))
    };
    if let Some(choice) = choice {
        let (index, unit) = time_column::find_chosen_column(choice, names)?;
        let detected = || detect(index, unit.unwrap_or(TimeUnit::Seconds));
        let has_unit = choice.unit.is_some();
        let chosen = unit.filter(|_| has_unit).map(|unit| column(index, unit));
        return chosen.or_else(detected).ok_or_else(|| {
            let message = format!("the first row has no time in `{}`", choice.name);
            Error::new(ErrorKind::Unsupported, message)
        });
    }
    let candidates = time_column::candidates(names);
    // Without rows, the first column with a known name is used.
    let is_empty = row.cells() == 0;
    let named_column = candidates.iter().find_map(|(index, unit)| {
        if is_empty { Some(column(*index, *unit)) } else { detect(*index, *unit) }
    });
    named_column
        .or_else(|| {
            let index = (0..names.len()).find(|index| is_iso(*index))?;
            Some(column(index, TimeUnit::Iso8601))
        })
        .ok_or_else(|| without_time_column(names))
}

/// Returns a parser with the cells of the first row. A table without rows has no cells.
fn first_row(source: &dyn Source, header: &Header) -> Result<RowParser> {
    let mut read_len = 64 << 10;
    loop {
        let end = (header.end + read_len).min(source.len());
        let bytes = source.read_at(header.end..end)?;
        let mut parser = RowParser::new(header.delimiter);
        let is_end = end == source.len() || read_len >= FIRST_ROW_BYTES;
        match parser.parse(&bytes, is_end) {
            ParsedRow::Partial => read_len *= 2,
            ParsedRow::Row { .. } => return Ok(parser),
            ParsedRow::Blank if !is_end => read_len *= 2,
            _ => return Ok(RowParser::new(header.delimiter)),
        }
    }
}

/// The results of the first pass.
struct FirstPass {
    /// The type of each column, and the cell that made it text, if there is one.
    kinds: Vec<(CellType, Option<MismatchedCell>)>,
    records: u64,
    bytes: u64,
    time: TimeRange,
    damage: Vec<Damage>,
    parts: Vec<Part>,
    lines: Vec<(u64, u64)>,
    /// The times of the part that is being read.
    part_time: TimeRange,
    /// The start of the part that is being read, and its line.
    part_start: (u64, u64),
}

/// A cell whose type does not match the preceding cells of its column.
struct MismatchedCell {
    line: u64,
    cell: String,
}

impl FirstPass {
    fn new(cells: usize, start: (u64, u64)) -> Self {
        Self {
            kinds: (0..cells).map(|_| (CellType::Empty, None)).collect(),
            records: 0,
            bytes: 0,
            time: TimeRange::EMPTY,
            damage: Vec::new(),
            parts: Vec::new(),
            lines: Vec::new(),
            part_time: TimeRange::EMPTY,
            part_start: start,
        }
    }

    fn read(&mut self, cursor: &mut RowCursor) -> Result<()> {
        let mut block = Block::default();
        loop {
            let kinds = &mut self.kinds;
            let is_filled = cursor
                .fill_with(&mut block, |row, line| update_types(kinds, row, line))?;
            if !is_filled {
                break;
            }
            for damage in block.damage() {
                damage.clone().add_to(&mut self.damage);
            }
            for record in block.iter() {
                self.records += 1;
                self.bytes += record.payload.len() as u64;
                let time = TimeRange::from_timestamp(record.time);
                self.part_time = self.part_time.cover(&time);
            }
            let position = cursor.position();
            if position.0 - self.part_start.0 >= PART_BYTES {
                self.end_part(position);
            }
        }
        let position = cursor.position();
        if position.0 > self.part_start.0 {
            self.end_part(position);
        }
        Ok(())
    }

    /// Ends the current part at `position`: an offset and a line number, at which the next part
    /// starts.
    fn end_part(&mut self, position: (u64, u64)) {
        let (start, _) = self.part_start;
        let time = std::mem::replace(&mut self.part_time, TimeRange::EMPTY);
        self.parts.push(Part { bytes: start..position.0, topics: TopicSet::All, time });
        self.lines.push(self.part_start);
        self.part_start = position;
        self.time = self.time.cover(&time);
    }

    /// Returns a remark for each column that became text because of a single cell.
    fn mixed_types(&self, names: &[String], time: usize) -> Vec<String> {
        const MAX_REMARKS: usize = 20;
        let columns = names.iter().zip(&self.kinds).enumerate();
        let mixed = columns.filter(|(index, _)| *index != time);
        let mixed = mixed.filter_map(|(_, (name, (_, mismatch)))| {
            let MismatchedCell { line, cell } = mismatch.as_ref()?;
            let text = format!(
                "the column `{name}` is text, because `{cell}` in line {line} does not have the \
                 type of the cells before it"
            );
            Some(text)
        });
        mixed.take(MAX_REMARKS).collect()
    }
}

/// Widens the types of the columns so that they can represent the cells of `row`.
fn update_types(
    kinds: &mut [(CellType, Option<MismatchedCell>)],
    row: &RowParser,
    line: u64,
) {
    const MAX_CHARS: usize = 40;
    for (index, (kind, mismatch)) in kinds.iter_mut().enumerate() {
        if *kind == CellType::Text {
            continue;
        }
        let cell = row.cell(index).unwrap_or_default();
        let common = kind.join(CellType::detect(cell));
        if common == CellType::Text && *kind != CellType::Empty {
            let cell = decode_text(cell).trim().chars().take(MAX_CHARS).collect();
            *mismatch = Some(MismatchedCell { line, cell });
        }
        *kind = common;
    }
}
