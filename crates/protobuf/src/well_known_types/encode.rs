//! Encoding of the common parts of Foxglove's types. As usual in protocol buffers, zero and empty
//! values are not written.

use crate::wire::{
    FIXED32, FIXED64, key_of, put_bytes, put_number, put_sized, put_varint,
};

/// Appends a timestamp.
pub(super) fn put_moment(out: &mut Vec<u8>, number: u32, nanos: i64) {
    const SECOND: i64 = 1_000_000_000;
    put_sized(out, number, |out| {
        put_number(out, 1, nanos.div_euclid(SECOND) as u64);
        put_number(out, 2, nanos.rem_euclid(SECOND) as u64);
    });
}

/// Appends a string or bytes.
pub(super) fn put_text(out: &mut Vec<u8>, number: u32, text: &[u8]) {
    if !text.is_empty() {
        put_bytes(out, number, text);
    }
}

/// Appends a number of four bytes.
pub(super) fn put_fixed(out: &mut Vec<u8>, number: u32, value: u32) {
    if value != 0 {
        put_varint(out, key_of(number, FIXED32));
        out.extend_from_slice(&value.to_le_bytes());
    }
}

/// Appends fields that are numbered from 1 on.
pub(super) fn put_doubles(out: &mut Vec<u8>, values: &[f64]) {
    let fields = (1..).zip(values).filter(|(_, value)| value.to_bits() != 0);
    for (number, value) in fields {
        put_varint(out, key_of(number, FIXED64));
        out.extend_from_slice(&value.to_le_bytes());
    }
}
