//! The elements that MATLAB's files are made of, as "MAT-File Level 5 File Format" of The
//! MathWorks has them: a tag of type and length, and data up to a multiple of 8 bytes.

use logtool_core::{Error, ErrorKind, Result};

/// What kind of array a matrix is (table 1-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Cell = 1,
    Struct = 2,
    Char = 4,
    Double = 6,
    Single = 7,
    Int8 = 8,
    Uint8 = 9,
    Int16 = 10,
    Uint16 = 11,
    Int32 = 12,
    Uint32 = 13,
    Int64 = 14,
    Uint64 = 15,
    /// `Uint8`, and flagged.
    Logical = 0x0209,
}

/// The type of an element that is a matrix (table 1-1).
const MATRIX: u32 = 14;
/// How many bytes the name of a field has in a struct, with the NUL behind it.
pub(super) const FIELD_BYTES: usize = 64;

impl Class {
    /// The type of the elements that hold its numbers (table 1-1).
    fn data_type(self) -> u32 {
        match self {
            Self::Int8 => 1,
            Self::Uint8 | Self::Logical => 2,
            Self::Int16 => 3,
            Self::Uint16 => 4,
            Self::Int32 => 5,
            Self::Uint32 => 6,
            Self::Single => 7,
            Self::Double => 9,
            Self::Int64 => 12,
            Self::Uint64 => 13,
            Self::Char => 17, // UTF-16
            Self::Cell | Self::Struct => MATRIX,
        }
    }
}

/// All of a matrix but its data: what comes before these, and the padding behind them.
pub(super) struct Frame {
    pub(super) head: Vec<u8>,
    pub(super) padding: usize,
}

/// The frame of an array of numbers, truths or characters with `bytes` of data.
///
/// # Errors
/// One that is longer than such a file can have.
pub(super) fn frame(
    name: &str,
    class: Class,
    shape: &[u64],
    bytes: u64,
) -> Result<Frame> {
    let mut inside = about(name, class, shape)?;
    let padding = ((8 - bytes % 8) % 8) as usize;
    inside.extend(tag(class.data_type(), bytes)?);
    let mut head = tag(MATRIX, inside.len() as u64 + bytes + padding as u64)?.to_vec();
    head.extend(inside);
    Ok(Frame { head, padding })
}

/// The beginning of a cell array or a struct, to which its elements come; its length, at
/// byte 4, is still to be [put in](length).
pub(super) fn container(
    name: &str,
    class: Class,
    shape: &[u64],
    fields: &[String],
) -> Result<Vec<u8>> {
    let mut head = tag(MATRIX, 0)?.to_vec();
    head.extend(about(name, class, shape)?);
    if class == Class::Struct {
        // The length of a field's name, in the short form of elements.
        head.extend((4 << 16 | 5_u32).to_le_bytes());
        head.extend((FIELD_BYTES as u32).to_le_bytes());
        head.extend(tag(1, (fields.len() * FIELD_BYTES) as u64)?);
        for field in fields {
            let mut name = field.as_bytes().to_vec();
            name.resize(FIELD_BYTES, 0);
            head.extend(name);
        }
    }
    Ok(head)
}

/// The length of a container that is `bytes` long with its tag.
pub(super) fn length(bytes: u64) -> Result<[u8; 4]> {
    limited(bytes.saturating_sub(8)).map(u32::to_le_bytes)
}

/// A whole matrix.
pub(super) fn matrix(class: Class, shape: &[u64], data: &[u8]) -> Result<Vec<u8>> {
    let Frame { mut head, padding } = frame("", class, shape, data.len() as u64)?;
    head.extend_from_slice(data);
    head.resize(head.len() + padding, 0);
    Ok(head)
}

/// A whole container of `elements`.
pub(super) fn contained(
    class: Class,
    shape: &[u64],
    fields: &[String],
    elements: impl IntoIterator<Item = Vec<u8>>,
) -> Result<Vec<u8>> {
    let mut all = container("", class, shape, fields)?;
    elements.into_iter().for_each(|element| all.extend(element));
    let len = length(all.len() as u64)?;
    if let Some(place) = all.get_mut(4..8) {
        place.copy_from_slice(&len);
    }
    Ok(all)
}

/// A row of characters.
pub(super) fn characters(name: &str, text: &str) -> Result<Vec<u8>> {
    let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let len = units.len() as u64;
    let shape = if len == 0 { [0, 0] } else { [1, len / 2] };
    let Frame { mut head, padding } = frame(name, Class::Char, &shape, len)?;
    head.extend(units);
    head.resize(head.len() + padding, 0);
    Ok(head)
}

/// Flags, dimensions and name.
fn about(name: &str, class: Class, shape: &[u64]) -> Result<Vec<u8>> {
    let mut bytes = tag(6, 8)?.to_vec();
    bytes.extend(u64::from(class as u32).to_le_bytes());
    // There are two dimensions at least.
    let missing = std::iter::repeat_n(1, 2_usize.saturating_sub(shape.len()));
    let shape: Vec<u64> = shape.iter().copied().chain(missing).collect();
    let dims: Vec<u8> = shape
        .iter()
        .map(|dim| limited(*dim).map(u32::to_le_bytes))
        .collect::<Result<Vec<_>>>()?
        .concat();
    bytes.extend(element(5, &dims)?);
    bytes.extend(element(1, name.as_bytes())?);
    Ok(bytes)
}

fn element(data_type: u32, data: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = tag(data_type, data.len() as u64)?.to_vec();
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    Ok(bytes)
}

fn tag(data_type: u32, bytes: u64) -> Result<[u8; 8]> {
    let [a, b] = [data_type, limited(bytes)?].map(u32::to_le_bytes);
    let mut tag = [0; 8];
    tag[..4].copy_from_slice(&a);
    tag[4..].copy_from_slice(&b);
    Ok(tag)
}

/// Readers take lengths for signed.
fn limited(length: u64) -> Result<u32> {
    i32::try_from(length).map(i32::cast_unsigned).map_err(|_| {
        let what = "more than the 2 GB that a variable of a MATLAB 5 file can have";
        Error::new(ErrorKind::Unsupported, what)
    })
}
