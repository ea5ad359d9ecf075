//! Any bytes as event definitions, plain or compressed, and events that they define.

#![no_main]

use libfuzzer_sys::fuzz_target;
use logtool_ulog::{Catalog, RawEvent};

/// The longest text that an event may have.
const LONGEST: usize = 64 << 10;

fuzz_target!(|input: &[u8]| {
    let catalog = match Catalog::from_json(input) {
        Ok(catalog) => catalog,
        Err(_) => match Catalog::from_xz(input) {
            Ok(catalog) => catalog,
            Err(_) => return,
        },
    };
    let numbers = numbers(input);
    for component in &numbers {
        for event in &numbers {
            let start = (*event as usize).min(input.len());
            let end = input.len().min(start + 25);
            let raw = RawEvent {
                id: component << 24 | event & 0xff_ffff,
                sequence: 0,
                arguments: &input[start..end],
                log_levels: input[0],
            };
            let Some(event) = catalog.describe(&raw) else { continue };
            assert!(event.message.len() <= LONGEST);
            assert!(event.description.is_none_or(|text| text.len() <= LONGEST));
            assert!(event.arguments.len() <= 25);
        }
    }
});

/// Returns the first quoted numbers in a text, which may be ids of components and events.
fn numbers(text: &[u8]) -> Vec<u32> {
    let quoted = text.split(|byte| *byte == b'"').skip(1).step_by(2);
    let number = |word: &[u8]| str::from_utf8(word).ok()?.parse().ok();
    let mut numbers: Vec<u32> = vec![1, 7];
    for number in quoted.filter_map(number) {
        if !numbers.contains(&number) && numbers.len() < 12 {
            numbers.push(number);
        }
    }
    numbers
}
