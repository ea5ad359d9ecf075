//! Parses one `.msg` file: its topics, fields and constants, and which constants belong
//! to which field.

use std::{collections::BTreeMap, ops::RangeInclusive};

use logtool_core::{
    IntegerField, fields_for_constant, integer_constant, integer_values,
};

/// The message that a `.msg` file defines.
#[derive(Debug)]
pub(super) struct Definition {
    /// The names of the message, starting with its own name.
    pub(super) topics: Vec<String>,
    fields: Vec<Field>,
    constants: Vec<Constant>,
}

#[derive(Debug)]
struct Field {
    name: String,
    values: RangeInclusive<i64>,
    /// The prefix in its annotation, without the trailing `_`.
    prefix: Option<String>,
    type_name: String,
}

#[derive(Debug)]
struct Constant {
    name: String,
    value: i64,
    type_name: String,
    /// The index of the field that it directly follows, except for other constants
    /// between.
    follows: Option<usize>,
}

impl Definition {
    /// Parses the text of the file `name.msg`. Lines that are not recognized are
    /// skipped.
    pub(super) fn parse(name: &str, text: &str) -> Self {
        let mut parsed =
            Self { topics: vec![snake_case(name)], fields: vec![], constants: vec![] };
        let mut last_field = None;
        for line in text.lines() {
            let (code, comment) = line.split_once('#').unwrap_or((line, ""));
            if code.trim().is_empty() {
                parsed.add_topics(comment);
                last_field = None;
            } else if let Some((typed, value)) = code.split_once('=') {
                parsed.constants.extend(Constant::parse(typed, value, last_field));
            } else {
                let field = Field::parse(code, comment);
                last_field = field.is_some().then_some(parsed.fields.len());
                parsed.fields.extend(field);
            }
        }
        parsed
    }

    /// Returns the fields that have constants, with their constants.
    pub(super) fn labels(&self) -> BTreeMap<&str, Vec<(i64, &str)>> {
        let mut labels: BTreeMap<&str, Vec<(i64, &str)>> = BTreeMap::new();
        let fields: Vec<_> = self.fields.iter().map(Field::integers).collect();
        for constant in &self.constants {
            let mut matching =
                fields_for_constant(&fields, &constant.name, constant.value);
            if matching.is_empty() {
                let field = self.field_before(constant);
                matching.extend(field.and_then(|index| fields.get(index)));
            }
            for field in matching {
                let constants_of_field = labels.entry(field.name).or_default();
                constants_of_field.push((constant.value, &constant.name));
            }
        }
        labels
    }

    /// Returns the index of the field that `constant` directly follows, if it can be a
    /// value of that field: it must have the type of the field, and share its first
    /// word with another constant after the field.
    fn field_before(&self, constant: &Constant) -> Option<usize> {
        let index = constant.follows?;
        let field = self.fields.get(index)?;
        let word = first_word(&constant.name)?;
        let has_same_prefix = |other: &Constant| {
            other.follows == constant.follows
                && other.name != constant.name
                && first_word(&other.name) == Some(word)
        };
        let is_value = field.type_name == constant.type_name
            && field.values.contains(&constant.value)
            && !field.name.starts_with("timestamp");
        (is_value && self.constants.iter().any(has_same_prefix)).then_some(index)
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
    fn integers(&self) -> IntegerField<'_> {
        let (name, values) = (self.name.as_str(), self.values.clone());
        IntegerField { name, values, prefix: self.prefix.as_deref() }
    }

    /// Parses `uint8[4] x` with its comment. Returns `None` if the type is not an
    /// integer.
    fn parse(code: &str, comment: &str) -> Option<Self> {
        let (type_name, name) = two_words(code)?;
        let base = type_name.split('[').next()?;
        Some(Self {
            name: name.to_owned(),
            values: integer_values(base)?,
            prefix: annotation(comment),
            type_name: base.to_owned(),
        })
    }
}

impl Constant {
    /// Parses the two sides of `uint8 X = 1`. Returns `None` if the value is not an
    /// integer.
    fn parse(typed: &str, value: &str, follows: Option<usize>) -> Option<Self> {
        let (type_name, name) = two_words(typed)?;
        integer_values(type_name)?;
        Some(Self {
            name: name.to_owned(),
            value: integer_constant(value.trim())?,
            type_name: type_name.to_owned(),
            follows,
        })
    }
}

/// Returns the prefix in `[@enum PREFIX]`.
fn annotation(comment: &str) -> Option<String> {
    let (_, rest) = comment.split_once("[@enum")?;
    let (content, _) = rest.split_once(']')?;
    let prefix = content.split_whitespace().next()?.trim_end_matches('_');
    (!prefix.is_empty()).then(|| prefix.to_owned())
}

/// Returns the part of the name before its first `_`, if something follows.
fn first_word(name: &str) -> Option<&str> {
    let (word, rest) = name.split_once('_')?;
    (!rest.is_empty()).then_some(word)
}

fn two_words(code: &str) -> Option<(&str, &str)> {
    let mut words = code.split_whitespace();
    let pair = (words.next()?, words.next()?);
    words.next().is_none().then_some(pair)
}

/// Inserts an `_` before every capital letter except the first, and converts all
/// letters to lower case.
fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 8);
    for (index, letter) in name.char_indices() {
        if index > 0 && letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
