//! The first line of a CSV file, which contains the names of the columns.

use logtool_core::{Error, ErrorKind, OpenOptions, Result, Source, decode_text};

use crate::csv::row_parser::{ParsedRow, RowParser};

/// The UTF-8 byte order mark, which some programs write before the text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The maximum length of the line in bytes.
const MAX_HEADER_BYTES: u64 = 16 << 20;

/// The number of bytes that are read first.
const FIRST_BYTES: u64 = 64 << 10;

/// The names of the columns, and the position of the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) delimiter: u8,
    pub(super) names: Vec<String>,
    /// The file offset of the first byte after the header.
    pub(super) end: u64,
}

/// Reads the header of `source`.
///
/// # Errors
/// `Malformed` for a file without names; `Limit` for a line that is too long; errors of the source.
pub(super) fn read(source: &dyn Source, options: OpenOptions) -> Result<Header> {
    let limit = MAX_HEADER_BYTES.min(u64::from(options.record_bytes)).max(FIRST_BYTES);
    let mut read_len = FIRST_BYTES;
    loop {
        let bytes = source.read_at(0..read_len.min(source.len()))?;
        if let Some(header) = parse(&bytes, bytes.len() as u64 == source.len())? {
            return Ok(header);
        }
        if read_len >= limit {
            let message = format!("the line with the names is over {limit} bytes long");
            return Err(Error::new(ErrorKind::Limit, message).with_offset(0));
        }
        read_len = (read_len * 2).min(limit);
    }
}

/// Parses the header at the start of `bytes`. Returns `None` if it continues after them. `is_end`
/// is set if the file ends after them.
fn parse(bytes: &[u8], is_end: bool) -> Result<Option<Header>> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        let message = "the text is in UTF-16; only UTF-8 is read";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let mark_len = bytes.len() - text.len();
    let delimiter = delimiter(text);
    let mut parser = RowParser::new(delimiter);
    let malformed =
        |message| Err(Error::new(ErrorKind::Malformed, message).with_offset(0));
    let len = match parser.parse(text, is_end) {
        ParsedRow::Row { len, .. } => len,
        ParsedRow::Partial => return Ok(None),
        ParsedRow::Blank if !is_end => return Ok(None),
        ParsedRow::Blank => {
            return malformed("there is no line with the names of columns");
        }
        ParsedRow::OpenQuotes => {
            return malformed("the file ends in the names of columns");
        }
        ParsedRow::TooManyCells => {
            let message = "the table has more than 65,536 columns";
            return Err(Error::new(ErrorKind::Limit, message).with_offset(0));
        }
    };
    let names: Vec<String> = (0..parser.cells())
        .map(|index| {
            let name = decode_text(parser.cell(index).unwrap_or_default());
            match name.trim() {
                // pandas writes an index column without a name.
                "" => format!("column_{}", index + 1),
                name => name.to_owned(),
            }
        })
        .collect();
    if names.iter().any(|name| name.contains('\0')) {
        return malformed("the names of the columns contain zero bytes");
    }
    Ok(Some(Header { delimiter, names, end: (mark_len + len) as u64 }))
}

/// Returns the most frequent delimiter in the first line of `text`.
fn delimiter(text: &[u8]) -> u8 {
    let line = text.iter().take_while(|byte| !matches!(byte, b'\n' | b'\r'));
    let mut counts = [(b'\t', 0_usize), (b';', 0), (b',', 0)];
    let mut is_quoted = false;
    for byte in line {
        is_quoted ^= *byte == b'"';
        let count =
            counts.iter_mut().find(|(candidate, _)| candidate == byte && !is_quoted);
        if let Some((_, count)) = count {
            *count += 1;
        }
    }
    // The last of several equal counts is used; it is that of the comma.
    counts
        .iter()
        .max_by_key(|(_, count)| *count)
        .map_or(b',', |(candidate, _)| *candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_with_any_delimiter_and_a_byte_order_mark() {
        let names = |text: &[u8]| parse(text, false).unwrap().unwrap().names;
        assert_eq!(
            names(b"\xef\xbb\xbftime, x ,\"a,b\"\r\n1,2,3"),
            ["time", "x", "a,b"]
        );
        assert_eq!(names(b"time;\"a;b,,\";c\n"), ["time", "a;b,,", "c"]);
        assert_eq!(names(b",x\ty,\n"), ["column_1", "x\ty", "column_3"]);
        assert_eq!(names(b"t\tx\n"), ["t", "x"]);
        let header = parse(b"\xef\xbb\xbft,x\r\n1", false).unwrap().unwrap();
        assert_eq!((header.delimiter, header.end), (b',', 8));
    }

    #[test]
    fn headers_without_names_are_errors() {
        let kind = |text: &[u8]| parse(text, true).unwrap_err().kind();
        assert_eq!(kind(b""), ErrorKind::Malformed);
        assert_eq!(kind(b"\r\n"), ErrorKind::Malformed);
        assert_eq!(kind(b"a,\"b\n"), ErrorKind::Malformed);
        assert_eq!(kind(&[0; 100]), ErrorKind::Malformed);
        assert_eq!(kind(b"\xff\xfet\0"), ErrorKind::Unsupported);
        assert_eq!(kind(&[b','; 100_000]), ErrorKind::Limit);
        assert!(parse(b"a,b", false).unwrap().is_none());
    }
}
