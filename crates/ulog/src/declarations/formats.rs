//! Converts the text of format messages to layouts.
//!
//! A format may refer to types that are defined later. So a layout is computed only
//! when a topic is subscribed.

use std::{collections::HashMap, sync::Arc};

use logtool_core::{
    Error, ErrorKind, FieldRole, Layout, LayoutField, LayoutKind, Primitive, Result,
};

/// The type of timestamps that can be read without any state.
const TIME: LayoutKind = LayoutKind::Primitive(Primitive::U64);

/// The maximum nesting depth of types. A deeper type could not be read back from the
/// JSON of a manifest, which nests several times as deep.
const MAX_DEPTH: u32 = 16;
/// The length of the longest record that fits into a data message.
const MAX_RECORD_LEN: u32 = u16::MAX as u32 - 2;
/// The maximum number of formats.
const MAX_FORMATS: usize = 1 << 16;
/// The maximum number of redefinitions.
const MAX_REDEFINED: u32 = 1 << 10;
/// The maximum total length of all formats, in bytes.
const MAX_FORMAT_BYTES: usize = 64 << 20;
/// The maximum number of bytes of formats that are parsed in total. It stops a file
/// that defines and uses types again and again.
const MAX_PARSED_BYTES: usize = 256 << 20;

/// The formats that a log has defined so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Formats {
    texts: HashMap<String, String>,
    bytes: usize,
    layouts: HashMap<String, NestedLayout>,
    /// The layouts of records, in which a field may be the time.
    records: HashMap<String, Arc<Layout>>,
    /// Types without a layout, and the reason. Cleared when another type is defined.
    invalid: HashMap<String, (ErrorKind, String)>,
    /// The number of bytes of formats that were parsed.
    parsed_bytes: usize,
    redefined: u32,
}

/// A layout and its nesting depth, which is 1 if it contains no other types.
#[derive(Clone, Debug)]
struct NestedLayout {
    layout: Arc<Layout>,
    depth: u32,
}

/// The effect of a format message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefineResult {
    /// The type is new.
    New,
    /// The type has the same definition as before.
    Unchanged,
    /// The type had a different definition. Later subscriptions use the new one.
    Redefined,
    /// There are too many formats.
    TooMany,
}

impl Formats {
    /// Defines the type `name`.
    pub(crate) fn define(&mut self, name: &str, fields: &str) -> DefineResult {
        match self.texts.get(name) {
            Some(old) if old == fields => return DefineResult::Unchanged,
            Some(_) if self.redefined >= MAX_REDEFINED => return DefineResult::TooMany,
            None if self.texts.len() >= MAX_FORMATS => return DefineResult::TooMany,
            _ if self.bytes + fields.len() > MAX_FORMAT_BYTES => {
                return DefineResult::TooMany;
            }
            _ => {}
        }
        self.bytes += fields.len();
        self.invalid.clear();
        match self.texts.insert(name.to_owned(), fields.to_owned()) {
            None => DefineResult::New,
            Some(_) => {
                self.redefined += 1;
                self.layouts.clear(); // other types may contain it
                self.records.clear();
                DefineResult::Redefined
            }
        }
    }

    /// Returns the text of the fields of the type `name`.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }

    /// Returns true if the type `name` is defined.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.texts.contains_key(name)
    }

    /// Returns the names and texts of all types.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// Returns the layout of the records of the type `name`.
    pub(crate) fn layout(&mut self, name: &str) -> Result<Arc<Layout>> {
        if let Some(layout) = self.records.get(name) {
            return Ok(layout.clone());
        }
        if let Some((kind, reason)) = self.invalid.get(name) {
            return Err(Error::new(*kind, reason.clone()));
        }
        let inner = self.resolve(name, 0).inspect_err(|err| {
            self.invalid.insert(name.to_owned(), (err.kind(), err.to_string()));
        })?;
        let mut layout = Layout::clone(&inner.layout);
        let is_time = |field: &&mut LayoutField| {
            field.name == "timestamp" && field.count.is_none() && field.kind == TIME
        };
        // Only a timestamp of the record itself is its time; in nested types it is a
        // plain field.
        if let Some(time) = layout.fields.iter_mut().find(is_time) {
            time.role = FieldRole::Time;
        }
        let layout = Arc::new(layout);
        self.records.insert(name.to_owned(), layout.clone());
        Ok(layout)
    }

    /// Returns the offset of the time in records of the type `name`, which has no
    /// layout. This is possible if the fields before the timestamp are valid. A
    /// timestamp whose type cannot be read is assumed to have 64 bits, the only width
    /// in use.
    pub(crate) fn time_offset(&mut self, name: &str) -> Option<u32> {
        let text = self.texts.get(name)?.clone();
        self.parsed_bytes += text.len();
        if self.parsed_bytes > MAX_PARSED_BYTES {
            return None;
        }
        let mut preceding_fields = Vec::new();
        for field in text.split(';').map(str::trim) {
            let parsed = self.field(name, field, 0);
            let is_time = field.ends_with(" timestamp");
            match parsed {
                Ok((field, _)) if !is_time => preceding_fields.push(field),
                Ok((LayoutField { kind: TIME, count: None, .. }, _)) => break,
                Err(_) if is_time => break,
                _ => return None,
            }
        }
        Layout::from_fields(name.to_owned(), preceding_fields)
            .ok()
            .map(|layout| layout.size)
    }

    /// Returns the layout of the type `name`, which is nested in `outer_depth` other types.
    fn resolve(&mut self, name: &str, outer_depth: u32) -> Result<NestedLayout> {
        if let Some(nested) = self.layouts.get(name) {
            return Ok(nested.clone());
        }
        let short_name = shorten(name);
        let too_deep = || {
            malformed(format!("{short_name:?} is nested too deeply or contains itself"))
        };
        if outer_depth >= MAX_DEPTH {
            return Err(too_deep());
        }
        let Some(text) = self.texts.get(name).cloned() else {
            return Err(malformed(format!("the type {short_name:?} is not defined")));
        };
        self.parsed_bytes += text.len();
        if self.parsed_bytes > MAX_PARSED_BYTES {
            return Err(Error::new(ErrorKind::Limit, "over 256 MiB of formats"));
        }
        let (mut fields, mut depth) = (Vec::new(), 1);
        for field in text.split(';').map(str::trim).filter(|field| !field.is_empty()) {
            let (field, inner_depth) = self.field(name, field, outer_depth)?;
            depth = depth.max(inner_depth + 1);
            fields.push(field);
        }
        let layout = Arc::new(Layout::from_fields(name.to_owned(), fields)?);
        if layout.size > MAX_RECORD_LEN {
            return Err(malformed(format!(
                "{short_name:?} is larger than the longest record"
            )));
        }
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        let nested = NestedLayout { layout, depth };
        self.layouts.insert(name.to_owned(), nested.clone());
        Ok(nested)
    }

    /// Parses a field such as `float[3] x`. Returns it without an offset, and the
    /// nesting depth of its type.
    fn field(
        &mut self,
        struct_name: &str,
        text: &str,
        outer_depth: u32,
    ) -> Result<(LayoutField, u32)> {
        let invalid = || {
            let (struct_name, text) = (shorten(struct_name), shorten(text));
            malformed(format!("{struct_name:?} has the invalid field {text:?}"))
        };
        let (type_name, name) =
            text.split_once(char::is_whitespace).ok_or_else(invalid)?;
        let name = name.trim();
        let (base, count) = split_array(type_name).ok_or_else(invalid)?;
        let (kind, depth) = match primitive(base) {
            Some(primitive) => (LayoutKind::Primitive(primitive), 0),
            None => {
                let NestedLayout { layout, depth } =
                    self.resolve(base, outer_depth + 1)?;
                (LayoutKind::Nested(layout), depth)
            }
        };
        let role = if name.starts_with("_padding") {
            FieldRole::Hidden
        } else {
            FieldRole::Plain
        };
        let name = name.to_owned();
        Ok((LayoutField { name, kind, count, offset: 0, role }, depth))
    }
}

/// Splits `float[3]` into `float` and 3; returns `float` with `None`.
pub(crate) fn split_array(type_name: &str) -> Option<(&str, Option<u32>)> {
    match type_name.split_once('[') {
        None => Some((type_name, None)),
        Some((base, after_bracket)) => {
            let count = after_bracket.strip_suffix(']')?.parse().ok()?;
            Some((base, Some(count)))
        }
    }
}

/// Returns the primitive type with the ULog name `name`.
pub(crate) fn primitive(name: &str) -> Option<Primitive> {
    Some(match name {
        "int8_t" => Primitive::I8,
        "uint8_t" => Primitive::U8,
        "int16_t" => Primitive::I16,
        "uint16_t" => Primitive::U16,
        "int32_t" => Primitive::I32,
        "uint32_t" => Primitive::U32,
        "int64_t" => Primitive::I64,
        "uint64_t" => Primitive::U64,
        "float" => Primitive::F32,
        "double" => Primitive::F64,
        "bool" => Primitive::Bool,
        "char" => Primitive::Char,
        _ => return None,
    })
}

/// Returns the first 80 characters of a name or a field. It may be 64 KiB long, and an error
/// with this text is stored for every topic that uses it.
fn shorten(text: &str) -> &str {
    let end = text.char_indices().nth(80).map_or(text.len(), |(index, _)| index);
    text.get(..end).unwrap_or(text)
}

fn malformed(message: String) -> Error {
    Error::new(ErrorKind::Malformed, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_may_be_used_before_they_are_defined() {
        let mut formats = Formats::default();
        formats.define("att", "uint64_t timestamp;inner[2] i;uint8_t[3] _padding0;");
        assert!(formats.layout("att").is_err());
        formats.define("inner", "float x;uint8_t y;");
        let layout = formats.layout("att").unwrap();
        assert_eq!((layout.size, layout.size_without_padding()), (21, 18));
        assert_eq!(layout.fields[0].role, FieldRole::Time);
    }

    #[test]
    fn type_that_contains_itself_is_error() {
        let mut formats = Formats::default();
        formats.define("a", "b x;");
        formats.define("b", "a[2] y;");
        assert!(formats.layout("a").is_err());
    }

    #[test]
    fn types_nested_too_deeply_are_error_in_any_order() {
        let mut formats = Formats::default();
        formats.define("t1", "float x;");
        for depth in 2..40 {
            formats.define(&format!("t{depth}"), &format!("t{} x;", depth - 1));
        }
        assert!(formats.layout("t17").is_err());
        for depth in 1..40 {
            let layout = formats.layout(&format!("t{depth}"));
            assert_eq!(layout.is_ok(), depth <= 16, "{depth} deep");
        }
    }

    #[test]
    fn type_larger_than_longest_record_is_error() {
        let mut formats = Formats::default();
        formats.define("a", "uint8_t[65533] x;");
        formats.define("b", "uint8_t[65534] x;");
        formats.define("c", "double[4294967295] x;");
        assert_eq!(formats.layout("a").unwrap().size, 65_533);
        assert!(formats.layout("b").is_err());
        assert!(formats.layout("c").is_err());
    }

    #[test]
    fn irregular_white_space_is_accepted() {
        let mut formats = Formats::default();
        formats.define("a", " uint64_t  timestamp ; float[2] x ;;");
        assert_eq!(formats.layout("a").unwrap().size, 16);
        assert_eq!(formats.define("a", "float x;"), DefineResult::Redefined);
        assert_eq!(formats.layout("a").unwrap().size, 4);
    }
}
