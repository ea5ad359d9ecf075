//! Executing the steps of a conversion.

use logtool_core::{ByteReader, Primitive, TrailingBytes, decode_text};

use crate::{
    layout::program::{FieldType, Program, Repetition, Step},
    wire::{append_number, append_varint, end_sized},
};

/// Appends the message for `payload` to `out`.
pub(super) fn run(program: &Program, payload: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut input = ByteReader::new(payload);
    steps(program, &mut input, out)?;
    let is_valid_end =
        program.trailing_bytes == TrailingBytes::Any || input.remaining().is_empty();
    is_valid_end.then_some(())
}

/// Executes the steps of a program; programs are nested as deep as layouts, at most 64 levels.
fn steps(
    program: &Program,
    input: &mut ByteReader<'_>,
    out: &mut Vec<u8>,
) -> Option<()> {
    for (index, step) in program.steps.iter().enumerate() {
        if let FieldType::Padding(size) = step.field_type {
            // Padding at the end of a payload may be missing.
            let may_be_shorter = program.trailing_bytes != TrailingBytes::Nothing
                && index + 1 == program.steps.len();
            let size =
                if may_be_shorter { size.min(input.remaining().len()) } else { size };
            input.bytes(size)?;
            continue;
        }
        let count = match step.repetition {
            Repetition::Once => {
                write_singular(step, input, out)?;
                continue;
            }
            Repetition::Fixed(count) => count,
            Repetition::CountPrefixed => input.u32()?,
        };
        match &step.field_type {
            FieldType::Number(primitive) => {
                write_packed(step.key, *primitive, count, input, out)?
            }
            // Each repetition reads at least a byte, so the bytes limit the repetitions.
            _ => (0..count)
                .try_for_each(|_| write_element(step, input, out).ok_or(()))
                .ok()?,
        }
    }
    Some(())
}

/// Writes a singular field, unless it has the default value.
#[inline]
fn write_singular(
    step: &Step,
    input: &mut ByteReader<'_>,
    out: &mut Vec<u8>,
) -> Option<()> {
    match &step.field_type {
        FieldType::Number(primitive) => {
            let bytes = input.bytes(primitive.size() as usize)?;
            if bytes.iter().any(|byte| *byte != 0) {
                append_varint(out, step.key);
                number(*primitive, bytes, out);
            }
        }
        FieldType::Chars(len) => {
            let bytes = input.bytes(*len)?;
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(*len);
            text_unless_empty(step.key, bytes.get(..end)?, out);
        }
        FieldType::Text => {
            let bytes = length_prefixed(input)?;
            text_unless_empty(step.key, bytes, out);
        }
        FieldType::Bytes => {
            let bytes = length_prefixed(input)?;
            if !bytes.is_empty() {
                raw(step.key, bytes, out);
            }
        }
        FieldType::Padding(_) | FieldType::Time { .. } | FieldType::Message(_) => {
            write_element(step, input, out)?;
        }
    }
    Some(())
}

/// Writes an element of a repeated field, with any value.
fn write_element(
    step: &Step,
    input: &mut ByteReader<'_>,
    out: &mut Vec<u8>,
) -> Option<()> {
    match &step.field_type {
        FieldType::Text => text(step.key, length_prefixed(input)?, out),
        FieldType::Bytes => raw(step.key, length_prefixed(input)?, out),
        FieldType::Time { is_signed } => {
            let (seconds, nanos) = (input.u32()?, input.u32()?);
            append_varint(out, step.key);
            let start = out.len();
            out.push(0);
            time(*is_signed, seconds, nanos, out);
            end_sized(out, start);
        }
        FieldType::Message(program) => {
            append_varint(out, step.key);
            let start = out.len();
            out.push(0);
            steps(program, input, out)?;
            end_sized(out, start);
        }
        FieldType::Padding(_) | FieldType::Number(_) | FieldType::Chars(_) => {
            return None;
        }
    }
    Some(())
}

/// Writes a packed field of numbers, if there are some.
fn write_packed(
    key: u64,
    primitive: Primitive,
    count: u32,
    input: &mut ByteReader<'_>,
    out: &mut Vec<u8>,
) -> Option<()> {
    let size = primitive.size() as usize;
    let bytes = input.bytes(usize::try_from(count).ok()?.checked_mul(size)?)?;
    if bytes.is_empty() {
        return Some(());
    }
    if matches!(primitive, Primitive::F32 | Primitive::F64) {
        raw(key, bytes, out);
        return Some(());
    }
    append_varint(out, key);
    let start = out.len();
    out.push(0);
    bytes.chunks_exact(size).for_each(|bytes| number(primitive, bytes, out));
    end_sized(out, start);
    Some(())
}

/// Writes the number in `bytes`, which have its size.
#[inline]
fn number(primitive: Primitive, bytes: &[u8], out: &mut Vec<u8>) {
    macro_rules! signed {
        ($type:ty) => {{
            let value = bytes.first_chunk().map_or(0, |b| <$type>::from_le_bytes(*b));
            append_varint(out, i64::from(value) as u64);
        }};
    }
    macro_rules! unsigned {
        ($type:ty) => {{
            let value = bytes.first_chunk().map_or(0, |b| <$type>::from_le_bytes(*b));
            append_varint(out, u64::from(value));
        }};
    }
    match primitive {
        Primitive::I8 => signed!(i8),
        Primitive::I16 => signed!(i16),
        Primitive::I32 => signed!(i32),
        Primitive::I64 => signed!(i64),
        Primitive::U8 | Primitive::Char => unsigned!(u8),
        Primitive::U16 => unsigned!(u16),
        Primitive::U32 => unsigned!(u32),
        Primitive::U64 => unsigned!(u64),
        Primitive::Bool => out.push(u8::from(bytes.iter().any(|byte| *byte != 0))),
        Primitive::F32 | Primitive::F64 => out.extend_from_slice(bytes),
    }
}

fn time(is_signed: bool, seconds: u32, nanos: u32, out: &mut Vec<u8>) {
    let wide_value = |value: u32| {
        if is_signed { i64::from(value as i32) as u64 } else { u64::from(value) }
    };
    for (number, value) in [(1, seconds), (2, nanos)] {
        if value != 0 {
            append_number(out, number, wide_value(value));
        }
    }
}

fn text_unless_empty(key: u64, bytes: &[u8], out: &mut Vec<u8>) {
    if !bytes.is_empty() {
        text(key, bytes, out);
    }
}

fn text(key: u64, bytes: &[u8], out: &mut Vec<u8>) {
    raw(key, decode_text(bytes).as_bytes(), out);
}

fn raw(key: u64, bytes: &[u8], out: &mut Vec<u8>) {
    append_varint(out, key);
    append_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn length_prefixed<'b>(input: &mut ByteReader<'b>) -> Option<&'b [u8]> {
    let len = input.u32()?;
    input.bytes(usize::try_from(len).ok()?)
}
