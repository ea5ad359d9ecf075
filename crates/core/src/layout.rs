//! What a payload looks like: types, names and offsets, whatever the format.
//!
//! A format compiles its definitions to a [`Layout`] once per topic; from then on only
//! the layout is looked at. Offsets are fixed: every record of a topic has its fields
//! at the same places.

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
    /// How many bytes all of them are.
    pub size: u32,
}

/// A field of a [`Layout`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutField {
    /// Its name in its format.
    pub name: String,
    /// The type of it, or of each of its elements.
    pub kind: LayoutKind,
    /// How many elements an array has; not an array where this is nothing.
    pub count: Option<u32>,
    /// Where it begins in its layout, in bytes.
    pub offset: u32,
    /// What becomes of it.
    pub role: FieldRole,
}

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayoutKind {
    /// A number, a truth or a character.
    Primitive(Primitive),
    /// A type of its own.
    Nested(Arc<Layout>),
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

/// The largest [`Layout`], in bytes. (A ULog record has at most 65,533.)
pub const MAX_LAYOUT_BYTES: u32 = 1 << 20;

impl Layout {
    /// Lays `fields`, of which the offsets are not looked at, one behind the other.
    ///
    /// It is an error if that takes more than [`MAX_LAYOUT_BYTES`], or if an array has
    /// more elements than that, however small they are.
    pub fn packed(name: String, mut fields: Vec<LayoutField>) -> Result<Self> {
        let mut size = 0_u32;
        for field in &mut fields {
            field.offset = size;
            let end = field.size().and_then(|len| size.checked_add(len));
            size = end.filter(|end| *end <= MAX_LAYOUT_BYTES).ok_or_else(|| {
                let what = format!("the type {name:?} is larger than 1 MiB");
                Error::new(ErrorKind::Limit, what)
            })?;
        }
        Ok(Self { name, fields, size })
    }

    /// How many bytes a record has to have so that every field but the hidden ones at
    /// its end is there.
    pub fn size_without_padding(&self) -> u32 {
        let shown = |field: &&LayoutField| field.role != FieldRole::Hidden;
        let last = self.fields.iter().rev().find(shown);
        last.map_or(0, |field| field.offset + field.size().unwrap_or(0))
    }

    /// How many columns the flat view has, or more than `limit` if it has more.
    pub fn flat_columns(&self, limit: u64) -> u64 {
        let mut columns = 0_u64;
        for field in &self.fields {
            let each = match &field.kind {
                _ if field.role == FieldRole::Hidden || field.kind.size() == 0 => 0,
                LayoutKind::Primitive(_) if field.is_text() => {
                    columns += 1;
                    continue;
                }
                LayoutKind::Primitive(_) => 1,
                LayoutKind::Nested(layout) => layout.flat_columns(limit),
            };
            let count = u64::from(field.count.unwrap_or(1));
            columns = columns.saturating_add(each.saturating_mul(count));
            if columns > limit {
                break;
            }
        }
        columns
    }
}

impl LayoutField {
    /// How many bytes it is, if that can be said in 32 bits and is no array of more
    /// than [`MAX_LAYOUT_BYTES`] elements.
    pub fn size(&self) -> Option<u32> {
        let count = self.count.unwrap_or(1);
        (count <= MAX_LAYOUT_BYTES).then_some(())?;
        self.kind.size().checked_mul(count)
    }

    /// Whether it is characters: one, or a text of several.
    pub fn is_text(&self) -> bool {
        self.kind == LayoutKind::Primitive(Primitive::Char)
    }
}

impl LayoutKind {
    /// How many bytes one of it is.
    pub fn size(&self) -> u32 {
        match self {
            Self::Primitive(primitive) => primitive.size(),
            Self::Nested(layout) => layout.size,
        }
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
