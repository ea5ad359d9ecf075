//! How the chunks of a bag are packed, in words.

use logtool::units::{Bytes, Count, counted};
use logtool_core::Value;

/// A line for each compression; `facts` are what a bag says of its chunks.
pub(super) fn lines(facts: Option<&Value>) -> Vec<String> {
    let number = |value: Option<&Value>| match value {
        Some(Value::UInt(number)) => *number,
        _ => 0,
    };
    let get = |value: Option<&Value>, key: &str| match value {
        Some(Value::Map(map)) => map.get(key).cloned(),
        _ => None,
    };
    let (all, looked_at) = (
        number(get(facts, "chunks").as_ref()),
        number(get(facts, "looked_at").as_ref()),
    );
    let Some(Value::Map(kinds)) = get(facts, "by_compression") else {
        return Vec::new();
    };
    let line = |(name, kind): (&String, &Value)| {
        let [chunks, bytes, unpacked] = ["chunks", "bytes", "unpacked_bytes"]
            .map(|key| number(get(Some(kind), key).as_ref()));
        let share = bytes as f64 * 100.0 / unpacked.max(1) as f64;
        let (bytes, unpacked) = (Bytes(bytes), Bytes(unpacked));
        let chunks = match looked_at < all {
            true => format!(
                "{} of the {} looked at, of {}",
                Count(chunks),
                Count(looked_at),
                Count(all)
            ),
            false => counted(chunks, "chunk"),
        };
        format!("{name:?}: {chunks}, {bytes} of {unpacked} unpacked ({share:.1} %)")
    };
    kinds.iter().map(line).collect()
}

/// The least, the middle and the greatest number of `facts`.
pub(super) fn spread(facts: Option<&Value>) -> Option<(u64, u64, u64)> {
    let Some(Value::Map(facts)) = facts else { return None };
    let number = |key| match facts.get(key) {
        Some(Value::UInt(number)) => Some(*number),
        _ => None,
    };
    Some((number("min")?, number("median")?, number("max")?))
}
