//! Lists of inputs: the file `@list.txt`, or `-` for standard input.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use crate::{
    error::{Context as _, Error, Result},
    source::input::{STDIN, open, side_file, url},
};

/// The maximum length of a list.
const MAX_BYTES: u64 = 256 << 20;

/// Returns the inputs in the list that `input` names, or `input` itself.
pub(super) fn expand(input: &Path) -> Result<Vec<PathBuf>> {
    let name = input.to_str().unwrap_or_default();
    let bytes = match name.strip_prefix('@') {
        _ if name == STDIN => read(io::stdin()).context("the list")?,
        Some(list) if !input.exists() => {
            let context = || format!("the list {list}");
            read(side_file::open(Path::new(list), "the list")?).with_context(context)?
        }
        _ => return Ok(vec![input.to_owned()]),
    };
    lines(&bytes).map(parse).collect()
}

/// Returns the input in `line`.
fn parse(line: &[u8]) -> Result<PathBuf> {
    let path: PathBuf = url::local_argument(path(line)?.into()).into();
    if line.starts_with(b"@") && !path.exists() {
        let message =
            format!("{} is in a list: lists cannot contain lists", path.display());
        return Err(Error::invalid_request(message));
    }
    Ok(path)
}

/// Reads a list. A log, which users may mistake for one, is refused after its first bytes.
fn read(mut list: impl Read) -> Result<Vec<u8>> {
    const HEAD_BYTES: u64 = 4096;
    let mut bytes = Vec::new();
    (&mut list).take(HEAD_BYTES).read_to_end(&mut bytes)?;
    if open::is_log_start(&bytes) {
        let hint = "name the log itself; `-` reads a list of names, one on each line";
        return Err(Error::other("it is a log, not a list of logs").with_hint(hint));
    }
    list.take(MAX_BYTES).read_to_end(&mut bytes)?;
    if bytes.len() as u64 >= MAX_BYTES {
        return Err(Error::other("it is longer than a list may be"));
    }
    Ok(bytes)
}

/// Returns the lines of a list, without empty lines and comments, which start with `#`. A list
/// with zero bytes has no lines: its entries are separated by zeros, and may be anything.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    // Some editors start files with a byte order mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let has_zeros = bytes.contains(&0);
    let separator = if has_zeros { 0 } else { b'\n' };
    let lines = bytes.split(move |byte| *byte == separator).map(move |line| {
        if has_zeros { line } else { line.strip_suffix(b"\r").unwrap_or(line) }
    });
    lines.filter(move |line| {
        if has_zeros {
            !line.is_empty()
        } else {
            !line.trim_ascii().is_empty() && !line.starts_with(b"#")
        }
    })
}

/// Returns the path with these bytes, which do not have to be UTF-8.
#[cfg(unix)]
fn path(bytes: &[u8]) -> Result<PathBuf> {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};
    Ok(OsStr::from_bytes(bytes).into())
}

#[cfg(not(unix))]
fn path(bytes: &[u8]) -> Result<PathBuf> {
    let text = str::from_utf8(bytes)
        .map_err(|_| Error::invalid_request("a name in the list is not valid UTF-8"))?;
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(list: &[u8]) -> Vec<&[u8]> {
        lines(list).collect()
    }

    #[test]
    fn lines_skips_comments_and_splits_at_zeros() {
        let list = b"a.bag\r\n\n# not this\n  \n b c.ulg\nlast";
        assert_eq!(entries(list), [&b"a.bag"[..], b" b c.ulg", b"last"]);
        assert_eq!(entries(b"#a\nb\0\0c\0"), [&b"#a\nb"[..], b"c"]);
        assert_eq!(entries(b"\xef\xbb\xbfa\r\nx\xff\n"), [&b"a"[..], b"x\xff"]);
        assert!(entries(b"").is_empty());
    }

    #[test]
    fn read_refuses_a_log() {
        assert!(read(&b"ULog\x01\x12\x35\x01\0\0\0\0\0\0\0\0"[..]).is_err());
        assert!(read(&b"#ROSBAG V2.0\nx"[..]).is_err());
        assert_eq!(read(&b"a.ulg\n"[..]).unwrap(), b"a.ulg\n");
    }
}
