//! Encoding of the common parts of Foxglove's types. As usual in protocol buffers, zero and empty
//! values are not written.

use crate::wire::{
    FIXED32, FIXED64, append_number, append_sized, append_varint, field_key,
};

/// Appends a timestamp.
pub(super) fn append_timestamp(out: &mut Vec<u8>, number: u32, nanos: i64) {
    const SECOND: i64 = 1_000_000_000;
    append_sized(out, number, |out| {
        append_number(out, 1, nanos.div_euclid(SECOND) as u64);
        append_number(out, 2, nanos.rem_euclid(SECOND) as u64);
    });
}

/// Appends a `fixed32`.
pub(super) fn append_fixed32(out: &mut Vec<u8>, number: u32, value: u32) {
    if value != 0 {
        append_varint(out, field_key(number, FIXED32));
        out.extend_from_slice(&value.to_le_bytes());
    }
}

/// Appends `double` fields with the numbers 1, 2 and so on.
pub(super) fn append_doubles(out: &mut Vec<u8>, values: &[f64]) {
    let fields = (1..).zip(values).filter(|(_, value)| value.to_bits() != 0);
    for (number, value) in fields {
        append_varint(out, field_key(number, FIXED64));
        out.extend_from_slice(&value.to_le_bytes());
    }
}
