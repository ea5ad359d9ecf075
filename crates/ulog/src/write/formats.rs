//! The formats that a log defines, and how long payloads of them are.

use std::{collections::BTreeMap, ops::RangeInclusive};

use logtool_core::{Error, ErrorKind, Result};

/// How deep types may be nested. (PX4 nests two deep.)
const MAX_DEPTH: u32 = 32;

/// The longest payload of a `D` message, of which 2 bytes are the id.
pub(super) const MAX_PAYLOAD: usize = u16::MAX as usize - 2;

/// All formats by their names.
#[derive(Debug, Default)]
pub(super) struct Formats {
    by_name: BTreeMap<String, Vec<Field>>,
}

#[derive(Debug)]
struct Field {
    element: String,
    count: usize,
    is_padding: bool,
}

/// A type as it stands before a name: `float`, or `uint8_t[4]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Type<'t> {
    element: &'t str,
    count: usize,
}

impl Formats {
    /// Takes in `name`, whose fields are written as `type name;type name;`.
    ///
    /// The types of the fields may come later.
    pub(super) fn add(&mut self, name: &str, fields: &str) -> Result<()> {
        if !is_name(name, b"_-/") || basic_size(name).is_some() {
            return Err(malformed(format!("a format cannot be called {name:?}")));
        }
        let fields = fields
            .split_terminator(';')
            .map(Field::parse)
            .collect::<Result<Vec<_>>>()
            .map_err(|err| {
                malformed(format!("the format {name:?}")).from_source(err)
            })?;
        if fields.is_empty() {
            return Err(malformed(format!("the format {name:?} has no fields")));
        }
        if self.by_name.contains_key(name) {
            return Err(malformed(format!("the format {name:?} is defined already")));
        }
        self.by_name.insert(name.to_owned(), fields);
        Ok(())
    }

    /// How long a payload of this format may be: it may lack the padding at its end.
    pub(super) fn payload_len(&self, name: &str) -> Result<RangeInclusive<usize>> {
        let mut known = BTreeMap::new();
        let full = self.size(name, MAX_DEPTH, &mut known)?;
        let fields = self.by_name.get(name).into_iter().flatten();
        let mut padding = 0;
        for field in fields.rev().take_while(|field| field.is_padding) {
            padding +=
                field.count * self.size(&field.element, MAX_DEPTH, &mut known)?;
        }
        Ok(full - padding..=full)
    }

    /// How long the type `name` is; `known` keeps what was found out.
    fn size<'f>(
        &'f self,
        name: &'f str,
        depth: u32,
        known: &mut BTreeMap<&'f str, usize>,
    ) -> Result<usize> {
        if let Some(size) = basic_size(name).or_else(|| known.get(name).copied()) {
            return Ok(size);
        }
        let Some(fields) = self.by_name.get(name) else {
            let what = format!("the log has no format {name:?}");
            return Err(Error::new(ErrorKind::NoSuch, what));
        };
        let Some(depth) = depth.checked_sub(1) else {
            let what = format!("the type {name:?} is nested too deep, or in itself");
            return Err(Error::new(ErrorKind::Limit, what));
        };
        let mut sum = 0_usize;
        for field in fields {
            let each = self.size(&field.element, depth, known)?;
            sum = sum.saturating_add(each.saturating_mul(field.count));
        }
        if sum > MAX_PAYLOAD {
            let what = format!("the format {name:?} is longer than a message");
            return Err(Error::new(ErrorKind::Limit, what));
        }
        known.insert(name, sum);
        Ok(sum)
    }
}

impl Field {
    fn parse(text: &str) -> Result<Self> {
        let (of_type, name) = split_typed(text)?;
        if !is_name(name, b"_") {
            return Err(malformed(format!("a field cannot be called {name:?}")));
        }
        Ok(Self {
            element: of_type.element.to_owned(),
            count: of_type.count,
            is_padding: name.starts_with("_padding"),
        })
    }
}

impl<'t> Type<'t> {
    fn parse(text: &'t str) -> Result<Self> {
        let Some((element, rest)) = text.split_once('[') else {
            return Ok(Self { element: text, count: 1 });
        };
        let count = rest.strip_suffix(']').and_then(|digits| digits.parse().ok());
        let count = count
            .ok_or_else(|| malformed(format!("{text:?} is no type of an array")))?;
        Ok(Self { element, count })
    }

    /// How long a value is, if the type is not made of others.
    pub(super) fn basic_size(self) -> Option<usize> {
        basic_size(self.element)?.checked_mul(self.count)
    }
}

/// Parts `type name`; the name may have spaces of its own, as infos do have.
pub(super) fn split_typed(text: &str) -> Result<(Type<'_>, &str)> {
    let (of_type, name) = text
        .split_once(' ')
        .filter(|(_, name)| !name.is_empty())
        .ok_or_else(|| malformed(format!("{text:?} is not a type and a name")))?;
    let of_type = Type::parse(of_type)?;
    if !is_name(of_type.element, b"_-/") {
        return Err(malformed(format!("{:?} is no type", of_type.element)));
    }
    Ok((of_type, name))
}

/// The types that are not made of others, by the table in the specification.
fn basic_size(name: &str) -> Option<usize> {
    Some(match name {
        "int8_t" | "uint8_t" | "bool" | "char" => 1,
        "int16_t" | "uint16_t" => 2,
        "int32_t" | "uint32_t" | "float" => 4,
        "int64_t" | "uint64_t" | "double" => 8,
        _ => return None,
    })
}

fn is_name(text: &str, besides: &[u8]) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || besides.contains(&byte);
    !text.is_empty() && text.bytes().all(fits)
}

fn malformed(what: String) -> Error {
    Error::new(ErrorKind::Malformed, what)
}
