//! Decoding a message into a row.

use logtool_core::{Branch, ByteReader, Scalar};

use crate::{
    descriptor::kind,
    message::types::{FieldKind, MessageType, TypeField},
    wire::{self, Wire},
};

/// The state of decoding a message.
pub(super) struct RowDecoder {
    /// The maximum number of list elements, and the number so far.
    pub(super) max_items: u64,
    pub(super) added_items: u64,
    /// The number of bytes that belong to no field of a type.
    pub(super) extra_bytes: usize,
}

// Messages are decoded at most as deep as types are nested.
impl RowDecoder {
    /// Adds the fields of a whole record to `row`, which stays open. Bytes at its end that are
    /// not a field are trailing bytes.
    pub(super) fn root(
        &mut self,
        message_type: &MessageType,
        bytes: &[u8],
        row: &mut Branch,
    ) -> Option<()> {
        let rest = self.fields(message_type, bytes, row)?;
        let is_cut = wire::field_number(rest)
            .is_some_and(|number| message_type.has_field(number));
        let has_fields = self.extra_bytes + rest.len() < bytes.len();
        if !rest.is_empty() && (is_cut || !has_fields) {
            return None;
        }
        self.extra_bytes += rest.len();
        Some(())
    }

    /// Adds the fields of `bytes` to `row`, which stays open.
    fn message(
        &mut self,
        message_type: &MessageType,
        bytes: &[u8],
        row: &mut Branch,
    ) -> Option<()> {
        self.fields(message_type, bytes, row)?.is_empty().then_some(())
    }

    /// Adds the fields of `bytes` to `row`, which stays open; returns the rest, which does not
    /// begin with a field.
    fn fields<'b>(
        &mut self,
        message_type: &MessageType,
        bytes: &'b [u8],
        row: &mut Branch,
    ) -> Option<&'b [u8]> {
        row.open();
        let mut reader = ByteReader::new(bytes);
        let mut last = 0;
        while !reader.remaining().is_empty() && self.added_items <= self.max_items {
            let before = reader.remaining();
            let Some((number, wire)) = wire::field(&mut reader) else {
                return Some(before);
            };
            let len = before.len() - reader.remaining().len();
            // Fields are mostly in the order of their numbers.
            let has_number = |at: usize| {
                message_type.fields.get(at).is_some_and(|f| f.number == number)
            };
            let at = match [last, last + 1].into_iter().find(|at| has_number(*at)) {
                Some(at) => Some(at),
                None => message_type.index(number),
            };
            let Some(field) = at.and_then(|at| message_type.fields.get(at)) else {
                self.extra_bytes += len;
                continue;
            };
            last = at.unwrap_or(last);
            if !self.field(field, wire, row)? {
                self.extra_bytes += len;
            }
        }
        Some(&[])
    }

    /// Adds a value to its field; returns false if the wire type does not match the field.
    fn field(
        &mut self,
        field: &TypeField,
        wire: Wire<'_>,
        row: &mut Branch,
    ) -> Option<bool> {
        let at = row.len();
        for other_field in &field.other_oneof_fields {
            let other_field = row.field(*other_field)?;
            if other_field.len() > at || other_field.is_open() {
                other_field.truncate(at);
            }
        }
        let branch = row.field(field.index)?;
        match (&field.take, wire) {
            (FieldKind::Scalar(one), wire) if field.is_repeated => {
                return self.elements(*one, wire, branch, field);
            }
            (FieldKind::Scalar(one), wire) => match scalar(*one, wire) {
                Some(value) => branch.set(at, value)?,
                None => return Some(false),
            },
            (FieldKind::Time, Wire::Sized(bytes)) => {
                let nanos = nanos(bytes)?;
                if field.is_repeated {
                    self.added_items += field.width;
                    let item = branch.item()?;
                    match nanos {
                        Some(nanos) => item.push(Scalar::Int(nanos))?,
                        None => item.push_null(),
                    }
                } else if let Some(nanos) = nanos {
                    branch.set(at, Scalar::Int(nanos))?;
                }
            }
            (FieldKind::Message(inner), Wire::Sized(bytes)) if field.is_repeated => {
                self.added_items += field.width;
                let item = branch.item()?;
                self.message(inner, bytes, item)?;
                close(inner, item)?;
            }
            (FieldKind::Message(inner), Wire::Sized(bytes)) => {
                self.message(inner, bytes, branch)?;
            }
            _ => return Some(false),
        }
        Some(true)
    }

    /// Adds the scalars in `wire` to a list: one, or several packed ones; returns false if the wire
    /// type does not match the field.
    fn elements(
        &mut self,
        element_kind: u32,
        wire: Wire<'_>,
        branch: &mut Branch,
        field: &TypeField,
    ) -> Option<bool> {
        let is_text = matches!(element_kind, kind::STRING | kind::BYTES);
        let item = branch.item()?;
        match wire {
            Wire::Sized(bytes) if !is_text => {
                let mut reader = ByteReader::new(bytes);
                while !reader.remaining().is_empty() {
                    let wire = match element_kind {
                        kind::DOUBLE | kind::FIXED64 | kind::SFIXED64 => {
                            Wire::Fixed64(reader.u64()?)
                        }
                        kind::FLOAT | kind::FIXED32 | kind::SFIXED32 => {
                            Wire::Fixed32(reader.u32()?)
                        }
                        _ => Wire::Varint(wire::varint(&mut reader)?),
                    };
                    self.added_items += field.width;
                    item.push(scalar(element_kind, wire)?)?;
                }
            }
            wire => match scalar(element_kind, wire) {
                Some(value) => {
                    self.added_items += field.width;
                    item.push(value)?;
                }
                None => return Some(false),
            },
        }
        Some(true)
    }
}

/// Closes a row of the type `message_type`: absent fields get their defaults.
pub(super) fn close(message_type: &MessageType, row: &mut Branch) -> Option<()> {
    let at = row.len();
    for field in &message_type.fields {
        let branch = row.field(field.index)?;
        if branch.len() > at {
            continue;
        }
        match &field.take {
            _ if field.is_repeated => branch.open(),
            FieldKind::Scalar(one) if field.has_default => {
                branch.push(default(*one))?
            }
            FieldKind::Message(inner) if branch.is_open() => close(inner, branch)?,
            _ => {}
        }
    }
    row.close();
    Some(())
}

/// Converts `wire` to a scalar of the kind `field_kind`, or returns `None` for another wire type.
#[inline]
fn scalar<'b>(field_kind: u32, wire: Wire<'b>) -> Option<Scalar<'b>> {
    Some(match (field_kind, wire) {
        (kind::DOUBLE, Wire::Fixed64(bits)) => Scalar::F64(f64::from_bits(bits)),
        (kind::FLOAT, Wire::Fixed32(bits)) => Scalar::F32(f32::from_bits(bits)),
        (kind::INT64, Wire::Varint(value)) => Scalar::Int(value as i64),
        (kind::INT32 | kind::ENUM, Wire::Varint(value)) => {
            Scalar::Int(i64::from(value as i32))
        }
        (kind::SINT64, Wire::Varint(value)) => Scalar::Int(zigzag(value)),
        (kind::SINT32, Wire::Varint(value)) => {
            Scalar::Int(i64::from(zigzag(u64::from(value as u32)) as i32))
        }
        (kind::UINT64, Wire::Varint(value)) => Scalar::UInt(value),
        (kind::UINT32, Wire::Varint(value)) => Scalar::UInt(u64::from(value as u32)),
        (kind::BOOL, Wire::Varint(value)) => Scalar::Bool(value != 0),
        (kind::FIXED64, Wire::Fixed64(value)) => Scalar::UInt(value),
        (kind::FIXED32, Wire::Fixed32(value)) => Scalar::UInt(value.into()),
        (kind::SFIXED64, Wire::Fixed64(value)) => Scalar::Int(value as i64),
        (kind::SFIXED32, Wire::Fixed32(value)) => Scalar::Int(i64::from(value as i32)),
        (kind::STRING | kind::BYTES, Wire::Sized(bytes)) => Scalar::Bytes(bytes),
        _ => return None,
    })
}

fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn default(default: u32) -> Scalar<'static> {
    match default {
        kind::DOUBLE => Scalar::F64(0.0),
        kind::FLOAT => Scalar::F32(0.0),
        kind::UINT64 | kind::UINT32 | kind::FIXED64 | kind::FIXED32 => Scalar::UInt(0),
        kind::BOOL => Scalar::Bool(false),
        kind::STRING | kind::BYTES => Scalar::Bytes(&[]),
        _ => Scalar::Int(0),
    }
}

/// Returns the nanoseconds of a `Timestamp` or a `Duration`, if 64 bits can store them.
fn nanos(bytes: &[u8]) -> Option<Option<i64>> {
    let (mut reader, mut seconds, mut nanos) = (ByteReader::new(bytes), 0_i64, 0_i32);
    while !reader.remaining().is_empty() {
        match wire::field(&mut reader)? {
            (1, Wire::Varint(value)) => seconds = value as i64,
            (2, Wire::Varint(value)) => nanos = value as i32,
            _ => {}
        }
    }
    let nanos_of_seconds = seconds.checked_mul(1_000_000_000);
    Some(
        nanos_of_seconds
            .and_then(|nanos_of_seconds| nanos_of_seconds.checked_add(nanos.into())),
    )
}
