//! Decoding a message into a row.

use std::collections::BTreeMap;

use logtool_core::{Branch, ByteReader, Scalar};

use crate::{
    descriptor::kind,
    message::types::{FieldKind, MessageType, TypeField},
    wire::{self, Wire},
};

/// The state of decoding a message.
pub(super) struct RowDecoder {
    /// The maximum number of list elements, each weighted by its number of values.
    pub(super) max_items: u64,
    /// The number of list elements so far, weighted in the same way.
    pub(super) added_items: u64,
    /// The number of bytes that belong to no field.
    pub(super) extra_bytes: usize,
}

/// The fields of oneofs that have a value in an open row of a message.
#[derive(Default)]
struct OneofState {
    /// The field that has a value, by the index of its oneof: its index, and the minimum
    /// number of its values.
    set_fields: BTreeMap<u32, (usize, u64)>,
    /// The states of messages that are fields, by the index of the field. A message that
    /// occurs several times is merged.
    messages: BTreeMap<usize, OneofState>,
}

// The recursion is as deep as types are nested, which is limited.
impl RowDecoder {
    /// Adds the fields of a whole record to `row`, which stays open. Bytes at the end of the record
    /// that are not a field are counted as trailing bytes.
    pub(super) fn root(
        &mut self,
        message_type: &MessageType,
        bytes: &[u8],
        row: &mut Branch,
    ) -> Option<()> {
        let mut oneofs = OneofState::default();
        let remaining = self.fields(message_type, bytes, row, &mut oneofs)?;
        let is_field_truncated = wire::field_number(remaining)
            .is_some_and(|number| message_type.has_field(number));
        let has_fields = self.extra_bytes + remaining.len() < bytes.len();
        if !remaining.is_empty() && (is_field_truncated || !has_fields) {
            return None;
        }
        self.extra_bytes += remaining.len();
        Some(())
    }

    /// Adds the fields of a nested message to `row`, which stays open. Returns `None` if the bytes
    /// are not fields only.
    fn message(
        &mut self,
        message_type: &MessageType,
        bytes: &[u8],
        row: &mut Branch,
        oneofs: &mut OneofState,
    ) -> Option<()> {
        self.fields(message_type, bytes, row, oneofs)?.is_empty().then_some(())
    }

    /// Adds the fields of `bytes` to `row`, which stays open. Returns the remaining bytes, which do
    /// not start with a complete field.
    fn fields<'b>(
        &mut self,
        message_type: &MessageType,
        bytes: &'b [u8],
        row: &mut Branch,
        oneofs: &mut OneofState,
    ) -> Option<&'b [u8]> {
        row.open();
        let mut reader = ByteReader::new(bytes);
        let mut last_index = 0;
        while !reader.remaining().is_empty() && self.added_items <= self.max_items {
            let remaining = reader.remaining();
            let Some((number, wire)) = wire::field(&mut reader) else {
                return Some(remaining);
            };
            let field_len = remaining.len() - reader.remaining().len();
            // Fields are mostly in the order of their numbers.
            let has_number = |index: usize| {
                message_type
                    .fields
                    .get(index)
                    .is_some_and(|field| field.number == number)
            };
            let mut candidates = [last_index, last_index + 1].into_iter();
            let index = match candidates.find(|index| has_number(*index)) {
                Some(index) => Some(index),
                None => message_type.index(number),
            };
            let Some(field) = index.and_then(|index| message_type.fields.get(index))
            else {
                self.extra_bytes += field_len;
                continue;
            };
            last_index = index.unwrap_or(last_index);
            if !self.field(field, wire, row, oneofs)? {
                self.extra_bytes += field_len;
            }
        }
        Some(&[])
    }

    /// Adds a value to its field. Returns `Some(false)` if the wire type does not match the field,
    /// and `None` if the value is malformed.
    fn field(
        &mut self,
        field: &TypeField,
        wire: Wire<'_>,
        row: &mut Branch,
        oneofs: &mut OneofState,
    ) -> Option<bool> {
        let row_index = row.len();
        if let Some(oneof) = field.oneof {
            self.clear_other_field(oneof, field, row, oneofs)?;
        }
        let branch = row.field(field.index)?;
        match (&field.kind, wire) {
            (FieldKind::Scalar(kind), wire) if field.is_repeated => {
                return self.elements(*kind, wire, branch, field);
            }
            (FieldKind::Scalar(kind), wire) => match scalar(*kind, wire) {
                Some(value) => branch.set(row_index, value)?,
                None => return Some(false),
            },
            (FieldKind::Time, Wire::Sized(bytes)) => {
                let nanos = nanos(bytes)?;
                if field.is_repeated {
                    self.added_items += field.element_values;
                    let item = branch.item()?;
                    match nanos {
                        Some(nanos) => item.push(Scalar::Int(nanos))?,
                        None => item.push_null(),
                    }
                } else if let Some(nanos) = nanos {
                    branch.set(row_index, Scalar::Int(nanos))?;
                }
            }
            (FieldKind::Message(inner), Wire::Sized(bytes)) if field.is_repeated => {
                self.added_items += field.element_values;
                let item = branch.item()?;
                self.message(inner, bytes, item, &mut OneofState::default())?;
                close(inner, item)?;
            }
            (FieldKind::Message(inner), Wire::Sized(bytes)) => {
                if inner.has_oneofs {
                    let oneofs = oneofs.messages.entry(field.index).or_default();
                    self.message(inner, bytes, branch, oneofs)?;
                } else {
                    self.message(inner, bytes, branch, &mut OneofState::default())?;
                }
            }
            _ => return Some(false),
        }
        Some(true)
    }

    /// Removes the value of another field of `oneof` before `field` gets one. The removed values
    /// count as list elements, because a message of thousands of fields takes long to remove, and
    /// needs few bytes to be added again.
    fn clear_other_field(
        &mut self,
        oneof: u32,
        field: &TypeField,
        row: &mut Branch,
        oneofs: &mut OneofState,
    ) -> Option<()> {
        let row_index = row.len();
        let value = (field.index, field.element_values);
        let replaced = oneofs.set_fields.insert(oneof, value);
        let Some((other, value_count)) = replaced.filter(|other| *other != value)
        else {
            return Some(());
        };
        oneofs.messages.remove(&other);
        let branch = row.field(other)?;
        if branch.len() > row_index || branch.is_open() {
            self.added_items += value_count;
            branch.truncate(row_index);
        }
        Some(())
    }

    /// Adds the scalars in `wire` to a list: one, or several packed ones. Returns `Some(false)` if
    /// the wire type does not match the field, and `None` if a value is malformed.
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
                    self.added_items += field.element_values;
                    item.push(scalar(element_kind, wire)?)?;
                }
            }
            wire => match scalar(element_kind, wire) {
                Some(value) => {
                    self.added_items += field.element_values;
                    item.push(value)?;
                }
                None => return Some(false),
            },
        }
        Some(true)
    }
}

/// Closes a row of the type `message_type`. Absent fields get their defaults.
pub(super) fn close(message_type: &MessageType, row: &mut Branch) -> Option<()> {
    let row_index = row.len();
    for field in &message_type.fields {
        let branch = row.field(field.index)?;
        if branch.len() > row_index {
            continue;
        }
        match &field.kind {
            _ if field.is_repeated => branch.open(),
            FieldKind::Scalar(kind) if field.has_default => {
                branch.push(default_value(*kind))?
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

/// Returns the value of an absent field of the kind `field_kind`.
fn default_value(field_kind: u32) -> Scalar<'static> {
    match field_kind {
        kind::DOUBLE => Scalar::F64(0.0),
        kind::FLOAT => Scalar::F32(0.0),
        kind::UINT64 | kind::UINT32 | kind::FIXED64 | kind::FIXED32 => Scalar::UInt(0),
        kind::BOOL => Scalar::Bool(false),
        kind::STRING | kind::BYTES => Scalar::Bytes(&[]),
        _ => Scalar::Int(0),
    }
}

/// Returns the nanoseconds of a `Timestamp` or a `Duration`. Returns `None` if the message is
/// malformed, and `Some(None)` if the nanoseconds exceed 64 bits.
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
    Some(nanos_of_seconds.and_then(|sum| sum.checked_add(nanos.into())))
}
