//! A log with everything that the format allows and that readers often handle wrongly.

use logtool_core::Result;
use logtool_ulog::write::{Subscription, TopicHandle, Writer};

use crate::files::row::Row;

/// 2.49 s before a 32-bit clock wraps around.
const START_MICROS: u64 = (1 << 32) - 2_490_000;

const FORMATS: [(&str, &str); 11] = [
    // Types that are used before their definitions, with two levels of nesting and
    // inner padding.
    ("outer", "uint64_t timestamp;middle one;middle[2] two;float last;"),
    ("middle", "uint8_t tag;uint8_t[3] _padding0;inner[2] pair;"),
    ("inner", "float x;bool ok;uint8_t[3] _padding0;"),
    (
        "scalars",
        "uint64_t timestamp;int8_t i8;uint8_t u8;int16_t i16;uint16_t u16;int32_t i32;\
         uint32_t u32;int64_t i64;uint64_t u64;float f32;double f64;bool yes;char letter;",
    ),
    (
        "texts",
        "uint64_t timestamp;char[16] name;char[4] full;bool[4] flags;uint8_t[3] raw;",
    ),
    (
        "padded",
        "uint8_t first;uint8_t[7] _padding0;uint64_t timestamp;float x;uint8_t last;\
         uint8_t[3] _padding1;",
    ),
    ("clock32", "uint32_t timestamp;uint16_t count;"),
    ("clock16", "uint16_t timestamp;uint16_t count;"),
    ("several", "uint64_t timestamp;uint8_t instance;"),
    ("robot/arm-1", "uint64_t timestamp;double[3] joint;"),
    ("no_clock", "float v;"),
];

/// A log, and the rows that are written to it after all rows are known.
struct Draft {
    log: Writer<Vec<u8>>,
    rows: Vec<(u64, TopicHandle, Vec<u8>)>,
}

/// Returns the log, which is four seconds long.
pub(crate) fn log() -> Result<Vec<u8>> {
    let mut log = Writer::new(Vec::new(), START_MICROS);
    for (name, fields) in FORMATS {
        log.format(name, fields)?;
    }
    infos(&mut log)?;

    let mut draft = Draft { log, rows: Vec::new() };
    draft.add_scalar_rows()?;
    draft.add_text_rows()?;
    draft.add_nested_rows()?;
    draft.add_padded_rows()?;
    draft.add_instance_rows()?;
    // Their times come last, because some readers stop at these topics.
    draft.add_narrow_clock_rows()?;
    draft.add_clockless_rows()?;

    let Draft { mut log, mut rows } = draft;
    rows.sort_by_key(|(time, ..)| *time);
    for (time, topic, row) in rows {
        log.data(topic, time, &row)?;
    }
    log.finish()
}

/// Returns the time of row `n` of a topic, at ten rows per second.
fn time(n: u64) -> u64 {
    START_MICROS + n * 100_000
}

fn infos(log: &mut Writer<Vec<u8>>) -> Result<()> {
    log.info("uint64_t flight id", &u64::MAX.to_le_bytes())?;
    log.info("int64_t negative", &i64::MIN.to_le_bytes())?;
    log.info("double half", &0.5_f64.to_le_bytes())?;
    log.info("bool odd_bool", &[0x99])?;
    log.info("float[2] pair", &[1.5_f32, -2.5].map(f32::to_le_bytes).concat())?;
    log.info_text("empty", "")?;
    log.info_text("umlauts", "Höhenmesser ⛰")?;
    let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(2_500).collect();
    log.info_multiple_bytes("blob", &bytes)?;
    log.parameter("MIN_INT", i32::MIN)?;
    log.parameter("NOT_A_NUMBER", f32::from_bits(0x7FC0_0001))?;
    log.parameter("ENDLESS", f32::NEG_INFINITY)
}

impl Draft {
    fn add(&mut self, topic: TopicHandle, time: u64, row: Row) {
        self.rows.push((time, topic, row.finish()));
    }

    fn add_scalar_rows(&mut self) -> Result<()> {
        let topic = self.log.subscribe(Subscription::new("scalars"))?;
        let floats =
            [0.0, -0.0, 1e-45, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
        let integers = [0, 1, -1, (1 << 53) + 1, -(1 << 53) - 1, i64::MAX, i64::MIN];
        for (n, (float, integer)) in (0..).zip(floats.into_iter().zip(integers)) {
            let [low, ..] = integer.to_le_bytes();
            let row = Row::with_timestamp(time(n)).u8(low).u8(low);
            let row = row.u16(integer as u16).u16(integer as u16);
            let row = row.u32(integer as u32).u32(integer as u32).i64(integer);
            let row = row.u64(integer as u64).u32(bits(float));
            let row = row.f64(inexact_double(float));
            self.add(topic, time(n), row.u8(n as u8).u8(b'a' + n as u8));
        }
        Ok(())
    }

    fn add_text_rows(&mut self) -> Result<()> {
        let topic = self.log.subscribe(Subscription::new("texts"))?;
        let names: [&[u8; 16]; 5] = [
            b"plain\0\0\0\0\0\0\0\0\0\0\0",
            b"garbage\0\xFF\xFEbehind",
            b"\0nothing shown  ",
            b"all 16 are used.",
            b"comma, \"quote\"\n\0",
        ];
        let flags = [[0, 1, 0, 1], [0x99, 0, 0xFF, 2], [1; 4], [0; 4], [0, 0, 0, 65]];
        for (n, (name, flags)) in (0..).zip(names.into_iter().zip(flags)) {
            let row =
                Row::with_timestamp(time(n)).bytes(name).bytes(b"ABCD").bytes(&flags);
            self.add(topic, time(n), row.bytes(&[0, 128, 255]));
        }
        Ok(())
    }

    fn add_nested_rows(&mut self) -> Result<()> {
        let topic = self.log.subscribe(Subscription::new("outer"))?;
        for n in 0..20 {
            let mut row = Row::with_timestamp(time(n));
            for middle in 0..3 {
                row = row.u8(10 * middle + n as u8).bytes(&[0xEE; 3]);
                for inner in 0..2_u8 {
                    let x = n as f32 + f32::from(middle) / 4.0 + f32::from(inner) / 8.0;
                    row = row.f32(x).u8(inner).bytes(&[0xEE; 3]);
                }
            }
            self.add(topic, time(n), row.f32(-(n as f32)));
        }
        Ok(())
    }

    /// Adds rows with none, some, and all of the trailing padding.
    fn add_padded_rows(&mut self) -> Result<()> {
        let topic = self.log.subscribe(Subscription::new("padded"))?;
        for n in 0..20 {
            let row = Row::default().u8(n as u8).bytes(&[0xEE; 7]).u64(time(n));
            let row = row.f32(n as f32 / 2.0).u8(100 + n as u8);
            let padding = [0xEE; 3];
            let padding = padding.get(..n as usize % 4).unwrap_or_default();
            self.add(topic, time(n), row.bytes(padding));
        }
        Ok(())
    }

    /// Adds rows with timestamps that wrap around: those of 32 bits once, those of 16 bits
    /// 30 times.
    fn add_narrow_clock_rows(&mut self) -> Result<()> {
        let wide = self.log.subscribe(Subscription::new("clock32"))?;
        let narrow = self.log.subscribe(Subscription::new("clock16"))?;
        for n in 0..100_u16 {
            let time = time(20) + u64::from(n) * 20_000;
            self.add(wide, time, Row::default().u32(time as u32).u16(n));
            self.add(narrow, time, Row::default().u16(time as u16).u16(n));
        }
        Ok(())
    }

    /// Adds rows of instances that are unordered and not contiguous, and of a topic whose
    /// name is not a valid file name.
    fn add_instance_rows(&mut self) -> Result<()> {
        let instances =
            [3, 0, 1].map(|multi_id| (multi_id, Subscription::new("several")));
        let mut topics: Vec<(u8, TopicHandle)> = Vec::new();
        for (multi_id, topic) in instances {
            topics.push((multi_id, self.log.subscribe(topic.instance(multi_id))?));
        }
        let arm = self.log.subscribe(Subscription::new("robot/arm-1"))?;
        for n in 0..20 {
            for (multi_id, topic) in &topics {
                let time = time(n) + u64::from(*multi_id);
                self.add(*topic, time, Row::with_timestamp(time).u8(*multi_id));
            }
            let row = Row::with_timestamp(time(n)).f64(0.1).f64(n as f64 / 3.0);
            self.add(arm, time(n), row.f64(-1e300));
        }
        Ok(())
    }

    fn add_clockless_rows(&mut self) -> Result<()> {
        let topic = self.log.subscribe(Subscription::new("no_clock"))?;
        for n in 0..5_u8 {
            let row = Row::default().f32(f32::from(n) / 4.0);
            self.add(topic, time(21) + u64::from(n) * 400_000, row);
        }
        Ok(())
    }
}

/// Returns the bits of a float, with the same bits for every NaN.
fn bits(float: f32) -> u32 {
    if float.is_nan() { 0x7FC0_0000 } else { float.to_bits() }
}

/// Returns a double that differs slightly from `float`, so that no float represents it.
fn inexact_double(float: f32) -> f64 {
    if float.is_nan() {
        f64::from_bits(0xFFF8_0000_0000_0001)
    } else {
        f64::from(float) * (1.0 + f64::EPSILON)
    }
}
