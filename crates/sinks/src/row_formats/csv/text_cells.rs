//! The cells of columns of strings, byte strings, labels and nested values.

use arrow_array::{
    Array as _, ArrayRef, GenericStringArray, OffsetSizeTrait, cast::AsArray as _,
};
use arrow_schema::Field;
use logtool_core::Result;

use crate::{
    row_formats::{
        csv::{
            cell::{Cell, FlushText},
            options::{CsvOptions, needs_quotes, push_long_text, push_part, push_text},
        },
        json::{ByteValues, JsonColumn, PIECE_BYTES, byte_values, push_hex},
    },
    text::text_buffer::TextBuffer,
};

/// Cells of strings.
pub(super) struct TextCell<O: OffsetSizeTrait> {
    values: Option<GenericStringArray<O>>,
    options: CsvOptions,
    end: u8,
}

impl<O: OffsetSizeTrait> TextCell<O> {
    /// Creates cells that are followed by `end`.
    pub(super) fn new(options: CsvOptions, end: u8) -> Self {
        Self { values: None, options, end }
    }
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
        flush: FlushText<'_>,
    ) -> Result<()> {
        if let Some(values) = &self.values {
            push_long_text(values.value(row).as_bytes(), self.options, text, flush)?;
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

    fn release_values(&mut self) {
        self.values = None;
    }
}

/// Cells of byte strings, in hexadecimal.
pub(super) struct BytesCell {
    values: Option<Box<dyn ByteValues>>,
    hex: Vec<u8>,
    end: u8,
}

impl BytesCell {
    /// Creates cells that are followed by `end`.
    pub(super) fn new(end: u8) -> Self {
        Self { values: None, hex: Vec::new(), end }
    }

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
        flush: FlushText<'_>,
    ) -> Result<()> {
        for piece in Self::bytes(self.values.as_deref(), row).chunks(PIECE_BYTES / 2) {
            self.hex.clear();
            push_hex(piece, &mut self.hex);
            text.extend(&self.hex);
            if text.as_bytes().len() >= PIECE_BYTES {
                flush(text)?;
            }
        }
        text.push(self.end);
        Ok(())
    }

    fn release_values(&mut self) {
        self.values = None;
    }
}

/// Cells of labels.
pub(super) struct LabelCell {
    /// The labels, formatted as cells.
    cells: Vec<TextBuffer>,
    /// The index of the label of each row.
    keys: Vec<usize>,
    options: CsvOptions,
    end: u8,
}

impl LabelCell {
    /// Creates cells that are followed by `end`.
    pub(super) fn new(options: CsvOptions, end: u8) -> Self {
        Self { cells: Vec::new(), keys: Vec::new(), options, end }
    }
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
        self.keys =
            if names.is_empty() { Vec::new() } else { dictionary.normalized_keys() };
        Ok(())
    }

    fn write(&mut self, row: usize, text: &mut TextBuffer) {
        let cell = self.keys.get(row).and_then(|key| self.cells.get(*key));
        text.extend(cell.map_or(b"", TextBuffer::as_bytes));
        text.push(self.end);
    }

    fn release_values(&mut self) {
        self.keys = Vec::new();
    }
}

/// Cells of all other types: JSON text, or the string itself if the JSON is a string.
pub(super) struct JsonCell {
    field: Field,
    values: Option<JsonColumn>,
    json: Vec<u8>,
    options: CsvOptions,
    end: u8,
}

impl JsonCell {
    /// Creates cells of the column `field` that are followed by `end`.
    pub(super) fn new(field: &Field, options: CsvOptions, end: u8) -> Self {
        Self { field: field.clone(), values: None, json: Vec::new(), options, end }
    }

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
                let options = self.options.without_marks();
                push_text(json, options, text);
            }
        }
    }
}

/// Returns whether the JSON text of the value at index `row`, which is too long to be buffered, must
/// be quoted.
fn long_json_needs_quotes(values: &JsonColumn, row: usize) -> Result<bool> {
    let mut is_found = false;
    let mut rest = Vec::new();
    values.write_in_pieces(row, &mut rest, &mut |json| {
        is_found = is_found || needs_quotes(json);
        json.clear();
        Ok(())
    })?;
    Ok(is_found || needs_quotes(&rest))
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
        flush: FlushText<'_>,
    ) -> Result<()> {
        self.json.clear();
        let mut is_quoted = None;
        if let Some(values) = &self.values {
            values.write_in_pieces(row, &mut self.json, &mut |json| {
                let is_quoted = match is_quoted {
                    Some(is_quoted) => is_quoted,
                    None => {
                        let quotes =
                            needs_quotes(json) || long_json_needs_quotes(values, row)?;
                        if quotes {
                            text.push(b'"');
                        }
                        *is_quoted.insert(quotes)
                    }
                };
                push_part(json, is_quoted, text);
                json.clear();
                flush(text)
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

    fn release_values(&mut self) {
        self.values = None;
    }
}
