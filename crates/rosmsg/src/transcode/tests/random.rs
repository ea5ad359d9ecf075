//! Random messages of random types, converted both ways, and with changed bytes.

use std::fmt::Write as _;

use super::{from_cdr, of_ros1, to_cdr};

/// A deterministic generator of random numbers (the upper bits of a linear congruence).
struct RandomNumbers(u64);

/// A random type: its definition, and the encoding of its messages.
struct Type {
    text: String,
    fields: Vec<(Kind, Times)>,
}

#[derive(Clone)]
enum Kind {
    /// This number of bytes, in this number of values.
    Number(usize),
    /// A field with the same bytes in both encodings.
    Time,
    Text,
    Nested(usize),
}

#[derive(Clone, Copy)]
enum Times {
    Once,
    Fixed(usize),
    Listed,
}

impl RandomNumbers {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((self.0 >> 33) % sides as u64) as usize
    }

    /// Returns types whose fields have later types only.
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
        for number in 0..self.roll(6) {
            let later = 4 - index - 1;
            let (name, kind) = match self.roll(if later > 0 { 10 } else { 7 }) {
                0..4 => {
                    let (name, size) = NUMBERS[self.roll(6)];
                    (name.to_owned(), Kind::Number(size))
                }
                4 => (["time", "duration"][self.roll(2)].to_owned(), Kind::Time),
                5 | 6 => ("string".to_owned(), Kind::Text),
                _ => {
                    let inner = index + 1 + self.roll(later);
                    (format!("T{inner}"), Kind::Nested(inner))
                }
            };
            let (array, times) = match self.roll(4) {
                0 => {
                    let count = self.roll(3);
                    (format!("[{count}]"), Times::Fixed(count))
                }
                1 => ("[]".to_owned(), Times::Listed),
                _ => (String::new(), Times::Once),
            };
            writeln!(text, "{name}{array} f{number}").unwrap();
            fields.push((kind, times));
        }
        Type { text, fields }
    }

    /// Writes a message of the type `index` in the encoding of ROS 1, and as CDR by its rules, one
    /// number after the other.
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
        for (kind, times) in types[index].fields.clone() {
            let count = match times {
                Times::Once => 1,
                Times::Fixed(count) => count,
                Times::Listed => {
                    let count = self.roll(4);
                    number(&(count as u32).to_le_bytes(), ros1, cdr);
                    count
                }
            };
            for _ in 0..count {
                match &kind {
                    Kind::Number(size) => {
                        let bytes: Vec<u8> =
                            (0..*size).map(|_| self.roll(256) as u8).collect();
                        number(&bytes, ros1, cdr);
                    }
                    Kind::Time => {
                        for most in [1 << 31, 1_000_000_000] {
                            let part = self.roll(most) as u32;
                            number(&part.to_le_bytes(), ros1, cdr);
                        }
                    }
                    Kind::Text => {
                        let text = &b"a\0bcde"[..self.roll(7)];
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

/// Appends a number to both; `cdr` has no encapsulation.
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
        for (index, of) in types.iter().enumerate().skip(1) {
            writeln!(text, "{}\nMSG: pkg/T{index}\n{}", "=".repeat(80), of.text)
                .unwrap();
        }
        let transcoder = of_ros1(&text);
        for _ in 0..3 {
            let (mut ros1, mut cdr) = (Vec::new(), Vec::new());
            random.write(&types, 0, &mut ros1, &mut cdr);
            let cdr = [&[0, 1, 0, 0], &cdr[..]].concat();
            assert_eq!(to_cdr(&transcoder, &ros1).as_ref(), Some(&cdr), "{text}");
            assert_eq!(from_cdr(&transcoder, &cdr).as_ref(), Some(&ros1), "{text}");
            // A changed byte gives another message or an error; but different times may be equal.
            let has_times = text.contains("time") || text.contains("duration");
            for at in 0..if has_times { 0 } else { ros1.len() } {
                let mut changed = ros1.clone();
                changed[at] ^= 1 << random.roll(8);
                if let Some(cdr) = to_cdr(&transcoder, &changed) {
                    assert_eq!(from_cdr(&transcoder, &cdr).as_ref(), Some(&changed));
                }
            }
            for at in 0..cdr.len() {
                let mut changed = cdr.clone();
                changed[at] ^= 1 << random.roll(8);
                let packed = from_cdr(&transcoder, &changed).unwrap_or_default();
                assert!(packed.len() <= changed.len(), "{text}");
            }
        }
    }
}
