//! A JSON document in which the members of objects have the order of the text.

use std::fmt;

use indexmap::IndexMap;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};

/// A JSON value, as far as schemas need it.
#[derive(Debug)]
pub(super) enum Node {
    /// An object.
    Object(IndexMap<String, Node>),
    /// An array.
    Array(Vec<Node>),
    /// A string.
    Text(String),
    /// An integer that fits in 64 bits, with a sign or without.
    Integer(i128),
    /// Any other value.
    Other,
}

impl Node {
    /// Returns the member `name`, if this is an object that has it.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.get(name),
            _ => None,
        }
    }

    /// Returns the string, if this is one.
    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the elements, if this is an array.
    pub(super) fn elements(&self) -> Option<&[Self]> {
        match self {
            Self::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// Returns the value at `pointer`, a JSON pointer (RFC 6901), e.g. `/$defs/pose`.
    pub(super) fn pointer(&self, pointer: &str) -> Option<&Self> {
        pointer.strip_prefix('/')?.split('/').try_fold(self, |node, token| {
            let name = token.replace("~1", "/").replace("~0", "~");
            match node {
                Self::Array(elements) => elements.get(name.parse::<usize>().ok()?),
                node => node.get(&name),
            }
        })
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Integer(value.into()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut input: A) -> Result<Node, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = input.next_element()? {
            elements.push(element);
        }
        Ok(Node::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut input: A) -> Result<Node, A::Error> {
        let mut members = IndexMap::new();
        while let Some((name, value)) = input.next_entry()? {
            members.insert(name, value);
        }
        Ok(Node::Object(members))
    }
}
