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
            options::{
                CsvOptions, append_cell, append_long_cell, append_part, needs_quotes,
            },
        },
        json::{ByteValues, FLUSH_BYTES, JsonColumn, append_hex, byte_values},
    },
    text::text_buffer::TextBuffer,
};

/// Cells of strings.
pub(super) struct TextCell<O: OffsetSizeTrait> {
    values: Option<GenericStringArray<O>>,
    options: CsvOptions,
    delimiter: u8,
}

impl<O: OffsetSizeTrait> TextCell<O> {
    /// Creates cells that are followed by `delimiter`.
    pub(super) fn new(options: CsvOptions, delimiter: u8) -> Self {
        Self { values: None, options, delimiter }
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

    fn write_in_chunks(
        &mut self,
        row: usize,
        text: &mut TextBuffer,
        flush: FlushText<'_>,
    ) -> Result<()> {
        if let Some(values) = &self.values {
            append_long_cell(values.value(row).as_bytes(), self.options, text, flush)?;
        }
        text.push(self.delimiter);
        Ok(())
    }

    fn write(&mut self, row: usize, text: &mut TextBuffer) {
        if let Some(values) = &self.values {
            append_cell(values.value(row).as_bytes(), self.options, text);
        }
        text.push(self.delimiter);
    }

    fn release_values(&mut self) {
        self.values = None;
    }
}

/// Cells of byte strings, in hexadecimal.
pub(super) struct BytesCell {
    values: Option<Box<dyn ByteValues>>,
    hex: Vec<u8>,
    delimiter: u8,
}

impl BytesCell {
    /// Creates cells that are followed by `delimiter`.
    pub(super) fn new(delimiter: u8) -> Self {
        Self { values: None, hex: Vec::new(), delimiter }
    }

    /// Returns the value at index `row`; an empty value without such a row.
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
        append_hex(Self::bytes(self.values.as_deref(), row), &mut self.hex);
        text.append(&self.hex);
        text.push(self.delimiter);
    }

    fn can_be_long(&self) -> bool {
        true
    }

    fn write_in_chunks(
        &mut self,
        row: usize,
        text: &mut TextBuffer,
        flush: FlushText<'_>,
    ) -> Result<()> {
        for chunk in Self::bytes(self.values.as_deref(), row).chunks(FLUSH_BYTES / 2) {
            self.hex.clear();
            append_hex(chunk, &mut self.hex);
            text.append(&self.hex);
            if text.as_bytes().len() >= FLUSH_BYTES {
                flush(text)?;
            }
        }
        text.push(self.delimiter);
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
    delimiter: u8,
}

impl LabelCell {
    /// Creates cells that are followed by `delimiter`.
    pub(super) fn new(options: CsvOptions, delimiter: u8) -> Self {
        Self { cells: Vec::new(), keys: Vec::new(), options, delimiter }
    }
}

impl Cell for LabelCell {
    fn load(&mut self, column: &ArrayRef) -> Result<()> {
        let dictionary = column.as_any_dictionary();
        let names = dictionary.values().as_string::<i32>();
        self.cells.clear();
        for name in names.iter().map(Option::unwrap_or_default) {
            let mut cell = TextBuffer::default();
            append_cell(name.as_bytes(), self.options, &mut cell);
            self.cells.push(cell);
        }
        // Without labels all rows are null, and the keys are not used.
        self.keys =
            if names.is_empty() { Vec::new() } else { dictionary.normalized_keys() };
        Ok(())
    }

    fn write(&mut self, row: usize, text: &mut TextBuffer) {
        let cell = self.keys.get(row).and_then(|key| self.cells.get(*key));
        text.append(cell.map_or(b"", TextBuffer::as_bytes));
        text.push(self.delimiter);
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
    delimiter: u8,
}

impl JsonCell {
    /// Creates cells of the column `field` that are followed by `delimiter`.
    pub(super) fn new(field: &Field, options: CsvOptions, delimiter: u8) -> Self {
        Self {
            field: field.clone(),
            values: None,
            json: Vec::new(),
            options,
            delimiter,
        }
    }

    /// Appends the text in `json` as a cell.
    fn append_json(&self, text: &mut TextBuffer) {
        match self.json.as_slice() {
            b"null" => {}
            [b'"', ..] => {
                let string: String =
                    serde_json::from_slice(&self.json).unwrap_or_default();
                append_cell(string.as_bytes(), self.options, text);
            }
            // JSON that starts with a minus is a number.
            json => {
                let options = self.options.without_marked_formulas();
                append_cell(json, options, text);
            }
        }
    }
}

/// Returns whether the JSON text of the value at index `row`, which is too long to be buffered,
/// must be quoted.
fn long_json_needs_quotes(values: &JsonColumn, row: usize) -> Result<bool> {
    let mut is_quoted = false;
    let mut last_chunk = Vec::new();
    values.write_in_chunks(row, &mut last_chunk, &mut |chunk| {
        is_quoted = is_quoted || needs_quotes(chunk);
        chunk.clear();
        Ok(())
    })?;
    Ok(is_quoted || needs_quotes(&last_chunk))
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
        self.append_json(text);
        text.push(self.delimiter);
    }

    fn can_be_long(&self) -> bool {
        true
    }

    fn write_in_chunks(
        &mut self,
        row: usize,
        text: &mut TextBuffer,
        flush: FlushText<'_>,
    ) -> Result<()> {
        self.json.clear();
        // `None` until the first chunk is flushed. Whether the cell is quoted depends on all of its
        // text, so the value is formatted twice if it is long.
        let mut long_cell_is_quoted = None;
        if let Some(values) = &self.values {
            values.write_in_chunks(row, &mut self.json, &mut |chunk| {
                let is_quoted = match long_cell_is_quoted {
                    Some(is_quoted) => is_quoted,
                    None => {
                        let is_quoted =
                            needs_quotes(chunk) || long_json_needs_quotes(values, row)?;
                        if is_quoted {
                            text.push(b'"');
                        }
                        *long_cell_is_quoted.insert(is_quoted)
                    }
                };
                append_part(chunk, is_quoted, text);
                chunk.clear();
                flush(text)
            })?;
        }
        match long_cell_is_quoted {
            None => self.append_json(text),
            Some(is_quoted) => {
                append_part(&self.json, is_quoted, text);
                if is_quoted {
                    text.push(b'"');
                }
            }
        }
        text.push(self.delimiter);
        Ok(())
    }

    fn release_values(&mut self) {
        self.values = None;
    }
}
