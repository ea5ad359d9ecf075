//! Compares event texts with pyulog, for all events of the samples and for generated
//! events.
//!
//! Each sample has two texts: one line for each of its events, and one line for each of
//! eight events with random arguments for every definition in the sample. The length
//! and the FNV-1a hash recorded here are the output of this script with pyulog 1.3.0
//! (`pip install pyulog`, `python peer.py *.ulg`):
//!
//! ```text
//! import json, lzma, sys
//! from decimal import ROUND_HALF_UP, Context
//! import numpy as np
//! from pyulog import ULog
//! from pyulog.libevents_parse.parser import ParsedEvent, Parser
//!
//! class Float(float):  # the one deliberate difference: shortest digits of 32 bits
//!     def __format__(self, spec):
//!         if spec:
//!             return format(float(self), spec)
//!         for digits in range(1, 10):
//!             near = Context(digits, ROUND_HALF_UP).create_decimal_from_float(self)
//!             if np.float32(near) == np.float32(self):
//!                 return repr(float(near))
//!         return repr(float(self))
//!
//! shown = ParsedEvent.argument_display_value
//! ParsedEvent.argument_display_value = lambda self, i: (
//!     Float(shown(self, i)) if isinstance(shown(self, i), float) else shown(self, i))
//!
//! def line(parser, id, arguments):
//!     e = parser.parse(id, arguments)
//!     values = ''.join(f'{e.argument_display_value(i)}\t' for i in range(e.num_arguments()))
//!     return '\t'.join([e.namespace(), e.group(), e.name(), e.type(), values,
//!                       e.message(), e.description()]) + '\n'
//!
//! def fnv(text):
//!     hash = 0xcbf29ce484222325
//!     for byte in text.encode():
//!         hash = (hash ^ byte) * 0x100000001b3 % 2**64
//!     return f'{len(text.encode())}, {hash:#018x}'
//!
//! def random_bytes(state):
//!     while True:
//!         state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
//!         yield state >> 56
//!
//! for path in sys.argv[1:]:
//!     log = ULog(path, ['event'])
//!     definitions = json.loads(lzma.decompress(b''.join(
//!         log.msg_info_multiple_dict['metadata_events'][0])))
//!     parser = Parser()
//!     parser.load_definitions(definitions)
//!     events = log.get_dataset('event').data
//!     logged = ''.join(
//!         line(parser, int(id), bytes(int(events[f'arguments[{i}]'][at]) for i in range(25)))
//!         for at, id in enumerate(events['id']))
//!     source = random_bytes(1)
//!     made_up = ''.join(
//!         line(parser, id, bytes(next(source) for _ in range(25)))
//!         for id in sorted(
//!             component << 24 | sub_id
//!             for component, entry in definitions['components'].items()
//!             for group in entry['event_groups'].values() for sub_id in group['events'])
//!         for _ in range(8))
//!     print(path.split('/')[-1], fnv(logged), fnv(made_up))
//! ```

use std::{collections::BTreeSet, fmt::Write};

use logtool_core::conformance;

use crate::events::{Catalog, Event, RawEvent};

/// A sample, and the lengths and hashes of its two texts.
const RECORDED: [(&str, [(usize, u64); 2]); 5] = [
    (
        "flightreviewrs_battery_brownout.ulg",
        [(3942, 0xfcd38b6881672b4b), (587495, 0x9435288e07339a50)],
    ),
    ("mcap_test_ulog.ulg", [(9841, 0x0154ecc3c6ead175), (602539, 0x1e81f790c7546f3b)]),
    (
        "px4ulogrs_quadrotor_local.ulg",
        [(10173, 0xae98e6e75fb3c894), (601865, 0xf25a83c9a74fda8d)],
    ),
    (
        "pyulog_sample_px4_events.ulg",
        [(9700, 0xff3683b4a2151a48), (576352, 0xcf8d513c9b9df0af)],
    ),
    (
        "ulogrs_sample-small.ulg",
        [(8840, 0x0258999a45557dab), (602539, 0x1e81f790c7546f3b)],
    ),
];

/// The lines that `ulog_messages pyulog_sample_px4_events.ulg` (pyulog 1.3.0) prints
/// for events, i.e. for the group `default` up to level 7.
const SHOWN: [&str; 8] = [
    "INFO: logging: opening log file 2024-3-18/14_49_10.ulg",
    "INFO: Armed by internal command",
    "INFO: Using default takeoff altitude: 2.50 m",
    "INFO: Takeoff detected",
    "INFO: RTL: start return at 491 m (3 m above destination)",
    "INFO: RTL: land at destination",
    "INFO: Landing detected",
    "INFO: Disarmed by landing",
];

#[test]
fn every_event_has_text_of_pyulog() {
    for (name, [logged, invented]) in RECORDED {
        let Some(sample) = Sample::read(name) else { continue };
        let text: String = sample.events().iter().map(line).collect();
        assert_eq!((text.len(), fnv(&text)), logged, "events of {name}:\n{text}");

        let mut state = 1;
        let mut text = String::new();
        for id in sample.catalog.ids().collect::<BTreeSet<_>>() {
            for _ in 0..8 {
                let arguments: [u8; 25] =
                    std::array::from_fn(|_| random_byte(&mut state));
                let raw =
                    RawEvent { id, sequence: 0, arguments: &arguments, log_levels: 0 };
                text += &line(&sample.catalog.describe(&raw).unwrap());
            }
        }
        assert_eq!((text.len(), fnv(&text)), invented, "made-up events of {name}");
    }
}

#[test]
fn events_shown_by_pyulog_have_same_text_and_level() {
    let Some(sample) = Sample::read("pyulog_sample_px4_events.ulg") else { return };
    let shown: Vec<String> = sample
        .events()
        .iter()
        .filter(|event| event.group == "default" && event.internal_level.number() < 8)
        .map(|event| {
            let level = event.internal_level.name().to_uppercase();
            format!("{level}: {}", event.message)
        })
        .collect();
    assert_eq!(shown, SHOWN);
}

/// The event definitions and the event records of a log.
struct Sample {
    catalog: Catalog,
    /// Rows of the topic `event`, without their timestamps.
    rows: Vec<Vec<u8>>,
}

impl Sample {
    /// Reads all messages of a sample. Returns `None`, and prints a note, if the sample
    /// is missing.
    fn read(name: &str) -> Option<Self> {
        let log = conformance::sample(&format!("ulog/{name}"))?;
        let (mut packed, mut rows, mut id) = (vec![], vec![], None);
        let mut remaining = &log[16..];
        while let [low, high, kind, next @ ..] = remaining {
            let size = usize::from(u16::from_le_bytes([*low, *high]));
            let Some((body, next)) = next.split_at_checked(size) else { break };
            remaining = next;
            match kind {
                b'M' => {
                    let (key, value) = body[2..].split_at(usize::from(body[1]));
                    if key.ends_with(b" metadata_events") {
                        packed.extend_from_slice(value);
                    }
                }
                b'A' if &body[3..] == b"event" => id = Some(&body[1..3]),
                b'D' if Some(&body[..2]) == id => rows.push(body[10..].to_vec()),
                _ => {}
            }
        }
        Some(Self { catalog: Catalog::from_xz(&packed).unwrap(), rows })
    }

    fn events(&self) -> Vec<Event<'_>> {
        let describe = |row: &Vec<u8>| {
            let raw = RawEvent {
                id: u32::from_le_bytes(row[..4].try_into().unwrap()),
                sequence: u16::from_le_bytes(row[4..6].try_into().unwrap()),
                arguments: &row[6..31],
                log_levels: row[31],
            };
            self.catalog.describe(&raw).unwrap()
        };
        self.rows.iter().map(describe).collect()
    }
}

fn line(event: &Event<'_>) -> String {
    let mut line = [event.namespace, event.group, event.name, event.kind].join("\t");
    line.push('\t');
    for argument in &event.arguments {
        write!(line, "{}\t", argument.text).unwrap();
    }
    let description = event.description.as_deref().unwrap_or_default();
    writeln!(line, "\t{}\t{description}", event.message).unwrap();
    line
}

fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn random_byte(state: &mut u64) -> u8 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 56) as u8
}
