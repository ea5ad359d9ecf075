//! Checks the headers of pages, which contain the sizes of the pages in memory.
//!
//! The crate `parquet` allocates the memory that a header declares. Therefore the headers are
//! checked first.
//!
//! ```text
//! column chunk   header | page | header | page | ...
//! header         a struct in Thrift's compact protocol: 1 kind, 2 size without compression,
//!                3 size in the file, 4 checksum, 5 or 8 a data page, 7 a dictionary
//! data page      5: 1 number of values, 2 encoding; 8: 1 number of values, 4 encoding
//! ```

use std::ops::Range;

use logtool_core::{Error, ErrorKind, Result, Source};

/// The maximum memory for the pages of a row group is `MIN_MEMORY_LIMIT` plus this number of times
/// their size in the file. Larger pages are a decompression bomb.
const MAX_RATIO: u64 = 1_000;
const MIN_MEMORY_LIMIT: u64 = 64 << 20;

/// The number of bytes that are read at once, and the maximum length of a header.
const WINDOW_BYTES: u64 = 64 << 10;
const MAX_HEADER_BYTES: u64 = 16 << 20;

/// The maximum depth of nested values in a header.
const MAX_DEPTH: u32 = 8;

/// The encodings of byte arrays whose values may share bytes, or have their lengths apart.
const RLE_DICTIONARY: u64 = 8;
const PLAIN_DICTIONARY: u64 = 2;
const DELTA_LENGTH_BYTE_ARRAY: u64 = 6;
const DELTA_BYTE_ARRAY: u64 = 7;

/// The sizes of a page in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PageSizes {
    header: u64,
    uncompressed: u64,
    in_file: u64,
    kind: PageKind,
}

/// The kind of a page, as far as its header shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageKind {
    Data { values: u64, encoding: u64 },
    Dictionary,
    Other,
}

/// The sums over the pages of a column chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ChunkPages {
    /// The size of the largest page without compression.
    largest: u64,
    /// The sum of the sizes of the data pages without compression.
    pub(super) uncompressed: u64,
    /// The number of values, including missing ones.
    pub(super) values: u64,
    /// The size of the dictionary.
    pub(super) dictionary: u64,
    /// The number of values that are indices into the dictionary.
    pub(super) dictionary_values: u64,
    /// Whether pages have the lengths of their values apart.
    pub(super) has_delta_lengths: bool,
}

/// Checks the pages of the column chunks `chunks`, and returns the sums of each. One page of each
/// chunk is in memory at a time. A page may have at most `max_page` bytes.
///
/// # Errors
/// `Limit` if the pages need too much memory; `Malformed` if a header cannot be read; errors of the
/// source.
pub(super) fn check(
    source: &dyn Source,
    chunks: impl Iterator<Item = Range<u64>>,
    max_page: u64,
) -> Result<Vec<ChunkPages>> {
    let (mut memory, mut in_file) = (0_u64, 0_u64);
    let mut all_pages = Vec::new();
    for chunk in chunks {
        in_file = in_file.saturating_add(chunk.end - chunk.start);
        let pages = pages_of(source, chunk)?;
        let largest = pages.largest;
        all_pages.push(pages);
        memory = memory.saturating_add(largest);
        if largest > max_page
            || memory
                > MIN_MEMORY_LIMIT.saturating_add(in_file.saturating_mul(MAX_RATIO))
        {
            let message = format!("pages of {largest} bytes");
            return Err(Error::new(ErrorKind::Limit, message));
        }
    }
    Ok(all_pages)
}

/// Returns the sums over the pages of the column chunk `chunk`.
fn pages_of(source: &dyn Source, chunk: Range<u64>) -> Result<ChunkPages> {
    let (mut position, mut pages) = (chunk.start, ChunkPages::default());
    let mut window = (position, source.read_at(position..position)?);
    while position < chunk.end {
        let mut read_len = WINDOW_BYTES;
        let sizes = loop {
            let offset = usize::try_from(position - window.0).unwrap_or(usize::MAX);
            let header =
                CompactReader { bytes: window.1.get(offset..).unwrap_or_default() };
            if let Some(sizes) = header.page_sizes() {
                break sizes;
            }
            let is_complete_window =
                window.0 == position && window.1.len() as u64 >= read_len;
            if is_complete_window && read_len >= MAX_HEADER_BYTES {
                return Err(unreadable(position));
            }
            if is_complete_window {
                read_len *= 4;
            } else if window.0 == position && !window.1.is_empty() {
                return Err(unreadable(position));
            }
            let end = chunk.end.min(position + read_len);
            window = (position, source.read_at(position..end)?);
            if window.1.is_empty() {
                return Err(unreadable(position));
            }
        };
        pages.add(&sizes);
        position = position.saturating_add(sizes.header).saturating_add(sizes.in_file);
    }
    Ok(pages)
}

impl ChunkPages {
    fn add(&mut self, page: &PageSizes) {
        self.largest = self.largest.max(page.uncompressed);
        match page.kind {
            PageKind::Dictionary => {
                self.dictionary = self.dictionary.max(page.uncompressed);
            }
            PageKind::Data { values, encoding } => {
                self.uncompressed = self.uncompressed.saturating_add(page.uncompressed);
                self.values = self.values.saturating_add(values);
                if matches!(encoding, RLE_DICTIONARY | PLAIN_DICTIONARY) {
                    self.dictionary_values =
                        self.dictionary_values.saturating_add(values);
                }
                self.has_delta_lengths |=
                    matches!(encoding, DELTA_LENGTH_BYTE_ARRAY | DELTA_BYTE_ARRAY);
            }
            PageKind::Other => {}
        }
    }
}

fn unreadable(position: u64) -> Error {
    let message = "the header of a page cannot be read";
    Error::new(ErrorKind::Malformed, message).with_offset(position)
}

/// Parses bytes in Thrift's compact protocol.
#[derive(Clone, Copy)]
struct CompactReader<'b> {
    bytes: &'b [u8],
}

impl CompactReader<'_> {
    /// Parses a page header. Returns `None` if it is incomplete or malformed.
    fn page_sizes(mut self) -> Option<PageSizes> {
        let len = self.bytes.len();
        let (mut uncompressed, mut in_file, mut field_id) = (None, None, 0_i64);
        let mut kind = PageKind::Other;
        loop {
            let field_header = self.byte()?;
            let (id_delta, field_type) = (field_header >> 4, field_header & 15);
            if field_type == 0 {
                break;
            }
            field_id = match id_delta {
                0 => self.integer()?,
                id_delta => field_id + i64::from(id_delta),
            };
            match (field_id, field_type) {
                (2, 5) => uncompressed = Some(u64::try_from(self.integer()?).ok()?),
                (3, 5) => in_file = Some(u64::try_from(self.integer()?).ok()?),
                (5, 12) => kind = self.data_page(2)?,
                (7, 12) => {
                    kind = PageKind::Dictionary;
                    self.skip(field_type, MAX_DEPTH)?;
                }
                (8, 12) => kind = self.data_page(4)?,
                _ => self.skip(field_type, MAX_DEPTH)?,
            }
        }
        let header = (len - self.bytes.len()) as u64;
        Some(PageSizes { header, uncompressed: uncompressed?, in_file: in_file?, kind })
    }

    /// Parses the header of a data page, whose encoding is the field `encoding_id`.
    fn data_page(&mut self, encoding_id: i64) -> Option<PageKind> {
        let (mut values, mut encoding, mut field_id) = (0, 0, 0_i64);
        loop {
            let field_header = self.byte()?;
            let (id_delta, field_type) = (field_header >> 4, field_header & 15);
            if field_type == 0 {
                return Some(PageKind::Data { values, encoding });
            }
            field_id = match id_delta {
                0 => self.integer()?,
                id_delta => field_id + i64::from(id_delta),
            };
            match (field_id, field_type) {
                (1, 5) => values = u64::try_from(self.integer()?).ok()?,
                (id, 5) if id == encoding_id => {
                    encoding = u64::try_from(self.integer()?).ok()?;
                }
                _ => self.skip(field_type, MAX_DEPTH)?,
            }
        }
    }

    /// Skips a value of the type `kind`. Booleans of fields have no bytes.
    fn skip(&mut self, kind: u8, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            1 | 2 => Some(()),
            3 => self.byte().map(drop),
            4..=6 => self.varint().map(drop),
            7 => self.take(8),
            8 => {
                let len = self.varint()?;
                self.take(usize::try_from(len).ok()?)
            }
            9 | 10 => {
                let header = self.byte()?;
                let (count, item) = (u64::from(header >> 4), header & 15);
                let count = if count == 15 { self.varint()? } else { count };
                for _ in 0..count {
                    match item {
                        // Booleans in lists have a byte.
                        1 | 2 => self.take(1)?,
                        _ => self.skip(item, depth)?,
                    }
                }
                Some(())
            }
            12 => loop {
                let header = self.byte()?;
                if header & 15 == 0 {
                    return Some(());
                }
                if header >> 4 == 0 {
                    self.varint()?;
                }
                self.skip(header & 15, depth)?;
            },
            _ => None,
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, remaining) = self.bytes.split_first()?;
        self.bytes = remaining;
        Some(*first)
    }

    fn take(&mut self, len: usize) -> Option<()> {
        self.bytes = self.bytes.get(len..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// Reads a signed integer in zigzag encoding, in which the lowest bit is the sign.
    fn integer(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    /// The header of a dictionary page of 100 bytes that is compressed to 3 bytes, with a checksum:
    /// by the definition of PageHeader in parquet.thrift.
    const HEADER: [u8; 16] = [
        0x15, 4, // field 1, i32: 2
        0x15, 0xc8, 1, // field 2, i32: 100
        0x15, 6, // field 3, i32: 3
        0x15, 1,    // field 4, i32: -1
        0x3c, // field 7, a struct
        0x15, 4, 0x15, 0, // fields 1 and 2, i32
        0, 0, // the ends of both structs
    ];

    #[test]
    fn header_states_the_sizes_of_its_page() {
        let kind = PageKind::Dictionary;
        let sizes = PageSizes { header: 16, uncompressed: 100, in_file: 3, kind };
        assert_eq!(CompactReader { bytes: &HEADER }.page_sizes(), Some(sizes));
        for len in 0..HEADER.len() {
            assert_eq!(
                CompactReader { bytes: &HEADER[..len] }.page_sizes(),
                None,
                "{len}"
            );
        }
        let deep = [0x1c; 100];
        assert_eq!(CompactReader { bytes: &deep }.page_sizes(), None);
    }

    #[test]
    fn values_of_data_pages_are_summed_by_their_encoding() {
        // By the definition of DataPageHeader and DataPageHeaderV2: kind 0 or 3, 10 and 5 bytes,
        // then 7 values in a dictionary, or 9 values with 1 missing in 8 rows as deltas.
        let version_1 = [0x15, 0, 0x15, 20, 0x15, 10, 0x2c, 0x15, 14, 0x15, 16, 0, 0];
        let version_2 = [
            0x15, 6, 0x15, 20, 0x15, 10, 0x5c, 0x15, 18, 0x15, 2, 0x15, 16, 0x15, 14,
            0, 0,
        ];
        let page = |header: &[u8]| [header, b"12345"].concat();
        let bytes = Bytes::from([page(&version_1), page(&version_2)].concat());
        let pages = pages_of(&bytes, 0..bytes.len() as u64).unwrap();
        let expected = ChunkPages {
            largest: 10,
            uncompressed: 20,
            values: 16,
            dictionary: 0,
            dictionary_values: 7,
            has_delta_lengths: true,
        };
        assert_eq!(pages, expected);
    }

    #[test]
    fn pages_that_take_too_much_memory_are_refused() {
        let pages: Vec<u8> = [&HEADER[..], b"abc", &HEADER, b"def"].concat();
        let check = |pages: &[u8], most| {
            let source = Bytes::copy_from_slice(pages);
            let len = pages.len() as u64;
            super::check(&source, std::iter::once(0..len), most)
                .map(drop)
                .map_err(|err| err.kind())
        };
        assert_eq!(check(&pages, 100), Ok(()));
        assert_eq!(check(&pages, 99), Err(ErrorKind::Limit));
        assert_eq!(check(&pages[..30], 100), Err(ErrorKind::Malformed));
        // A page that declares 2^30 bytes and has 3.
        let bomb = [0x15, 0, 0x15, 0x80, 0x80, 0x80, 0x80, 8, 0x15, 6, 0, 1, 2, 3];
        assert_eq!(check(&bomb, u64::MAX), Err(ErrorKind::Limit));
    }
}
