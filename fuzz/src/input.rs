//! Converts fuzzer input to a file.

use std::{borrow::Cow, sync::LazyLock};

/// Logs whose definitions and subscriptions are used.
const LOGS: [&[u8]; 3] = [
    include_bytes!("../../testdata/pasta.ulg"),
    include_bytes!("../../testdata/hostile_types.ulg"),
    include_bytes!("../../testdata/quad_flight.ulg"),
];

static PREFIXES: LazyLock<[&[u8]; 3]> = LazyLock::new(|| LOGS.map(before_data));

/// Returns the file for `input`: `input` itself if it starts like a ULog. Otherwise its first byte
/// selects a log whose definitions are followed by the rest of `input` as data, so that the fuzzer
/// need not find valid definitions first.
pub fn file(input: &[u8]) -> Cow<'_, [u8]> {
    match input.split_first() {
        Some((first, data)) if *first != b'U' => {
            let prefix = PREFIXES[usize::from(*first) % PREFIXES.len()];
            Cow::Owned([prefix, data].concat())
        }
        _ => Cow::Borrowed(input),
    }
}

/// Returns the start of a log up to its first data message.
fn before_data(log: &[u8]) -> &[u8] {
    let mut at = 16;
    while log[at + 2] != b'D' {
        at += 3 + usize::from(u16::from_le_bytes([log[at], log[at + 1]]));
    }
    &log[..at]
}
