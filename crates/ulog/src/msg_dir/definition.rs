//! One `.msg` file: its topics, fields and constants, and which of them belong together.

use std::collections::BTreeMap;

/// The message that a `.msg` file defines.
#[derive(Debug)]
pub(super) struct Definition {
    /// The names it goes by, its own first.
    pub(super) topics: Vec<String>,
    fields: Vec<Field>,
    constants: Vec<Constant>,
}

#[derive(Debug)]
struct Field {
    name: String,
    base: Integer,
    /// The prefix in its annotation, without the `_` at the end.
    prefix: Option<String>,
}

#[derive(Debug)]
struct Constant {
    name: String,
    value: i64,
}

/// An integer type, by the numbers that it can hold.
#[derive(Clone, Copy, Debug)]
struct Integer {
    min: i64,
    /// That of `uint64` is cut to what a label's value may be.
    max: i64,
}

impl Definition {
    /// Parses the text of the file `name.msg`; lines that say neither are skipped.
    pub(super) fn parse(name: &str, text: &str) -> Self {
        let mut parsed =
            Self { topics: vec![snake_case(name)], fields: vec![], constants: vec![] };
        for line in text.lines() {
            let (code, comment) = line.split_once('#').unwrap_or((line, ""));
            if code.trim().is_empty() {
                parsed.add_topics(comment);
            } else if let Some((typed, value)) = code.split_once('=') {
                parsed.constants.extend(Constant::parse(typed, value));
            } else {
                parsed.fields.extend(Field::parse(code, comment));
            }
        }
        parsed
    }

    /// The fields that have constants, and those.
    pub(super) fn labels(&self) -> BTreeMap<&str, Vec<(i64, &str)>> {
        let mut labels: BTreeMap<&str, Vec<(i64, &str)>> = BTreeMap::new();
        for constant in &self.constants {
            for field in self.owners(constant) {
                let of_field = labels.entry(&field.name).or_default();
                of_field.push((constant.value, &constant.name));
            }
        }
        labels
    }

    /// The fields that a constant belongs to: several if they share a prefix.
    fn owners(&self, constant: &Constant) -> Vec<&Field> {
        let fit = |field: &&Field| field.base.holds(constant.value);
        let prefixes = |field: &Field| -> Option<usize> {
            constant.length_of_prefix(field.prefix.as_deref()?)
        };
        let names = |field: &Field| -> Option<usize> {
            constant.length_of_prefix(&field.name.to_uppercase())
        };
        let longest = |length: &dyn Fn(&Field) -> Option<usize>| -> Vec<&Field> {
            let fields = || self.fields.iter().filter(fit);
            match fields().filter_map(length).max() {
                Some(max) => {
                    fields().filter(|field| length(field) == Some(max)).collect()
                }
                None => vec![],
            }
        };
        let annotated = longest(&prefixes);
        if annotated.is_empty() { longest(&names) } else { annotated }
    }

    fn add_topics(&mut self, comment: &str) {
        let mut words = comment.split_whitespace();
        if words.next() == Some("TOPICS") {
            for topic in words.map(snake_case) {
                if !self.topics.contains(&topic) {
                    self.topics.push(topic);
                }
            }
        }
    }
}

impl Field {
    /// Parses `uint8[4] x` with its comment; none unless it is of integers.
    fn parse(code: &str, comment: &str) -> Option<Self> {
        let (type_name, name) = two_words(code)?;
        let base = type_name.split('[').next()?;
        Some(Self {
            name: name.to_owned(),
            base: Integer::from_name(base)?,
            prefix: annotation(comment),
        })
    }
}

impl Constant {
    /// Parses the two sides of `uint8 X = 1`; none unless it is an integer.
    fn parse(typed: &str, value: &str) -> Option<Self> {
        let (type_name, name) = two_words(typed)?;
        Integer::from_name(type_name)?;
        Some(Self { name: name.to_owned(), value: parse_integer(value.trim())? })
    }

    /// The length of `prefix` if the name starts with it, an `_`, and something else.
    fn length_of_prefix(&self, prefix: &str) -> Option<usize> {
        let rest = self.name.strip_prefix(prefix)?.strip_prefix('_')?;
        (!rest.is_empty()).then_some(prefix.len())
    }
}

impl Integer {
    fn from_name(name: &str) -> Option<Self> {
        let (min, max) = match name {
            "int8" => (i8::MIN.into(), i8::MAX.into()),
            "int16" => (i16::MIN.into(), i16::MAX.into()),
            "int32" => (i32::MIN.into(), i32::MAX.into()),
            "int64" => (i64::MIN, i64::MAX),
            "uint8" => (0, u8::MAX.into()),
            "uint16" => (0, u16::MAX.into()),
            "uint32" => (0, u32::MAX.into()),
            "uint64" => (0, i64::MAX),
            _ => return None,
        };
        Some(Self { min, max })
    }

    fn holds(self, value: i64) -> bool {
        (self.min..=self.max).contains(&value)
    }
}

/// The prefix in `[@enum PREFIX]`.
fn annotation(comment: &str) -> Option<String> {
    let (_, rest) = comment.split_once("[@enum")?;
    let (inside, _) = rest.split_once(']')?;
    let prefix = inside.split_whitespace().next()?.trim_end_matches('_');
    (!prefix.is_empty()).then(|| prefix.to_owned())
}

fn two_words(code: &str) -> Option<(&str, &str)> {
    let mut words = code.split_whitespace();
    let pair = (words.next()?, words.next()?);
    words.next().is_none().then_some(pair)
}

fn parse_integer(text: &str) -> Option<i64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Sets an `_` before every capital but the first, and makes all letters small.
fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 8);
    for (at, letter) in name.char_indices() {
        if at > 0 && letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
