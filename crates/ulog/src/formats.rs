//! From the text of format messages to layouts.
//!
//! A format names its types before or after they are defined, so nothing is laid out
//! until somebody subscribes to it.

use std::{collections::HashMap, sync::Arc};

use logtool_core::{
    Error, ErrorKind, FieldRole, Layout, LayoutField, LayoutKind, Primitive, Result,
};

/// The type of timestamps that need nothing else to be read.
const TIME: LayoutKind = LayoutKind::Primitive(Primitive::U64);

/// How deep types may be nested in each other; deeper ones would not come back from the
/// text of a manifest, in which JSON nests several times as deep.
const MAX_DEPTH: u32 = 16;
/// The longest record that a data message can hold.
const MAX_RECORD_LEN: u32 = u16::MAX as u32 - 2;
/// How many formats are kept, and how many bytes of them.
const MAX_FORMATS: usize = 1 << 16;
/// How often types may be defined anew.
const MAX_REDEFINED: u32 = 1 << 10;
const MAX_TEXT: usize = 64 << 20;
/// How many bytes of formats are looked at in all, so that a file that defines and
/// uses types over and over ends.
const MAX_WORK: usize = 256 << 20;

/// The formats that a log has defined so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Formats {
    texts: HashMap<String, String>,
    bytes: usize,
    layouts: HashMap<String, Nested>,
    /// The layouts of records, of which a field may be the time.
    records: HashMap<String, Arc<Layout>>,
    /// Types that cannot be laid out, and why; until the next one is defined.
    broken: HashMap<String, (ErrorKind, String)>,
    work: usize,
    redefined: u32,
}

/// A layout, and how deep types are nested in it: 1 where none are.
#[derive(Clone, Debug)]
struct Nested {
    layout: Arc<Layout>,
    depth: u32,
}

/// What came of defining a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defined {
    /// It is new.
    New,
    /// It was defined like this before.
    Again,
    /// It was defined otherwise before; what subscribes from here on gets this one.
    Otherwise,
    /// There are too many formats.
    TooMany,
}

impl Formats {
    /// Defines the type `name`.
    pub(crate) fn define(&mut self, name: &str, fields: &str) -> Defined {
        match self.texts.get(name) {
            Some(old) if old == fields => return Defined::Again,
            Some(_) if self.redefined >= MAX_REDEFINED => return Defined::TooMany,
            None if self.texts.len() >= MAX_FORMATS => return Defined::TooMany,
            _ if self.bytes + fields.len() > MAX_TEXT => return Defined::TooMany,
            _ => {}
        }
        self.bytes += fields.len();
        self.broken.clear();
        match self.texts.insert(name.to_owned(), fields.to_owned()) {
            None => Defined::New,
            Some(_) => {
                self.redefined += 1;
                self.layouts.clear(); // what contains it means something else now
                self.records.clear();
                Defined::Otherwise
            }
        }
    }

    /// The text of the fields of the type `name`.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }

    /// Whether the type `name` is defined.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.texts.contains_key(name)
    }

    /// The names and texts of all types.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// The layout of the records of the type `name`.
    pub(crate) fn layout(&mut self, name: &str) -> Result<Arc<Layout>> {
        if let Some(layout) = self.records.get(name) {
            return Ok(layout.clone());
        }
        if let Some((kind, why)) = self.broken.get(name) {
            return Err(Error::new(*kind, why.clone()));
        }
        let inner = self.resolve(name, 0).inspect_err(|err| {
            self.broken.insert(name.to_owned(), (err.kind(), err.to_string()));
        })?;
        let mut layout = Layout::clone(&inner.layout);
        let is_time = |field: &&mut LayoutField| {
            field.name == "timestamp" && field.count.is_none() && field.kind == TIME
        };
        // Only of the record itself is the timestamp its time: a nested one is a field.
        if let Some(time) = layout.fields.iter_mut().find(is_time) {
            time.role = FieldRole::Time;
        }
        let layout = Arc::new(layout);
        self.records.insert(name.to_owned(), layout.clone());
        Ok(layout)
    }

    /// Returns where records of the type `name`, which has no layout, have their time: the
    /// fields before the timestamp are sound. A timestamp whose type cannot be read has 64
    /// bits, as nothing else is in use.
    pub(crate) fn time_offset(&mut self, name: &str) -> Option<u32> {
        let text = self.texts.get(name)?.clone();
        self.work += text.len();
        if self.work > MAX_WORK {
            return None;
        }
        let mut before = Vec::new();
        for field in text.split(';').map(str::trim) {
            let made = self.field(name, field, 0);
            let is_time = field.ends_with(" timestamp");
            match made {
                Ok((field, _)) if !is_time => before.push(field),
                Ok((LayoutField { kind: TIME, count: None, .. }, _)) => break,
                Err(_) if is_time => break,
                _ => return None,
            }
        }
        Layout::packed(name.to_owned(), before).ok().map(|layout| layout.size)
    }

    /// The layout of the type `name`, which is nested in `outside` others.
    fn resolve(&mut self, name: &str, outside: u32) -> Result<Nested> {
        if let Some(nested) = self.layouts.get(name) {
            return Ok(nested.clone());
        }
        let shown = start_of(name);
        let too_deep =
            || malformed(format!("{shown:?} is nested too deep, or contains itself"));
        if outside >= MAX_DEPTH {
            return Err(too_deep());
        }
        let Some(text) = self.texts.get(name).cloned() else {
            return Err(malformed(format!("the type {shown:?} is not defined")));
        };
        self.work += text.len();
        if self.work > MAX_WORK {
            return Err(Error::new(ErrorKind::Limit, "over 256 MiB of formats"));
        }
        let (mut fields, mut depth) = (Vec::new(), 1);
        for field in text.split(';').map(str::trim).filter(|field| !field.is_empty()) {
            let (field, inside) = self.field(name, field, outside)?;
            depth = depth.max(inside + 1);
            fields.push(field);
        }
        let layout = Arc::new(Layout::packed(name.to_owned(), fields)?);
        if layout.size > MAX_RECORD_LEN {
            return Err(malformed(format!("{shown:?} is larger than any record")));
        }
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        let nested = Nested { layout, depth };
        self.layouts.insert(name.to_owned(), nested.clone());
        Ok(nested)
    }

    /// `float[3] x`, as a field without an offset, and how deep types are nested in it.
    fn field(
        &mut self,
        of: &str,
        text: &str,
        outside: u32,
    ) -> Result<(LayoutField, u32)> {
        let odd = || {
            let (of, text) = (start_of(of), start_of(text));
            malformed(format!("{of:?} has the field {text:?}"))
        };
        let (type_name, name) = text.split_once(char::is_whitespace).ok_or_else(odd)?;
        let name = name.trim();
        let (base, count) = array(type_name).ok_or_else(odd)?;
        let (kind, depth) = match primitive(base) {
            Some(primitive) => (LayoutKind::Primitive(primitive), 0),
            None => {
                let Nested { layout, depth } = self.resolve(base, outside + 1)?;
                (LayoutKind::Nested(layout), depth)
            }
        };
        let role = match name.starts_with("_padding") {
            true => FieldRole::Hidden,
            false => FieldRole::Plain,
        };
        let name = name.to_owned();
        Ok((LayoutField { name, kind, count, offset: 0, role }, depth))
    }
}

/// `float[3]` as `float` and 3; `float` as itself and nothing.
pub(crate) fn array(type_name: &str) -> Option<(&str, Option<u32>)> {
    match type_name.split_once('[') {
        None => Some((type_name, None)),
        Some((base, rest)) => {
            let count = rest.strip_suffix(']')?.parse().ok()?;
            Some((base, Some(count)))
        }
    }
}

/// The primitive that a ULog calls `name`.
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

/// The start of a name or a field: either may be 64 KiB long, and an error is kept for
/// every topic that has it.
fn start_of(text: &str) -> &str {
    let end = text.char_indices().nth(80).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

fn malformed(what: String) -> Error {
    Error::new(ErrorKind::Malformed, what)
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
    fn a_type_that_contains_itself_is_an_error_and_no_loop() {
        let mut formats = Formats::default();
        formats.define("a", "b x;");
        formats.define("b", "a[2] y;");
        assert!(formats.layout("a").is_err());
    }

    #[test]
    fn types_nested_too_deep_are_an_error_whatever_is_asked_for_first() {
        let mut formats = Formats::default();
        formats.define("t1", "float x;");
        for depth in 2..40 {
            formats.define(&format!("t{depth}"), &format!("t{} x;", depth - 1));
        }
        assert!(formats.layout("t17").is_err());
        for depth in 1..40 {
            let made = formats.layout(&format!("t{depth}"));
            assert_eq!(made.is_ok(), depth <= 16, "{depth} deep");
        }
    }

    #[test]
    fn a_type_larger_than_any_record_is_an_error() {
        let mut formats = Formats::default();
        formats.define("a", "uint8_t[65533] x;");
        formats.define("b", "uint8_t[65534] x;");
        formats.define("c", "double[4294967295] x;");
        assert_eq!(formats.layout("a").unwrap().size, 65_533);
        assert!(formats.layout("b").is_err());
        assert!(formats.layout("c").is_err());
    }

    #[test]
    fn sloppy_text_is_read() {
        let mut formats = Formats::default();
        formats.define("a", " uint64_t  timestamp ; float[2] x ;;");
        assert_eq!(formats.layout("a").unwrap().size, 16);
        assert_eq!(formats.define("a", "float x;"), Defined::Otherwise);
        assert_eq!(formats.layout("a").unwrap().size, 4);
    }
}
