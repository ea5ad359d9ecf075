//! Parses a subset of YAML with bounded size: maps, lists and plain values.

use saphyr_parser::{Event, Parser};

/// The maximum nesting depth.
const MAX_DEPTH: usize = 16;

/// The maximum number of parser events. No calibration has that many.
const MAX_EVENTS: usize = 100_000;

/// A parsed value.
#[derive(Debug)]
pub(super) enum Tree {
    /// The text of a scalar.
    Plain(String),
    /// A list.
    List(Vec<Tree>),
    /// A map.
    Map(Vec<(String, Tree)>),
}

/// A list or map whose end was not parsed yet.
enum OpenNode {
    List(Vec<Tree>),
    /// The complete items, and the key of the next item.
    Map(Vec<(String, Tree)>, Option<String>),
}

impl Tree {
    /// Parses the first document of `text`, or returns a description of the error.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut open: Vec<OpenNode> = vec![];
        for (count, event) in Parser::new_from_str(text).enumerate() {
            let (event, span) = event.map_err(|err| err.to_string())?;
            let line = span.start.line();
            if count >= MAX_EVENTS || open.len() > MAX_DEPTH {
                return Err(format!("line {line}: too large for a calibration"));
            }
            let node = match event {
                Event::SequenceStart(..) => {
                    open.push(OpenNode::List(vec![]));
                    continue;
                }
                Event::MappingStart(..) => {
                    open.push(OpenNode::Map(vec![], None));
                    continue;
                }
                Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                    Some(OpenNode::List(items)) => Self::List(items),
                    Some(OpenNode::Map(items, _)) => Self::Map(items),
                    None => return Err(format!("line {line}: unexpected end")),
                },
                Event::Scalar(value, ..) => Self::Plain(value.into_owned()),
                Event::Alias(_) => {
                    return Err(format!("line {line}: aliases are not supported"));
                }
                _ => continue,
            };
            match open.last_mut() {
                None => return Ok(node),
                Some(OpenNode::List(items)) => items.push(node),
                Some(OpenNode::Map(items, key)) => match (key.take(), node) {
                    (Some(key), value) => items.push((key, value)),
                    (None, Self::Plain(text)) => *key = Some(text),
                    (None, _) => return Err(format!("line {line}: a key is not text")),
                },
            }
        }
        Err("the file is empty".to_owned())
    }

    /// Returns the value of `key` in a map.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(items) = self else { return None };
        items.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns the finite number at `key` in a map, `None` if there is no value, or an
    /// error that quotes another value.
    pub(super) fn number(&self, key: &str) -> Result<Option<f64>, String> {
        self.value(key, "number", |text| {
            text.parse().ok().filter(|value: &f64| value.is_finite())
        })
    }

    /// Returns the boolean at `key` in a map, `None` if there is no value, or an error
    /// that quotes another value.
    pub(super) fn boolean(&self, key: &str) -> Result<Option<bool>, String> {
        self.value(key, "boolean", |text| match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" => Some(false),
            _ => None,
        })
    }

    /// Returns a key of a map that is a number, if there is one. Such a key is the part of a
    /// number after a decimal comma: YAML splits `{a: 1,5}` at the comma.
    pub(super) fn numeric_key(&self) -> Option<&str> {
        let Self::Map(items) = self else { return None };
        let is_number = |key: &&str| key.parse::<f64>().is_ok();
        items.iter().map(|(key, _)| key.as_str()).find(is_number)
    }

    fn value<T>(
        &self,
        key: &str,
        type_name: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, String> {
        match self.get(key) {
            None => Ok(None),
            Some(Self::Plain(text)) if ["", "~", "null"].contains(&text.as_str()) => {
                Ok(None)
            }
            Some(Self::Plain(text)) => match parse(text) {
                Some(value) => Ok(Some(value)),
                None => Err(format!("`{key}` is not a {type_name}: {text:?}")),
            },
            Some(_) => Err(format!("`{key}` is not a {type_name}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_and_flow_maps_are_parsed() {
        for text in ["a:\n- b: 1.5\n  c: true\n", "{a: [{b: 1.5, c: true}]}"] {
            let tree = Tree::parse(text).unwrap();
            let Some(Tree::List(items)) = tree.get("a") else { panic!("{tree:?}") };
            assert_eq!(items[0].number("b"), Ok(Some(1.5)));
            assert_eq!(items[0].boolean("c"), Ok(Some(true)));
            assert_eq!(items[0].number("d"), Ok(None));
            assert!(items[0].number("c").is_err() && items[0].boolean("b").is_err());
        }
    }

    #[test]
    fn numbers_are_rounded_correctly() {
        logtool_core::conformance::check_float_parser(|text| {
            let tree = Tree::parse(&format!("a: {text}\n")).unwrap();
            tree.number("a").unwrap().unwrap()
        });
    }

    #[test]
    fn aliases_deep_nesting_and_empty_texts_are_rejected() {
        assert!(Tree::parse("a: &x 1\nb: *x\n").is_err());
        assert!(Tree::parse(&"[".repeat(100_000)).is_err());
        assert!(Tree::parse("").is_err());
    }
}
