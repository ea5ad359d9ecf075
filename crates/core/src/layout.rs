//! What a payload looks like: types, names and offsets, whatever the format.
//!
//! A format compiles its definitions to a [`Layout`] once per topic; from then on only
//! the layout is looked at. Where all fields are of a fixed size, every record of a
//! topic has its fields at the same places. A text or a list is as long as the `u32`
//! before it says, and moves all that comes after it.

use std::sync::Arc;

use arrow_schema::DataType;

use crate::error::{Error, ErrorKind, Result};

/// A type: named fields, one after the other, without gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The name of the type.
    pub name: String,
    /// Its fields, in the order of their bytes.
    pub fields: Vec<LayoutField>,
    /// How many bytes all of them are; where some are of no fixed size, how many they
    /// are at least.
    pub size: u32,
    /// What else is true of whole records that look like this; a type that is nested
    /// in another is not asked.
    pub frame: Frame,
    is_fixed: bool,
    has_columns: bool,
    has_uncounted: bool,
    depth: u32,
}

/// What holds for whole records of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The unit in which the format counts its times: `us`, `ns`.
    pub time_unit: &'static str,
    /// What a payload may have after its last field.
    pub tail: Tail,
}

/// What a payload may have after its last field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Anything, and it is not looked at. Where all fields are of a fixed size, hidden
    /// ones at the end may be missing.
    Any,
    /// Nothing: what is more than the layout says is a
    /// [surplus](crate::DamageKind::Surplus).
    Nothing,
}

/// A field of a [`Layout`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutField {
    /// Its name in its format.
    pub name: String,
    /// The type of it, or of each of its elements.
    pub kind: LayoutKind,
    /// How many elements an array of a fixed length has; no such array where this is
    /// nothing.
    pub count: Option<u32>,
    /// Where it begins, in bytes: in its layout, or after the end of the last field
    /// before it that is of no fixed size.
    pub offset: u32,
    /// What becomes of it.
    pub role: FieldRole,
}

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayoutKind {
    /// A number, a truth or a character.
    Primitive(Primitive),
    /// A moment: seconds (`u32`), then nanoseconds (`u32`), since 1970.
    Stamp,
    /// A moment as ROS 2 has it: seconds (`i32`), then nanoseconds (`u32`), since 1970.
    SignedStamp,
    /// A time between moments: seconds (`i32`), then nanoseconds (`i32`).
    Span,
    /// A type of its own.
    Nested(Arc<Layout>),
    /// A text: a `u32`, the number of its bytes, then these. Where they are not
    /// UTF-8, they are taken for Latin-1.
    Text,
    /// Bytes that are no text: a `u32`, the number of them, then these.
    Bytes,
    /// A `u32`, then as many elements of one type, without gaps.
    List(Arc<LayoutKind>),
}

/// What becomes of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldRole {
    /// A column, or several.
    Plain,
    /// The time column, of which the record has the value already.
    Time,
    /// Nothing: it pads.
    Hidden,
}

/// The types that are not made of others. All are little-endian.
#[allow(missing_docs)] // they say it themselves
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Primitive {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    /// One byte; everything but 0 is true.
    Bool,
    /// One byte of text; an array of them is a text that ends at the first NUL.
    Char,
}

/// The largest [`Layout`], in bytes, texts and lists being empty: 4 MiB. (A ULog record
/// has at most 65,533. A decoder may need four bytes for each element of an array of
/// fixed length, whatever is in the file.)
pub const MAX_LAYOUT_BYTES: u32 = 4 << 20;

/// How deep types and lists may be in each other.
const MAX_DEPTH: u32 = 64;

/// The bytes that say how long a text or a list is.
const LEN_BYTES: u32 = 4;

impl Layout {
    /// Lays `fields`, of which the offsets are not looked at, one behind the other. The
    /// frame is the default one.
    ///
    /// It is an error if that takes more than [`MAX_LAYOUT_BYTES`], texts and lists
    /// being empty, if an array has more elements than that, however small they are, or
    /// if types are more than 64 deep in each other.
    pub fn packed(name: String, mut fields: Vec<LayoutField>) -> Result<Self> {
        let (mut size, mut offset) = (0_u32, 0_u32);
        for field in &mut fields {
            field.offset = offset;
            let len = field.size();
            let end = len.and_then(|len| size.checked_add(len));
            size = end.filter(|end| *end <= MAX_LAYOUT_BYTES).ok_or_else(|| {
                let what = format!(
                    "the type {name:?} is larger than {} MiB",
                    MAX_LAYOUT_BYTES >> 20
                );
                Error::new(ErrorKind::Limit, what)
            })?;
            offset = if field.is_fixed() { offset + len.unwrap_or(0) } else { 0 };
        }
        let is_fixed = fields.iter().all(LayoutField::is_fixed);
        let has_columns = fields.iter().any(LayoutField::has_columns);
        let has_uncounted = fields.iter().any(LayoutField::has_uncounted);
        let depth =
            1 + fields.iter().map(|field| field.kind.depth()).max().unwrap_or(0);
        if depth > MAX_DEPTH {
            let what = format!("the type {name:?} is more than {MAX_DEPTH} deep");
            return Err(Error::new(ErrorKind::Limit, what));
        }
        let frame = Frame::default();
        Ok(Self {
            name,
            fields,
            size,
            frame,
            is_fixed,
            has_columns,
            has_uncounted,
            depth,
        })
    }

    /// What is to be told of the first list in it of a type without fields, which is in no
    /// column.
    pub fn uncounted(&self) -> Option<String> {
        let list = self.uncounted_list()?;
        Some(format!(
            "how many elements {list} has is in no column, as they have no fields"
        ))
    }

    /// The name of that list, as `poses.marks`.
    fn uncounted_list(&self) -> Option<String> {
        let field = self.fields.iter().find(|field| field.has_uncounted())?;
        let mut kind = &field.kind;
        while let LayoutKind::List(element) = kind {
            kind = element;
        }
        let inner = match kind {
            LayoutKind::Nested(layout) => layout.uncounted_list(),
            _ => None,
        };
        Some(match inner {
            Some(inner) => format!("{}.{inner}", field.name),
            None => field.name.clone(),
        })
    }

    /// The same, for records of which `frame` holds.
    #[must_use]
    pub fn with_frame(mut self, frame: Frame) -> Self {
        self.frame = frame;
        self
    }

    /// Whether every record has the same length.
    pub fn is_fixed(&self) -> bool {
        self.is_fixed
    }

    /// How many bytes a record of a fixed size has to have so that every field but the
    /// hidden ones at its end is there.
    pub fn size_without_padding(&self) -> u32 {
        let shown = |field: &&LayoutField| field.role != FieldRole::Hidden;
        let last = self.fields.iter().rev().find(shown);
        last.map_or(0, |field| field.offset + field.size().unwrap_or(0))
    }

    /// How many columns the flat view has, or more than `limit` if it has more. A fixed
    /// array of more than `longest` elements is one column.
    pub fn flat_columns(&self, limit: u64, longest: u32) -> u64 {
        let mut columns = 0_u64;
        for field in self.fields.iter().filter(|field| field.has_columns()) {
            let is_one = field.is_chars() || field.is_longer(longest);
            let each = match &field.kind {
                LayoutKind::Nested(layout) if !is_one => {
                    layout.flat_columns(limit, longest)
                }
                _ => 1,
            };
            let count = if is_one { 1 } else { field.count.unwrap_or(1) };
            columns = columns.saturating_add(each.saturating_mul(u64::from(count)));
            if columns > limit {
                break;
            }
        }
        columns
    }
}

impl LayoutField {
    /// How many bytes it is, or is at least, if that can be said in 32 bits and is no
    /// array of more than [`MAX_LAYOUT_BYTES`] elements.
    pub fn size(&self) -> Option<u32> {
        let count = self.count.unwrap_or(1);
        (count <= MAX_LAYOUT_BYTES).then_some(())?;
        self.kind.size().checked_mul(count)
    }

    /// Whether it is characters of a fixed number: one, or a text of several.
    pub fn is_chars(&self) -> bool {
        self.kind == LayoutKind::Primitive(Primitive::Char)
    }

    /// Whether it is a fixed array of more elements than `longest`.
    pub(crate) fn is_longer(&self, longest: u32) -> bool {
        !self.is_chars() && self.count.is_some_and(|count| count > longest)
    }

    /// Whether it is as long in every record.
    pub fn is_fixed(&self) -> bool {
        self.kind.is_fixed() || self.count == Some(0)
    }

    /// Whether it is shown. What has no bytes says nothing, however often.
    pub fn has_columns(&self) -> bool {
        let is_there = self.role != FieldRole::Hidden && self.count != Some(0);
        is_there && self.kind.has_columns()
    }
}

impl LayoutField {
    /// See [`Layout::uncounted`].
    fn has_uncounted(&self) -> bool {
        let is_there = self.role != FieldRole::Hidden && self.count != Some(0);
        is_there && self.kind.has_uncounted()
    }
}

impl LayoutKind {
    /// How many bytes one of it is, or is at least.
    pub fn size(&self) -> u32 {
        match self {
            Self::Primitive(primitive) => primitive.size(),
            Self::Stamp | Self::SignedStamp | Self::Span => 8,
            Self::Nested(layout) => layout.size,
            Self::Text | Self::Bytes | Self::List(_) => LEN_BYTES,
        }
    }

    /// Whether each of it is as long as the next.
    pub fn is_fixed(&self) -> bool {
        match self {
            Self::Primitive(_) | Self::Stamp | Self::SignedStamp | Self::Span => true,
            Self::Nested(layout) => layout.is_fixed,
            Self::Text | Self::Bytes | Self::List(_) => false,
        }
    }

    fn depth(&self) -> u32 {
        match self {
            Self::Nested(layout) => layout.depth,
            Self::List(element) => 1 + element.depth(),
            _ => 0,
        }
    }

    fn has_columns(&self) -> bool {
        match self {
            Self::Nested(layout) => layout.has_columns,
            Self::List(element) => element.has_columns(),
            _ => true,
        }
    }

    fn has_uncounted(&self) -> bool {
        match self {
            Self::Nested(layout) => layout.has_uncounted,
            Self::List(element) => !element.has_columns() || element.has_uncounted(),
            _ => false,
        }
    }
}

/// Times in microseconds, and anything after the last field: as in a ULog.
impl Default for Frame {
    fn default() -> Self {
        Self { time_unit: "us", tail: Tail::Any }
    }
}

impl Primitive {
    /// How many bytes it is.
    pub const fn size(self) -> u32 {
        match self {
            Self::I8 | Self::U8 | Self::Bool | Self::Char => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// What it is in Arrow.
    pub const fn data_type(self) -> DataType {
        match self {
            Self::I8 => DataType::Int8,
            Self::I16 => DataType::Int16,
            Self::I32 => DataType::Int32,
            Self::I64 => DataType::Int64,
            Self::U8 => DataType::UInt8,
            Self::U16 => DataType::UInt16,
            Self::U32 => DataType::UInt32,
            Self::U64 => DataType::UInt64,
            Self::F32 => DataType::Float32,
            Self::F64 => DataType::Float64,
            Self::Bool => DataType::Boolean,
            Self::Char => DataType::Utf8,
        }
    }
}
