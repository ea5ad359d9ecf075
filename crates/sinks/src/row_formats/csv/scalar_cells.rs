//! The cells of columns of numbers, booleans and times.

use std::ops::Range;

use arrow_array::{ArrayRef, cast::AsArray as _, types::*};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, ScalarBuffer};
use logtool_core::Result;

use crate::{
    row_formats::csv::cell::Cell,
    text::{
        number::{Number, SpecialFloats},
        number_format::NumberBuffer,
        text_buffer::TextBuffer,
        time_text::{TimeFormat, iso_second, nanos},
    },
};

/// Cells of numbers.
///
/// Most values of a column are equal to the previous value. Then the text of the previous value is
/// copied, which is faster than formatting it again.
pub(super) struct NumberCell<T: ArrowPrimitiveType> {
    values: ScalarBuffer<T::Native>,
    /// The previous number, and the range of its text in the text buffer.
    previous: Option<(T::Native, Range<usize>)>,
    specials: &'static SpecialFloats,
    delimiter: u8,
}

impl<T: ArrowPrimitiveType> NumberCell<T> {
    /// Creates cells that are followed by `delimiter`.
    pub(super) fn new(specials: &'static SpecialFloats, delimiter: u8) -> Self {
        let values = ScalarBuffer::from(Vec::new());
        Self { values, previous: None, specials, delimiter }
    }
}

impl<T: ArrowPrimitiveType<Native: Number + ArrowNativeType>> Cell for NumberCell<T> {
    fn load(&mut self, column: &ArrayRef) -> Result<()> {
        self.values = column.as_primitive::<T>().values().clone();
        Ok(())
    }

    fn write(&mut self, row: usize, text: &mut TextBuffer) {
        let value = self.values[row];
        match &self.previous {
            Some((previous, range)) if previous.has_same_text(value) => {
                text.append_copy(range)
            }
            _ => {
                let range = text.append_with(self.delimiter, |buffer| {
                    value.write_with(buffer, self.specials)
                });
                self.previous = Some((value, range));
            }
        }
    }

    fn clear_text_ranges(&mut self) {
        self.previous = None;
    }

    fn release_values(&mut self) {
        self.values = ScalarBuffer::from(Vec::new());
    }
}

/// Cells of booleans.
pub(super) struct BoolCell {
    values: BooleanBuffer,
    delimiter: u8,
}

impl BoolCell {
    /// Creates cells that are followed by `delimiter`.
    pub(super) fn new(delimiter: u8) -> Self {
        Self { values: BooleanBuffer::new_unset(0), delimiter }
    }
}

impl Cell for BoolCell {
    fn load(&mut self, column: &ArrayRef) -> Result<()> {
        self.values = column.as_boolean().values().clone();
        Ok(())
    }

    fn write(&mut self, row: usize, text: &mut TextBuffer) {
        let is_true = self.values.value(row);
        text.append_with(self.delimiter, |buffer| {
            let (text_bytes, len) = if is_true { (b"true ", 4) } else { (b"false", 5) };
            buffer[..5].copy_from_slice(text_bytes);
            len
        });
    }

    fn release_values(&mut self) {
        self.values = BooleanBuffer::new_unset(0);
    }
}

/// Cells of times.
pub(super) struct TimeCell {
    format: TimeFormat,
    values: ScalarBuffer<i64>,
    /// The last second that was formatted as a date, and its text.
    cached_second: (i64, [u8; 19]),
    delimiter: u8,
}

impl TimeCell {
    /// Creates cells that are followed by `delimiter`.
    pub(super) fn new(format: TimeFormat, delimiter: u8) -> Self {
        let values = ScalarBuffer::from(Vec::new());
        Self { format, values, cached_second: (0, iso_second(0)), delimiter }
    }

    /// Formats the time as ISO 8601 with `digits` digits after the decimal point, and returns the
    /// length of the text.
    fn write_iso(
        &mut self,
        nanos: i64,
        digits: usize,
        buffer: &mut NumberBuffer,
    ) -> usize {
        let second = nanos.div_euclid(1_000_000_000);
        if self.cached_second.0 != second {
            self.cached_second = (second, iso_second(second));
        }
        buffer[..19].copy_from_slice(&self.cached_second.1);
        buffer[19] = b'.';
        let mut fraction = nanos.rem_euclid(1_000_000_000);
        for digit in buffer[20..29].iter_mut().rev() {
            *digit = b'0' + (fraction % 10) as u8;
            fraction /= 10;
        }
        let len = if digits == 0 { 19 } else { 20 + digits.min(9) };
        buffer[len] = b'Z';
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
        let delimiter = self.delimiter;
        text.append_with(delimiter, |buffer| match self.format {
            TimeFormat::Number { divisor } => {
                nanos.div_euclid(divisor).write_to(buffer)
            }
            TimeFormat::Iso { digits } => self.write_iso(nanos, digits, buffer),
        });
    }

    fn release_values(&mut self) {
        self.values = ScalarBuffer::from(Vec::new());
    }
}
