//! The cells of a column.
//!
//! Most values of a column are equal to the previous value. So a cell remembers the last number and
//! the location of its text, which is then copied.

use std::ops::Range;

use arrow_array::{
    Array as _, ArrayRef, GenericStringArray, OffsetSizeTrait, cast::AsArray as _,
    types::*,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field};
use logtool_core::Result;

use crate::{
    CsvOptions,
    clock::{TimeForm, iso_second, nanos},
    json::{ByteValues, JsonColumn, PIECE_BYTES, byte_values, push_hex},
    number::Number,
    number_format::NumberBuffer,
    text_buffer::TextBuffer,
};

/// Accepts the text so far and clears it.
pub(super) type PassOnText<'a> = &'a mut dyn FnMut(&mut TextBuffer) -> Result<()>;

/// Writes the cells of one column, row by row.
pub(super) trait Cell: Send {
    /// Sets the values of the next batch, which always have the type of the column.
    fn load(&mut self, column: &ArrayRef) -> Result<()>;

    /// Appends the cell of the row at index `row`, which must not be null, and the delimiter after
    /// it.
    fn write(&mut self, row: usize, text: &mut TextBuffer);

    /// Returns whether one cell can be longer than [`PIECE_BYTES`].
    fn can_be_long(&self) -> bool {
        false
    }

    /// Like [`write`](Self::write), but calls `pass_on` whenever `text` is long. `pass_on`
    /// takes the text and clears it.
    fn write_in_pieces(
        &mut self,
        row: usize,
        text: &mut TextBuffer,
        _pass_on: PassOnText<'_>,
    ) -> Result<()> {
        self.write(row, text);
        Ok(())
    }

    /// Forgets where earlier cells are, because the text so far was cleared.
    fn forget(&mut self) {}

    /// Releases the values.
    fn unload(&mut self);
}

/// Creates the cells of the column `field`, each followed by `end`.
pub(super) fn cell_for(field: &Field, options: CsvOptions, end: u8) -> Box<dyn Cell> {
    macro_rules! number {
        ($type:ty) => {
            Box::new(NumberCell::<$type>::new(end))
        };
    }
    match field.data_type() {
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float32 => number!(Float32Type),
        DataType::Float64 => number!(Float64Type),
        DataType::Boolean => {
            Box::new(BoolCell { values: BooleanBuffer::new_unset(0), end })
        }
        DataType::Utf8 => Box::new(TextCell::<i32> { values: None, options, end }),
        DataType::LargeUtf8 => Box::new(TextCell::<i64> { values: None, options, end }),
        DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) => {
            Box::new(BytesCell { values: None, hex: Vec::new(), end })
        }
        DataType::Dictionary(_, names) if **names == DataType::Utf8 => {
            Box::new(LabelCell { cells: Vec::new(), keys: Vec::new(), options, end })
        }
        _ => match TimeForm::for_field(field) {
            Some(form) => Box::new(TimeCell::new(form, end)),
            None => Box::new(JsonCell {
                field: field.clone(),
                values: None,
                json: Vec::new(),
                options,
                end,
            }),
        },
    }
}

/// Appends `cell` to `text`, in quotes if it contains something that would end it.
pub(super) fn push_text(cell: &[u8], options: CsvOptions, text: &mut TextBuffer) {
    let is_quoted = needs_quotes(cell, options);
    push_start(cell, options, is_quoted, text);
    push_part(cell, is_quoted, text);
    if is_quoted {
        text.push(b'"');
    }
}

/// Like [`push_text`], but calls `pass_on` whenever `text` is long.
fn push_long_text(
    cell: &[u8],
    options: CsvOptions,
    text: &mut TextBuffer,
    pass_on: PassOnText<'_>,
) -> Result<()> {
    let is_quoted = needs_quotes(cell, options);
    push_start(cell, options, is_quoted, text);
    for piece in cell.chunks(PIECE_BYTES) {
        push_part(piece, is_quoted, text);
        if text.as_bytes().len() >= PIECE_BYTES {
            pass_on(text)?;
        }
    }
    if is_quoted {
        text.push(b'"');
    }
    Ok(())
}

/// Returns whether `cell` contains something that would end the cell.
fn needs_quotes(cell: &[u8], options: CsvOptions) -> bool {
    let ends =
        |byte: &u8| matches!(byte, b'"' | b'\r' | b'\n') || *byte == options.delimiter;
    cell.iter().any(ends)
}

/// Appends the start of `cell`: a quote and the mark of a formula, if needed.
fn push_start(
    cell: &[u8],
    options: CsvOptions,
    is_quoted: bool,
    text: &mut TextBuffer,
) {
    if is_quoted {
        text.push(b'"');
    }
    if options.is_safe && is_formula(cell) {
        text.push(b'\'');
    }
}

/// Appends a part of the content of a cell, with its quotes doubled if the cell is quoted.
fn push_part(part: &[u8], is_quoted: bool, text: &mut TextBuffer) {
    if !is_quoted {
        return text.extend(part);
    }
    for (i, unquoted) in part.split(|byte| *byte == b'"').enumerate() {
        if i > 0 {
            text.extend(b"\"\"");
        }
        text.extend(unquoted);
    }
}

/// Returns whether a spreadsheet would evaluate the string `cell` as a formula, after OWASP's list
/// and the full-width characters that some spreadsheets treat alike.
fn is_formula(cell: &[u8]) -> bool {
    const STARTS: [&str; 11] = [
        "=", "+", "-", "@", "\t", "\r", "\n", "\u{ff1d}", "\u{ff0b}", "\u{ff0d}",
        "\u{ff20}",
    ];
    STARTS.iter().any(|start| cell.starts_with(start.as_bytes()))
}

struct NumberCell<T: ArrowPrimitiveType> {
    values: ScalarBuffer<T::Native>,
    /// The last number, and the location of its text.
    last: Option<(T::Native, Range<usize>)>,
    end: u8,
}

impl<T: ArrowPrimitiveType> NumberCell<T> {
    fn new(end: u8) -> Self {
        Self { values: ScalarBuffer::from(Vec::new()), last: None, end }
    }
}

impl<T: ArrowPrimitiveType<Native: Number + ArrowNativeType>> Cell for NumberCell<T> {
    fn load(&mut self, column: &ArrayRef) -> Result<()> {
        self.values = column.as_primitive::<T>().values().clone();
        Ok(())
    }

    fn write(&mut self, row: usize, text: &mut TextBuffer) {
        let value = self.values[row];
        match &self.last {
            Some((last, range)) if last.is_same(value) => text.repeat(range),
            _ => {
                let range = text.put(self.end, |place| value.put(place));
                self.last = Some((value, range));
            }
        }
    }

    fn forget(&mut self) {
        self.last = None;
    }

    fn unload(&mut self) {
        self.values = ScalarBuffer::from(Vec::new());
    }
}

struct BoolCell {
    values: BooleanBuffer,
    end: u8,
}

impl Cell for BoolCell {
    fn load(&mut self, column: &ArrayRef) -> Result<()> {
        self.values = column.as_boolean().values().clone();
        Ok(())
    }

    fn write(&mut self, row: usize, text: &mut TextBuffer) {
        let is_true = self.values.value(row);
        text.put(self.end, |place| {
            let (word, len) = if is_true { (b"true ", 4) } else { (b"false", 5) };
            place[..5].copy_from_slice(word);
            len
        });
    }

    fn unload(&mut self) {
        self.values = BooleanBuffer::new_unset(0);
    }
}

struct TimeCell {
    form: TimeForm,
    values: ScalarBuffer<i64>,
    /// The last second that was formatted as a date, and its text.
    second: (i64, [u8; 19]),
    end: u8,
}

impl TimeCell {
    fn new(form: TimeForm, end: u8) -> Self {
        let values = ScalarBuffer::from(Vec::new());
        Self { form, values, second: (0, iso_second(0)), end }
    }

    /// Formats the time as ISO 8601 with `digits` digits after the decimal point.
    fn write_iso(
        &mut self,
        nanos: i64,
        digits: usize,
        place: &mut NumberBuffer,
    ) -> usize {
        let second = nanos.div_euclid(1_000_000_000);
        if self.second.0 != second {
            self.second = (second, iso_second(second));
        }
        place[..19].copy_from_slice(&self.second.1);
        place[19] = b'.';
        let mut fraction = nanos.rem_euclid(1_000_000_000);
        for digit in place[20..29].iter_mut().rev() {
            *digit = b'0' + (fraction % 10) as u8;
            fraction /= 10;
        }
        let len = if digits == 0 { 19 } else { 20 + digits.min(9) };
        place[len] = b'Z';
        len + 1
    }
}

impl Cell for TimeCell {
    fn load(&mut self, column: &ArrayRef) -> Result<()> {
        self.values = nanos(column).unwrap_or_else(|| ScalarBuffer::from(Vec::new()));
        Ok(())
    }

    fn write(&mut self, row: usize, text: &mut TextBuffer) {
        let nanos = self.values[row];
        let end = self.end;
        text.put(end, |place| match self.form {
            TimeForm::Number { divisor } => nanos.div_euclid(divisor).put(place),
            TimeForm::Iso { digits } => self.write_iso(nanos, digits, place),
        });
    }

    fn unload(&mut self) {
        self.values = ScalarBuffer::from(Vec::new());
    }
}

struct TextCell<O: OffsetSizeTrait> {
    values: Option<GenericStringArray<O>>,
    options: CsvOptions,
    end: u8,
}

impl<O: OffsetSizeTrait> Cell for TextCell<O> {
    fn load(&mut self, column: &ArrayRef) -> Result<()> {
        self.values = Some(column.as_string::<O>().clone());
        Ok(())
    }

    fn can_be_long(&self) -> bool {
        true
    }

    fn write_in_pieces(
        &mut self,
        row: usize,
        text: &mut TextBuffer,
        pass_on: PassOnText<'_>,
    ) -> Result<()> {
        if let Some(values) = &self.values {
            push_long_text(values.value(row).as_bytes(), self.options, text, pass_on)?;
        }
        text.push(self.end);
        Ok(())
    }

    fn write(&mut self, row: usize, text: &mut TextBuffer) {
        if let Some(values) = &self.values {
            push_text(values.value(row).as_bytes(), self.options, text);
        }
        text.push(self.end);
    }

    fn unload(&mut self) {
        self.values = None;
    }
}

/// Cells of byte strings, in hexadecimal.
struct BytesCell {
    values: Option<Box<dyn ByteValues>>,
    hex: Vec<u8>,
    end: u8,
}

impl BytesCell {
    fn bytes(values: Option<&dyn ByteValues>, row: usize) -> &[u8] {
        values.and_then(|values| values.get(row)).unwrap_or_default()
    }
}

impl Cell for BytesCell {
    fn load(&mut self, column: &ArrayRef) -> Result<()> {
        self.values = byte_values(column);
        Ok(())
    }

    fn write(&mut self, row: usize, text: &mut TextBuffer) {
        self.hex.clear();
        push_hex(Self::bytes(self.values.as_deref(), row), &mut self.hex);
        text.extend(&self.hex);
        text.push(self.end);
    }

    fn can_be_long(&self) -> bool {
        true
    }

    fn write_in_pieces(
        &mut self,
        row: usize,
        text: &mut TextBuffer,
        pass_on: PassOnText<'_>,
    ) -> Result<()> {
        for piece in Self::bytes(self.values.as_deref(), row).chunks(PIECE_BYTES / 2) {
            self.hex.clear();
            push_hex(piece, &mut self.hex);
            text.extend(&self.hex);
            if text.as_bytes().len() >= PIECE_BYTES {
                pass_on(text)?;
            }
        }
        text.push(self.end);
        Ok(())
    }

    fn unload(&mut self) {
        self.values = None;
    }
}

/// Cells of labels.
struct LabelCell {
    /// The labels, formatted as cells.
    cells: Vec<TextBuffer>,
    /// The index of the label of each row.
    keys: Vec<usize>,
    options: CsvOptions,
    end: u8,
}

impl Cell for LabelCell {
    fn load(&mut self, column: &ArrayRef) -> Result<()> {
        let dictionary = column.as_any_dictionary();
        let names = dictionary.values().as_string::<i32>();
        self.cells.clear();
        for name in names.iter().map(Option::unwrap_or_default) {
            let mut cell = TextBuffer::default();
            push_text(name.as_bytes(), self.options, &mut cell);
            self.cells.push(cell);
        }
        // Without labels all rows are null, and the keys are not used.
        self.keys = match names.is_empty() {
            true => Vec::new(),
            false => dictionary.normalized_keys(),
        };
        Ok(())
    }

    fn write(&mut self, row: usize, text: &mut TextBuffer) {
        let cell = self.keys.get(row).and_then(|key| self.cells.get(*key));
        text.extend(cell.map_or(b"", TextBuffer::as_bytes));
        text.push(self.end);
    }

    fn unload(&mut self) {
        self.keys = Vec::new();
    }
}

/// Cells of all other types: JSON text, or the string itself if the JSON is a string.
struct JsonCell {
    field: Field,
    values: Option<JsonColumn>,
    json: Vec<u8>,
    options: CsvOptions,
    end: u8,
}

impl JsonCell {
    /// Appends the JSON text as a cell.
    fn push_json(&self, text: &mut TextBuffer) {
        match self.json.as_slice() {
            b"null" => {}
            [b'"', ..] => {
                let string = serde_json::from_slice::<String>(&self.json);
                let string = string.unwrap_or_default();
                push_text(string.as_bytes(), self.options, text);
            }
            // JSON that starts with a minus is a number.
            json => {
                let options = CsvOptions { is_safe: false, ..self.options };
                push_text(json, options, text);
            }
        }
    }
}

/// Returns whether the JSON text of the value at index `row`, which is too long to be buffered, must
/// be quoted.
fn long_json_needs_quotes(
    values: &JsonColumn,
    row: usize,
    options: CsvOptions,
) -> Result<bool> {
    let mut is_found = false;
    let mut rest = Vec::new();
    values.write_in_pieces(row, &mut rest, &mut |json| {
        is_found = is_found || needs_quotes(json, options);
        json.clear();
        Ok(())
    })?;
    Ok(is_found || needs_quotes(&rest, options))
}

impl Cell for JsonCell {
    fn load(&mut self, column: &ArrayRef) -> Result<()> {
        self.values = Some(JsonColumn::new(&self.field, column)?);
        Ok(())
    }

    fn write(&mut self, row: usize, text: &mut TextBuffer) {
        self.json.clear();
        if let Some(values) = &self.values {
            values.write(row, &mut self.json);
        }
        self.push_json(text);
        text.push(self.end);
    }

    fn can_be_long(&self) -> bool {
        true
    }

    fn write_in_pieces(
        &mut self,
        row: usize,
        text: &mut TextBuffer,
        pass_on: PassOnText<'_>,
    ) -> Result<()> {
        self.json.clear();
        let mut is_quoted = None;
        if let Some(values) = &self.values {
            let options = self.options;
            values.write_in_pieces(row, &mut self.json, &mut |json| {
                let is_quoted = match is_quoted {
                    Some(is_quoted) => is_quoted,
                    None => {
                        let quotes = needs_quotes(json, options)
                            || long_json_needs_quotes(values, row, options)?;
                        if quotes {
                            text.push(b'"');
                        }
                        *is_quoted.insert(quotes)
                    }
                };
                push_part(json, is_quoted, text);
                json.clear();
                pass_on(text)
            })?;
        }
        match is_quoted {
            None => self.push_json(text),
            Some(is_quoted) => {
                push_part(&self.json, is_quoted, text);
                if is_quoted {
                    text.push(b'"');
                }
            }
        }
        text.push(self.end);
        Ok(())
    }

    fn unload(&mut self) {
        self.values = None;
    }
}
