//! Layouts of payloads: types, names and offsets, independent of the format.
//!
//! A format compiles its definitions into one [`Layout`] per topic, and only the layout
//! is used from then on. If all fields have a fixed size, the fields are at the same
//! offsets in every record of a topic. A string or a list is preceded by its length as a
//! `u32`, and all fields after it are at variable offsets.

use std::{ops::Range, sync::Arc};

use arrow_schema::DataType;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};

/// A type: named fields without gaps between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The name of the type.
    pub name: String,
    /// The fields, in the order of their bytes.
    pub fields: Vec<LayoutField>,
    /// The size in bytes, or the minimum size if some fields have a variable size.
    pub size: u32,
    /// The properties of top-level records. They are ignored for nested types.
    pub record_properties: RecordProperties,
    is_fixed: bool,
    has_columns: bool,
    has_count_column: bool,
    depth: u32,
}

/// The properties of the top-level records of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordProperties {
    /// The unit of the times in the format: `us` or `ns`.
    pub time_unit: &'static str,
    /// What may follow the last field of a payload.
    pub trailing_bytes: TrailingBytes,
}

/// What may follow the last field of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrailingBytes {
    /// Arbitrary bytes, which are ignored. If all fields have a fixed size, hidden fields
    /// at the end may be missing.
    Any,
    /// Nothing: trailing bytes are reported as [extra bytes](crate::DamageKind::ExtraBytes).
    Nothing,
    /// Padding up to the size of the layout, or a part of it. A longer payload does not match
    /// the layout.
    Padding,
}

/// A field of a [`Layout`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutField {
    /// The name in the format.
    pub name: String,
    /// The type of the field, or of the elements of an array.
    pub kind: LayoutKind,
    /// The number of elements of a fixed-size array, or `None` if the field is not a
    /// fixed-size array.
    pub count: Option<u32>,
    /// The offset in bytes, from the start of the layout or from the end of the last
    /// field of variable size before it.
    pub offset: u32,
    /// The use of the field.
    pub role: FieldRole,
}

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayoutKind {
    /// A number, a Boolean or a character.
    Primitive(Primitive),
    /// A timestamp: seconds (`u32`) and nanoseconds (`u32`) since 1970.
    Timestamp,
    /// A timestamp of ROS 2: seconds (`i32`) and nanoseconds (`u32`) since 1970.
    SignedTimestamp,
    /// A duration: seconds (`i32`) and nanoseconds (`i32`).
    Duration,
    /// A nested type.
    Nested(Arc<Layout>),
    /// A string: its length in bytes as a `u32`, then the bytes. If they are not UTF-8,
    /// they are decoded as Latin-1.
    Text,
    /// Binary data: its length in bytes as a `u32`, then the bytes.
    Bytes,
    /// A list: the number of elements as a `u32`, then the elements without gaps. Elements
    /// without fields have no bytes; the column of such a list has their number, and so has
    /// that of such an array.
    List(Arc<LayoutKind>),
}

/// The use of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldRole {
    /// The field becomes one or more columns.
    Plain,
    /// The field is the time column. The record already has the value.
    Time,
    /// The field is padding and is ignored.
    Hidden,
}

/// The primitive types. All are little-endian.
#[allow(missing_docs)] // the names are self-explanatory
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// One byte. Every value except 0 is true.
    Bool,
    /// One byte of a string. An array of them is a string that ends at the first NUL.
    Char,
}

/// The maximum size of a [`Layout`] with empty strings and lists: 4 MiB. A ULog record
/// has at most 65,533 bytes. For each element of a fixed-size array, a decoder can need
/// four bytes of memory, whatever the file contains.
pub const MAX_LAYOUT_BYTES: u32 = 4 << 20;

/// The number of strings in a record from which on further ones in nested types are not examined
/// for other encodings than UTF-8.
const MAX_TEXTS: usize = 1 << 16;

/// The maximum depth of nested types and lists.
const MAX_DEPTH: u32 = 64;

/// The size of the length of a string or a list in bytes.
const LEN_BYTES: u32 = 4;

impl Layout {
    /// Creates a layout of `fields` without gaps and with the default properties of records. The offsets
    /// of `fields` are ignored.
    ///
    /// # Errors
    /// `Limit` if the layout exceeds [`MAX_LAYOUT_BYTES`] with empty strings and lists,
    /// if an array has more elements than that, or if types are nested deeper than 64
    /// levels.
    pub fn from_fields(name: String, mut fields: Vec<LayoutField>) -> Result<Self> {
        let (mut size, mut offset) = (0_u32, 0_u32);
        for field in &mut fields {
            field.offset = offset;
            let len = field.size();
            let end = len.and_then(|len| size.checked_add(len));
            size = end.filter(|end| *end <= MAX_LAYOUT_BYTES).ok_or_else(|| {
                let message = format!(
                    "the type {name:?} is larger than {} MiB",
                    MAX_LAYOUT_BYTES >> 20
                );
                Error::new(ErrorKind::Limit, message)
            })?;
            offset = if field.is_fixed() { offset + len.unwrap_or(0) } else { 0 };
        }
        let is_fixed = fields.iter().all(LayoutField::is_fixed);
        let has_columns = fields.iter().any(LayoutField::has_columns);
        let has_count_column = fields.iter().any(LayoutField::has_count_column);
        let depth =
            1 + fields.iter().map(|field| field.kind.depth()).max().unwrap_or(0);
        if depth > MAX_DEPTH {
            let message = format!("the type {name:?} is more than {MAX_DEPTH} deep");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        Ok(Self {
            name,
            fields,
            size,
            record_properties: RecordProperties::default(),
            is_fixed,
            has_columns,
            has_count_column,
            depth,
        })
    }

    /// Returns a message about the first list or array whose elements have no fields, so that
    /// its column has only their number.
    pub fn count_column(&self) -> Option<String> {
        let list = self.count_column_path()?;
        Some(format!(
            "the elements of {list} have no fields, and its column has their number"
        ))
    }

    /// Returns the path of the first list or array whose elements have no fields, e.g.
    /// `poses.marks`.
    fn count_column_path(&self) -> Option<String> {
        let field = self.fields.iter().find(|field| field.has_count_column())?;
        if field.count_without_bytes().is_some() {
            return Some(field.name.clone());
        }
        let mut kind = &field.kind;
        while let (LayoutKind::List(element), false) = (kind, kind.is_count()) {
            kind = element;
        }
        let inner_path = match kind {
            LayoutKind::Nested(layout) => layout.count_column_path(),
            _ => None,
        };
        Some(match inner_path {
            Some(path) => format!("{}.{path}", field.name),
            None => field.name.clone(),
        })
    }

    /// Sets the properties of top-level records.
    #[must_use]
    pub fn with_record_properties(mut self, properties: RecordProperties) -> Self {
        self.record_properties = properties;
        self
    }

    /// Adds the byte ranges of the strings of fixed length, if the layout is at `offset`. Layouts
    /// of variable size have none.
    pub(crate) fn add_texts(&self, offset: usize, texts: &mut Vec<Range<usize>>) {
        if !self.is_fixed {
            return;
        }
        for field in &self.fields {
            let start = offset.saturating_add(field.offset as usize);
            let count = field.count.unwrap_or(1) as usize;
            match &field.kind {
                LayoutKind::Primitive(Primitive::Char) => {
                    texts.push(start..start + count)
                }
                LayoutKind::Nested(inner) if inner.has_columns && inner.size > 0 => {
                    for index in 0..count {
                        if texts.len() >= MAX_TEXTS {
                            return;
                        }
                        inner.add_texts(start + index * inner.size as usize, texts);
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns whether all records have the same length.
    pub fn is_fixed(&self) -> bool {
        self.is_fixed
    }

    /// Returns the number of bytes up to the end of the last field that is not hidden,
    /// for a record of fixed size.
    pub fn size_without_padding(&self) -> u32 {
        let is_visible = |field: &&LayoutField| field.role != FieldRole::Hidden;
        let last = self.fields.iter().rfind(is_visible);
        last.map_or(0, |field| field.offset + field.size().unwrap_or(0))
    }

    /// Returns the number of columns in the flat view, or a number above `limit` if there
    /// are more. A fixed-size array of more than `max_array_len` elements counts as one
    /// column.
    pub fn flat_columns(&self, limit: u64, max_array_len: u32) -> u64 {
        let mut columns = 0_u64;
        for field in self.fields.iter().filter(|field| field.has_columns()) {
            let is_one_column = field.is_chars()
                || field.is_array_longer_than(max_array_len)
                || field.count_without_bytes().is_some();
            let element_columns = match &field.kind {
                LayoutKind::Nested(layout) if !is_one_column => {
                    layout.flat_columns(limit, max_array_len)
                }
                _ => 1,
            };
            let count = if is_one_column { 1 } else { field.count.unwrap_or(1) };
            let field_columns = element_columns.saturating_mul(u64::from(count));
            columns = columns.saturating_add(field_columns);
            if columns > limit {
                break;
            }
        }
        columns
    }
}

impl LayoutField {
    /// Returns the size in bytes, or the minimum size if it is variable. Returns `None`
    /// if the size exceeds 32 bits, or if the field is an array of more than
    /// [`MAX_LAYOUT_BYTES`] elements.
    pub fn size(&self) -> Option<u32> {
        let count = self.count.unwrap_or(1);
        if count > MAX_LAYOUT_BYTES {
            return None;
        }
        self.kind.size().checked_mul(count)
    }

    /// Returns whether the field is a character or a string of fixed length.
    pub fn is_chars(&self) -> bool {
        self.kind == LayoutKind::Primitive(Primitive::Char)
    }

    /// Returns whether the field is a fixed-size array of more than `len` elements.
    pub(crate) fn is_array_longer_than(&self, len: u32) -> bool {
        !self.is_chars() && self.count.is_some_and(|count| count > len)
    }

    /// Returns whether the field has the same size in every record.
    pub fn is_fixed(&self) -> bool {
        self.kind.is_fixed() || self.count == Some(0)
    }

    /// Returns the number of elements of a fixed-size array whose elements have no bytes.
    /// This number is the value of its column.
    pub(crate) fn count_without_bytes(&self) -> Option<u32> {
        let has_no_bytes = self.kind.is_fixed() && self.kind.size() == 0;
        self.count.filter(|count| *count > 0 && has_no_bytes)
    }

    /// Returns whether the field becomes a column. A single value without bytes does not,
    /// nor does an array without elements.
    pub fn has_columns(&self) -> bool {
        let has_columns =
            self.kind.has_columns() || self.count_without_bytes().is_some();
        self.is_visible() && has_columns
    }

    /// Returns whether the field contains a list or an array whose elements have no
    /// fields, see [`Layout::count_column`].
    fn has_count_column(&self) -> bool {
        let has_count_column =
            self.kind.has_count_column() || self.count_without_bytes().is_some();
        self.is_visible() && has_count_column
    }

    fn is_visible(&self) -> bool {
        self.role != FieldRole::Hidden && self.count != Some(0)
    }
}

impl LayoutKind {
    /// Returns the size of one value in bytes, or the minimum size if it is variable.
    pub fn size(&self) -> u32 {
        match self {
            Self::Primitive(primitive) => primitive.size(),
            Self::Timestamp | Self::SignedTimestamp | Self::Duration => 8,
            Self::Nested(layout) => layout.size,
            Self::Text | Self::Bytes | Self::List(_) => LEN_BYTES,
        }
    }

    /// Returns whether this is a list of elements without fields. Its only value is the number of
    /// elements.
    pub(crate) fn is_count(&self) -> bool {
        matches!(self, Self::List(element) if element.is_fixed() && element.size() == 0)
    }

    /// Returns whether all values have the same size.
    pub fn is_fixed(&self) -> bool {
        match self {
            Self::Primitive(_)
            | Self::Timestamp
            | Self::SignedTimestamp
            | Self::Duration => true,
            Self::Nested(layout) => layout.is_fixed,
            Self::List(_) => self.is_count(),
            Self::Text | Self::Bytes => false,
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
            Self::List(element) => self.is_count() || element.has_columns(),
            _ => true,
        }
    }

    fn has_count_column(&self) -> bool {
        match self {
            Self::Nested(layout) => layout.has_count_column,
            Self::List(element) => self.is_count() || element.has_count_column(),
            _ => false,
        }
    }
}

/// The properties of ULog records: times in microseconds, and arbitrary trailing bytes.
impl Default for RecordProperties {
    fn default() -> Self {
        Self { time_unit: "us", trailing_bytes: TrailingBytes::Padding }
    }
}

impl Primitive {
    /// Returns the size in bytes.
    pub const fn size(self) -> u32 {
        match self {
            Self::I8 | Self::U8 | Self::Bool | Self::Char => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// Returns the corresponding Arrow type.
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
