//! Any calls of the writer in any order: everything that it accepted is read back without damage.
//! Then bytes of the log are changed or removed, and the rest is read like any other bytes.

#![no_main]

use std::sync::Arc;

use arbitrary::Arbitrary;
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use logtool_core::{Log as _, OpenOptions, Selection, TopicOrigin};
use logtool_fuzz::read;
use logtool_ulog::{
    Level, ParameterValue, UlogLog,
    write::{DefaultScope, Subscription, TopicHandle, Writer},
};

const TYPES: [&str; 12] = [
    "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t",
    "uint64_t", "float", "double", "bool", "char",
];
const SIZES: [usize; 12] = [1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 1, 1];
/// Names with a meaning for readers, and names without one.
const FORMATS: [&str; 6] =
    ["event", "sensor_gps", "logged_strings", "messages", "a/b-1", "plain"];
const FIELDS: [&str; 9] = [
    "timestamp",
    "_padding0",
    "time_utc_usec",
    "id",
    "event_sequence",
    "arguments",
    "log_levels",
    "x",
    "y",
];
const NAMES: [&str; 4] =
    ["sys_name", "ver_sw_release", "metadata_events", "SOME_PARAM"];

#[derive(Arbitrary, Debug)]
struct Input {
    start: u64,
    formats: [Vec<Field>; 6],
    calls: Vec<Call>,
    harm: Vec<Harm>,
}

#[derive(Arbitrary, Debug)]
struct Field {
    /// The index of a basic type, or after these, of a format.
    kind: u8,
    count: Option<u8>,
    name: u8,
}

#[derive(Arbitrary, Debug)]
enum Call {
    Format(u8),
    Info(u8, String),
    Number(u8, u32),
    Texts(u8, String),
    Bytes(u8, Vec<u8>),
    /// A long text, which is written in several parts.
    Long(u8, char, u16),
    Parameter(u8, i32),
    Default(u8, f32),
    Change(u8, f32),
    Subscribe {
        format: u8,
        instance: u8,
        interval: u16,
        is_optional: bool,
    },
    Data {
        topic: u8,
        time: u64,
        payload: Vec<u8>,
        less: u8,
    },
    String(u8, u64, String),
    Tagged(u8, u16, u64, String),
    Dropout(u16),
    Sync,
}

/// A change of the finished log; positions are taken modulo its length.
#[derive(Arbitrary, Debug)]
enum Harm {
    Flip(u16, u8),
    Lose(u16, u8),
    Zero(u16, u8),
    Repeat(u16, u8),
    Cut(u16),
}

/// An expected record: its owner, and its payload.
type ExpectedRecord = (RecordOwner, Vec<u8>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordOwner {
    Topic { format: usize, instance: u8 },
    Line,
    Change,
    Dropout,
}

struct Model<'i> {
    input: &'i Input,
    writer: Writer<Vec<u8>>,
    topics: Vec<(TopicHandle, usize, u8)>,
    expected: Vec<ExpectedRecord>,
    values: usize,
}

fuzz_target!(|input: Input| {
    let mut model = Model {
        input: &input,
        writer: Writer::new(Vec::new(), input.start),
        topics: Vec::new(),
        expected: Vec::new(),
        values: 0,
    };
    for call in &input.calls {
        // A rejected call leaves the log unchanged.
        let _ = model.call(call);
    }
    let Model { writer, expected, values, .. } = model;
    let bytes = Bytes::from(writer.finish().expect("memory takes everything"));
    check(&bytes, &expected, values);
    if !input.harm.is_empty() {
        let mut bytes = bytes.to_vec();
        input.harm.iter().take(16).for_each(|harm| harm.apply(&mut bytes));
        logtool_fuzz::check(&bytes);
    }
});

impl Harm {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let len = bytes.len().max(1);
        let range = |at: u16, count: u8| {
            let start = usize::from(at) % len;
            start..(start + usize::from(count)).min(len)
        };
        if bytes.is_empty() {
            return;
        }
        match *self {
            Self::Flip(at, bits) => bytes[usize::from(at) % len] ^= bits,
            Self::Lose(at, count) => drop(bytes.drain(range(at, count))),
            Self::Zero(at, count) => bytes[range(at, count)].fill(0),
            Self::Repeat(at, count) => {
                let again = bytes[range(at, count)].to_vec();
                let at = usize::from(at) % len;
                bytes.splice(at..at, again);
            }
            Self::Cut(at) => bytes.truncate(usize::from(at) % len),
        }
    }
}

impl Model<'_> {
    fn call(&mut self, call: &Call) -> logtool_core::Result<()> {
        let name = |name: u8| NAMES[usize::from(name) % NAMES.len()];
        match call {
            Call::Format(format) => {
                let format = usize::from(*format) % FORMATS.len();
                self.writer.format(FORMATS[format], &self.text(format))
            }
            Call::Info(key, text) => self.writer.info_text(name(*key), text),
            Call::Number(key, value) => self.writer.info_u32(name(*key), *value),
            Call::Texts(key, text) => {
                self.writer.info_multiple_text(name(*key), text)?;
                self.values += 1;
                Ok(())
            }
            Call::Bytes(key, bytes) => {
                self.writer.info_multiple_bytes(name(*key), bytes)?;
                self.values += 1;
                Ok(())
            }
            Call::Long(key, letter, count) => {
                let text = letter.to_string().repeat(usize::from(*count));
                self.writer.info_multiple_text(name(*key), &text)?;
                self.values += 1;
                Ok(())
            }
            Call::Parameter(key, value) => self.writer.parameter(name(*key), *value),
            Call::Default(key, value) => {
                self.writer.default_parameter(name(*key), *value, DefaultScope::Both)
            }
            Call::Change(key, value) => {
                self.writer.parameter_change(name(*key), *value)?;
                let key = format!("float {}", name(*key));
                let head = [b'P', key.len() as u8];
                let payload = [&head, key.as_bytes(), &value.to_le_bytes()].concat();
                self.expected.push((RecordOwner::Change, payload));
                Ok(())
            }
            Call::Subscribe { format, instance, interval, is_optional } => {
                let format = usize::from(*format) % FORMATS.len();
                let mut to = Subscription::new(FORMATS[format])
                    .instance(*instance)
                    .at_most_every_micros((*interval).into());
                if *is_optional {
                    to = to.omit_if_empty();
                }
                let handle = self.writer.subscribe(to)?;
                self.topics.push((handle, format, *instance));
                Ok(())
            }
            Call::Data { topic, time, payload, less } => {
                let count = self.topics.len().max(1);
                let Some((handle, format, instance)) =
                    self.topics.get(usize::from(*topic) % count)
                else {
                    return Ok(());
                };
                let len = self.size(*format, 0).min(1 << 16);
                let mut payload = payload.clone();
                payload.resize(len.saturating_sub((*less % 4).into()), 0xa5);
                if self.writer.data(*handle, *time, &payload)? {
                    let owner =
                        RecordOwner::Topic { format: *format, instance: *instance };
                    self.expected.push((owner, payload));
                }
                Ok(())
            }
            Call::String(level, time, text) => {
                self.writer.string(Level::new(*level), *time, text)?;
                let head = [b'L', b'0' + level];
                let payload =
                    [&head, &time.to_le_bytes()[..], text.as_bytes()].concat();
                self.expected.push((RecordOwner::Line, payload));
                Ok(())
            }
            Call::Tagged(level, tag, time, text) => {
                self.writer.tagged_string(Level::new(*level), *tag, *time, text)?;
                let head = [&[b'C', b'0' + level][..], &tag.to_le_bytes()].concat();
                let payload =
                    [&head, &time.to_le_bytes()[..], text.as_bytes()].concat();
                self.expected.push((RecordOwner::Line, payload));
                Ok(())
            }
            Call::Dropout(millis) => {
                self.writer.dropout(*millis)?;
                let [low, high] = millis.to_le_bytes();
                self.expected.push((RecordOwner::Dropout, vec![b'O', low, high]));
                Ok(())
            }
            Call::Sync => self.writer.sync(),
        }
    }

    /// Returns the definition of the fields of a format.
    fn text(&self, format: usize) -> String {
        let mut text = String::new();
        for field in &self.input.formats[format] {
            let kind = usize::from(field.kind) % (TYPES.len() + FORMATS.len());
            let kind =
                TYPES.iter().chain(&FORMATS).nth(kind).copied().unwrap_or_default();
            let count =
                field.count.map(|count| format!("[{count}]")).unwrap_or_default();
            let name = FIELDS[usize::from(field.name) % FIELDS.len()];
            text.push_str(&format!("{kind}{count} {name};"));
        }
        text
    }

    /// Returns the length of the records of a format; any number if it contains itself.
    fn size(&self, format: usize, depth: u32) -> usize {
        let mut size = 0_usize;
        for field in self.input.formats[format].iter().take(64) {
            let kind = usize::from(field.kind) % (TYPES.len() + FORMATS.len());
            let one = match SIZES.get(kind) {
                Some(size) => *size,
                None if depth < 5 => self.size(kind - SIZES.len(), depth + 1),
                None => 0,
            };
            size = size
                .saturating_add(one.saturating_mul(field.count.unwrap_or(1).into()));
        }
        size
    }
}

fn check(file: &Bytes, expected: &[ExpectedRecord], values: usize) {
    let log = UlogLog::open(Arc::new(file.clone()), OpenOptions::default());
    let (log, all) = (log.expect("the written log opens"), Selection::default());
    let manifest = log.manifest();
    assert_eq!(manifest.damage, [], "the written log is undamaged");
    let (records, damage) = read(&log, file, &manifest.plan(&all, 1_000), &all);
    assert_eq!(damage, [], "the written log is undamaged");

    let mut actual = Vec::new();
    for (topic, _, payload) in &records {
        let topic = manifest.topic(*topic).expect("a record has a topic");
        let owner = match (topic.origin, &*topic.name) {
            (TopicOrigin::Derived, _) => continue,
            (TopicOrigin::Logged, _) => {
                let format = FORMATS.iter().position(|name| *name == topic.type_name);
                let format = format.expect("the type is one that was written");
                let instance = u8::try_from(topic.instance).expect("an instance");
                RecordOwner::Topic { format, instance }
            }
            // A logged topic may replace a built-in one of the same name.
            _ => match payload[0] {
                b'L' | b'C' => RecordOwner::Line,
                b'P' => RecordOwner::Change,
                _ => RecordOwner::Dropout,
            },
        };
        actual.push((owner, payload.clone()));
    }
    assert!(actual == expected, "unexpected records: {actual:?} for {expected:?}");

    let header = log.metadata();
    let value_count: usize = header.info_multiple.values().map(Vec::len).sum();
    assert_eq!(value_count, values, "no value of a list is lost");
    for parameter in header.parameters.values() {
        assert!(matches!(
            parameter.value,
            ParameterValue::Int(_) | ParameterValue::Float(_)
        ));
    }
}
