//! The compression of the chunks of a bag or an MCAP file, as text.

use logtool_core::Value;

use crate::units::{Bytes, Count, count_of};

/// Returns a line for each compression in the metadata `chunks` of a log.
pub(super) fn lines(chunks: Option<&Value>) -> Vec<String> {
    let Some(Value::Map(chunks)) = chunks else { return Vec::new() };
    let Some(Value::Map(compressions)) = chunks.get("by_compression") else {
        return Vec::new();
    };
    let (all, inspected) =
        (number(chunks.get("chunks")), number(chunks.get("looked_at")));
    let line = |(name, statistics): (&String, &Value)| {
        let get = |key| match statistics {
            Value::Map(statistics) => number(statistics.get(key)),
            _ => 0,
        };
        let (chunks, bytes, unpacked) =
            (get("chunks"), get("bytes"), get("unpacked_bytes"));
        let share = bytes as f64 * 100.0 / unpacked.max(1) as f64;
        let (bytes, unpacked) = (Bytes(bytes), Bytes(unpacked));
        let chunks = if inspected < all {
            let (chunks, inspected, all) =
                (Count(chunks), Count(inspected), Count(all));
            format!("{chunks} of the {inspected} looked at, of {all}")
        } else {
            count_of(chunks, "chunk")
        };
        format!("{name:?}: {chunks}, {bytes} of {unpacked} unpacked ({share:.1} %)")
    };
    compressions.iter().map(line).collect()
}

/// Returns the minimum, the median and the maximum in `statistics`.
pub(super) fn spread(statistics: Option<&Value>) -> Option<(u64, u64, u64)> {
    let Some(Value::Map(statistics)) = statistics else { return None };
    let number = |key| match statistics.get(key) {
        Some(Value::UInt(number)) => Some(*number),
        _ => None,
    };
    Some((number("min")?, number("median")?, number("max")?))
}

fn number(value: Option<&Value>) -> u64 {
    match value {
        Some(Value::UInt(number)) => *number,
        _ => 0,
    }
}
