//! The elements of a MATLAB file, as specified in "MAT-File Level 5 File Format" of The
//! MathWorks: a tag with type and length, and data padded to a multiple of 8 bytes.

use logtool_core::{Error, ErrorKind, Result};

/// The class of a matrix (table 1-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatrixClass {
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
    /// `Uint8` with the flag for logical values.
    Logical = 0x0209,
}

/// The type of an element that is a matrix (table 1-1).
const MATRIX: u32 = 14;
/// The size of the name of a field in a struct, including the terminating NUL.
pub(super) const FIELD_NAME_BYTES: usize = 64;

impl MatrixClass {
    /// Returns the type of the elements with the numbers of this class (table 1-1).
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

/// The parts of a matrix around its data: the header and the size of the padding.
pub(super) struct MatrixFrame {
    pub(super) header: Vec<u8>,
    pub(super) padding: usize,
}

/// Returns the header and the padding of an array of numbers, booleans or characters with `bytes`
/// of data.
///
/// # Errors
/// The matrix is longer than the format allows.
pub(super) fn matrix_frame(
    name: &str,
    class: MatrixClass,
    shape: &[u64],
    bytes: u64,
) -> Result<MatrixFrame> {
    let mut content = array_header(name, class, shape)?;
    let padding = ((8 - bytes % 8) % 8) as usize;
    content.extend(tag(class.data_type(), bytes)?);
    let mut header =
        tag(MATRIX, content.len() as u64 + bytes + padding as u64)?.to_vec();
    header.extend(content);
    Ok(MatrixFrame { header, padding })
}

/// Returns the header of a cell array or a struct; its elements follow. Its length, which is at
/// byte 4, must be [encoded](encode_length) when the elements are written.
pub(super) fn container_header(
    name: &str,
    class: MatrixClass,
    shape: &[u64],
    fields: &[String],
) -> Result<Vec<u8>> {
    let mut header = tag(MATRIX, 0)?.to_vec();
    header.extend(array_header(name, class, shape)?);
    if class == MatrixClass::Struct {
        // The length of field names is a small element: 4 bytes of data next to the tag.
        header.extend((4 << 16 | 5_u32).to_le_bytes());
        header.extend((FIELD_NAME_BYTES as u32).to_le_bytes());
        header.extend(tag(1, (fields.len() * FIELD_NAME_BYTES) as u64)?);
        for field in fields {
            let mut name = field.as_bytes().to_vec();
            name.resize(FIELD_NAME_BYTES, 0);
            header.extend(name);
        }
    }
    Ok(header)
}

/// Encodes the length field of a container that has `bytes` including its tag.
pub(super) fn encode_length(bytes: u64) -> Result<[u8; 4]> {
    checked_length(bytes.saturating_sub(8)).map(u32::to_le_bytes)
}

/// Encodes a matrix of numbers.
pub(super) fn matrix(
    class: MatrixClass,
    shape: &[u64],
    data: &[u8],
) -> Result<Vec<u8>> {
    let MatrixFrame { mut header, padding } =
        matrix_frame("", class, shape, data.len() as u64)?;
    header.extend_from_slice(data);
    header.resize(header.len() + padding, 0);
    Ok(header)
}

/// Encodes a cell array or a struct of `elements`.
pub(super) fn encode_container(
    class: MatrixClass,
    shape: &[u64],
    fields: &[String],
    elements: impl IntoIterator<Item = Vec<u8>>,
) -> Result<Vec<u8>> {
    let mut bytes = container_header("", class, shape, fields)?;
    elements.into_iter().for_each(|element| bytes.extend(element));
    let len = encode_length(bytes.len() as u64)?;
    if let Some(len_field) = bytes.get_mut(4..8) {
        len_field.copy_from_slice(&len);
    }
    Ok(bytes)
}

/// Encodes a string as a row of characters.
pub(super) fn characters(name: &str, text: &str) -> Result<Vec<u8>> {
    let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let len = units.len() as u64;
    let shape = if len == 0 { [0, 0] } else { [1, len / 2] };
    let MatrixFrame { mut header, padding } =
        matrix_frame(name, MatrixClass::Char, &shape, len)?;
    header.extend(units);
    header.resize(header.len() + padding, 0);
    Ok(header)
}

/// Encodes flags, dimensions and name, the header of every matrix.
fn array_header(name: &str, class: MatrixClass, shape: &[u64]) -> Result<Vec<u8>> {
    let mut bytes = tag(6, 8)?.to_vec();
    bytes.extend(u64::from(class as u32).to_le_bytes());
    // A matrix has at least two dimensions.
    let missing_dims = std::iter::repeat_n(1, 2_usize.saturating_sub(shape.len()));
    let shape: Vec<u64> = shape.iter().copied().chain(missing_dims).collect();
    let dims: Vec<u8> = shape
        .iter()
        .map(|dim| checked_length(*dim).map(u32::to_le_bytes))
        .collect::<Result<Vec<_>>>()?
        .concat();
    bytes.extend(element(5, &dims)?);
    bytes.extend(element(1, name.as_bytes())?);
    Ok(bytes)
}

/// Encodes an element: a tag and padded data.
fn element(data_type: u32, data: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = tag(data_type, data.len() as u64)?.to_vec();
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    Ok(bytes)
}

/// Encodes the tag of an element with `bytes` of data.
fn tag(data_type: u32, bytes: u64) -> Result<[u8; 8]> {
    let [type_bytes, length_bytes] =
        [data_type, checked_length(bytes)?].map(u32::to_le_bytes);
    let mut tag = [0; 8];
    tag[..4].copy_from_slice(&type_bytes);
    tag[4..].copy_from_slice(&length_bytes);
    Ok(tag)
}

/// Converts a length; readers treat lengths as signed 32-bit integers.
fn checked_length(length: u64) -> Result<u32> {
    i32::try_from(length).map(i32::cast_unsigned).map_err(|_| {
        let message = "a MATLAB 5 file cannot store variables of more than 2 GB";
        Error::new(ErrorKind::Unsupported, message)
    })
}
