//! Random messages of random types are converted in both directions, also with changed bytes.

use std::fmt::Write as _;

use super::{from_cdr, from_ros1_text, to_cdr};

/// A deterministic generator of random numbers (a linear congruential generator).
struct RandomNumbers(u64);

/// A random type: the lines of its definition, and the kinds of its fields.
struct Type {
    text: String,
    fields: Vec<(Kind, Repetition)>,
}

#[derive(Clone)]
enum Kind {
    /// A number with this number of bytes.
    Number(usize),
    /// A time or a duration.
    Time,
    Text,
    /// The type with this index.
    Nested(usize),
}

#[derive(Clone, Copy)]
enum Repetition {
    /// A single value.
    Once,
    /// An array.
    Fixed(usize),
    /// A list.
    Listed,
}

impl RandomNumbers {
    /// Returns a number below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // The lower bits are less random.
        ((self.0 >> 33) % end as u64) as usize
    }

    /// Returns four types. The fields of each have only types with a higher index, so that no type
    /// contains itself.
    fn types(&mut self) -> Vec<Type> {
        (0..4).map(|index| self.random_type(index)).collect()
    }

    fn random_type(&mut self, index: usize) -> Type {
        const NUMBERS: [(&str, usize); 6] = [
            ("bool", 1),
            ("int8", 1),
            ("uint16", 2),
            ("float32", 4),
            ("int64", 8),
            ("float64", 8),
        ];
        let (mut text, mut fields) = (String::new(), Vec::new());
        for number in 0..self.below(6) {
            let later_types = 4 - index - 1;
            let (name, kind) = match self.below(if later_types > 0 { 10 } else { 7 }) {
                0..4 => {
                    let (name, size) = NUMBERS[self.below(6)];
                    (name.to_owned(), Kind::Number(size))
                }
                4 => (["time", "duration"][self.below(2)].to_owned(), Kind::Time),
                5 | 6 => ("string".to_owned(), Kind::Text),
                _ => {
                    let inner = index + 1 + self.below(later_types);
                    (format!("T{inner}"), Kind::Nested(inner))
                }
            };
            let (array, repetition) = match self.below(4) {
                0 => {
                    let count = self.below(3);
                    (format!("[{count}]"), Repetition::Fixed(count))
                }
                1 => ("[]".to_owned(), Repetition::Listed),
                _ => (String::new(), Repetition::Once),
            };
            writeln!(text, "{name}{array} f{number}").unwrap();
            fields.push((kind, repetition));
        }
        Type { text, fields }
    }

    /// Writes a message of the type `index` in the encoding of ROS 1 and in CDR, number by number.
    fn write(
        &mut self,
        types: &[Type],
        index: usize,
        ros1: &mut Vec<u8>,
        cdr: &mut Vec<u8>,
    ) {
        if types[index].fields.is_empty() {
            cdr.push(0);
        }
        for (kind, repetition) in types[index].fields.clone() {
            let count = match repetition {
                Repetition::Once => 1,
                Repetition::Fixed(count) => count,
                Repetition::Listed => {
                    let count = self.below(4);
                    number(&(count as u32).to_le_bytes(), ros1, cdr);
                    count
                }
            };
            for _ in 0..count {
                match &kind {
                    Kind::Number(size) => {
                        let bytes: Vec<u8> =
                            (0..*size).map(|_| self.below(256) as u8).collect();
                        number(&bytes, ros1, cdr);
                    }
                    Kind::Time => {
                        // Seconds and nanoseconds that are the same in both encodings.
                        for end in [1 << 31, 1_000_000_000] {
                            let value = self.below(end) as u32;
                            number(&value.to_le_bytes(), ros1, cdr);
                        }
                    }
                    Kind::Text => {
                        let text = &b"a\0bcde"[..self.below(7)];
                        ros1.extend((text.len() as u32).to_le_bytes());
                        number(
                            &(text.len() as u32 + 1).to_le_bytes(),
                            &mut vec![],
                            cdr,
                        );
                        ros1.extend(text);
                        cdr.extend(text);
                        cdr.push(0);
                    }
                    Kind::Nested(inner) => self.write(types, *inner, ros1, cdr),
                }
            }
        }
    }
}

/// Appends a number to both messages. `cdr` has no encapsulation.
fn number(bytes: &[u8], ros1: &mut Vec<u8>, cdr: &mut Vec<u8>) {
    ros1.extend(bytes);
    while !cdr.len().is_multiple_of(bytes.len()) {
        cdr.push(0);
    }
    cdr.extend(bytes);
}

#[test]
fn random_messages_are_converted_to_cdr_and_back() {
    let mut random = RandomNumbers(20_261_121);
    for _ in 0..300 {
        let types = random.types();
        let mut text = types[0].text.clone();
        for (index, inner) in types.iter().enumerate().skip(1) {
            writeln!(text, "{}\nMSG: pkg/T{index}\n{}", "=".repeat(80), inner.text)
                .unwrap();
        }
        let transcoder = from_ros1_text(&text);
        for _ in 0..3 {
            let (mut ros1, mut cdr) = (Vec::new(), Vec::new());
            random.write(&types, 0, &mut ros1, &mut cdr);
            let cdr = [&[0, 1, 0, 0], &cdr[..]].concat();
            assert_eq!(to_cdr(&transcoder, &ros1).as_ref(), Some(&cdr), "{text}");
            assert_eq!(from_cdr(&transcoder, &cdr).as_ref(), Some(&ros1), "{text}");
            // A changed byte results in another message or an error. Only different bytes of times
            // may be normalized to the same time.
            let has_times = text.contains("time") || text.contains("duration");
            let reversible_bytes = if has_times { 0 } else { ros1.len() };
            for index in 0..reversible_bytes {
                let mut changed = ros1.clone();
                changed[index] ^= 1 << random.below(8);
                if let Some(cdr) = to_cdr(&transcoder, &changed) {
                    assert_eq!(from_cdr(&transcoder, &cdr).as_ref(), Some(&changed));
                }
            }
            for index in 0..cdr.len() {
                let mut changed = cdr.clone();
                changed[index] ^= 1 << random.below(8);
                let packed = from_cdr(&transcoder, &changed).unwrap_or_default();
                assert!(packed.len() <= changed.len(), "{text}");
            }
        }
    }
}
