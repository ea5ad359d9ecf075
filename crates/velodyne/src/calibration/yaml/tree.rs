//! A small part of YAML: maps, lists and plain values, of bounded size.

use saphyr_parser::{Event, Parser};

/// How deep maps and lists may be in each other.
const MAX_DEPTH: usize = 16;

/// More values than any calibration has.
const MAX_NODES: usize = 100_000;

/// A value.
#[derive(Debug)]
pub(super) enum Tree {
    /// What is neither of the others, as it is written.
    Plain(String),
    /// Values one after the other.
    List(Vec<Tree>),
    /// Values with names.
    Map(Vec<(String, Tree)>),
}

/// A map or list of which not all is read.
enum Open {
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>, Option<String>),
}

impl Tree {
    /// Reads the first document of `text`, or says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (mut open, mut nodes): (Vec<Open>, usize) = (vec![], 0);
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|err| err.to_string())?;
            let line = span.start.line();
            nodes += 1;
            if nodes > MAX_NODES || open.len() > MAX_DEPTH {
                return Err(format!("line {line}: more than a calibration has"));
            }
            let done = match event {
                Event::SequenceStart(..) => {
                    open.push(Open::List(vec![]));
                    continue;
                }
                Event::MappingStart(..) => {
                    open.push(Open::Map(vec![], None));
                    continue;
                }
                Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                    Some(Open::List(items)) => Self::List(items),
                    Some(Open::Map(items, _)) => Self::Map(items),
                    None => return Err(format!("line {line}: an end of nothing")),
                },
                Event::Scalar(value, ..) => Self::Plain(value.into_owned()),
                Event::Alias(_) => return Err(format!("line {line}: an alias")),
                _ => continue,
            };
            match open.last_mut() {
                None => return Ok(done),
                Some(Open::List(items)) => items.push(done),
                Some(Open::Map(items, key)) => match (key.take(), done) {
                    (Some(key), value) => items.push((key, value)),
                    (None, Self::Plain(text)) => *key = Some(text),
                    (None, _) => return Err(format!("line {line}: a name of no text")),
                },
            }
        }
        Err("it is empty".to_owned())
    }

    /// What a map has under `key`.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(items) = self else { return None };
        items.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The finite number that a map has under `key`, if it has something there; or what it
    /// has instead.
    pub(super) fn number(&self, key: &str) -> Result<Option<f64>, String> {
        self.value(key, "number", |text| {
            text.parse().ok().filter(|value: &f64| value.is_finite())
        })
    }

    /// The truth that a map has under `key`, likewise.
    pub(super) fn truth(&self, key: &str) -> Result<Option<bool>, String> {
        self.value(key, "truth", |text| match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" => Some(false),
            _ => None,
        })
    }

    /// A name in a map that is a number: what is left of one with a comma in it.
    pub(super) fn stray_number(&self) -> Option<&str> {
        let Self::Map(items) = self else { return None };
        let is_number = |name: &&str| name.parse::<f64>().is_ok();
        items.iter().map(|(name, _)| name.as_str()).find(is_number)
    }

    fn value<T>(
        &self,
        key: &str,
        what: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, String> {
        match self.get(key) {
            None => Ok(None),
            Some(Self::Plain(text)) if ["", "~", "null"].contains(&text.as_str()) => {
                Ok(None)
            }
            Some(Self::Plain(text)) => match read(text) {
                Some(value) => Ok(Some(value)),
                None => Err(format!("`{key}` is no {what}: {text:?}")),
            },
            Some(_) => Err(format!("`{key}` is no {what}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_write_a_map_are_read() {
        for text in ["a:\n- b: 1.5\n  c: true\n", "{a: [{b: 1.5, c: true}]}"] {
            let tree = Tree::parse(text).unwrap();
            let Some(Tree::List(items)) = tree.get("a") else { panic!("{tree:?}") };
            assert_eq!(items[0].number("b"), Ok(Some(1.5)));
            assert_eq!(items[0].truth("c"), Ok(Some(true)));
            assert_eq!(items[0].number("d"), Ok(None));
            assert!(items[0].number("c").is_err() && items[0].truth("b").is_err());
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
    fn aliases_and_depth_are_refused() {
        assert!(Tree::parse("a: &x 1\nb: *x\n").is_err());
        assert!(Tree::parse(&"[".repeat(100_000)).is_err());
        assert!(Tree::parse("").is_err());
    }
}
