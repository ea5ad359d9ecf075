//! Lists of what is meant: `@list.txt`, or `-` for one on standard input.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use logtool::{
    Error, Result,
    error::Context as _,
    input::{STDIN, open, url},
};

/// No list is longer.
const LONGEST: u64 = 256 << 20;

/// What is in the list that `input` is, or just itself.
pub(super) fn listed(input: &Path) -> Result<Vec<PathBuf>> {
    let name = input.to_str().unwrap_or_default();
    let bytes = match name.strip_prefix('@') {
        _ if name == STDIN => read(io::stdin()).context("the list")?,
        Some(list) if !input.exists() => {
            let named = || format!("the list {list}");
            read(File::open(list).with_context(named)?).with_context(named)?
        }
        _ => return Ok(vec![input.to_owned()]),
    };
    let one = |line: &[u8]| {
        let path: PathBuf = url::local(path(line)?.into()).into();
        if line.starts_with(b"@") && !path.exists() {
            let what = format!("{} is in a list: lists hold no lists", path.display());
            return Err(Error::invalid(what));
        }
        Ok(path)
    };
    lines(&bytes).map(one).collect()
}

/// All of a list; nothing is kept of a log that somebody takes for one.
fn read(mut list: impl Read) -> Result<Vec<u8>> {
    const HEAD: u64 = 4096;
    let mut bytes = Vec::new();
    (&mut list).take(HEAD).read_to_end(&mut bytes)?;
    if open::begins_as_log(&bytes) {
        let hint = "name the log itself; `-` is a list of names, a line each";
        return Err(Error::failed("it is a log, and no list of logs").with_hint(hint));
    }
    list.take(LONGEST).read_to_end(&mut bytes)?;
    if bytes.len() as u64 >= LONGEST {
        return Err(Error::failed("it is too long for a list"));
    }
    Ok(bytes)
}

/// The lines of a list, without empty ones and those that begin with `#`; or what lies between
/// zeros, as it is.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    // What some editors begin a text with.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let has_zeros = bytes.contains(&0);
    let end = if has_zeros { 0 } else { b'\n' };
    let lines = bytes.split(move |byte| *byte == end);
    let lines = lines.map(move |line| match has_zeros {
        true => line,
        false => line.strip_suffix(b"\r").unwrap_or(line),
    });
    lines.filter(move |line| match has_zeros {
        true => !line.is_empty(),
        false => !line.trim_ascii().is_empty() && !line.starts_with(b"#"),
    })
}

/// The name `bytes`, which need not be a text.
#[cfg(unix)]
fn path(bytes: &[u8]) -> Result<PathBuf> {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};
    Ok(OsStr::from_bytes(bytes).into())
}

#[cfg(not(unix))]
fn path(bytes: &[u8]) -> Result<PathBuf> {
    let text = str::from_utf8(bytes)
        .map_err(|_| Error::invalid("a name in the list is not valid UTF-8"))?;
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &[u8]) -> Vec<&[u8]> {
        lines(text).collect()
    }

    #[test]
    fn a_list_is_lines_or_what_lies_between_zeros() {
        let text = b"a.bag\r\n\n# not this\n  \n b c.ulg\nlast";
        assert_eq!(of(text), [&b"a.bag"[..], b" b c.ulg", b"last"]);
        assert_eq!(of(b"#a\nb\0\0c\0"), [&b"#a\nb"[..], b"c"]);
        assert_eq!(of(b"\xef\xbb\xbfa\r\nx\xff\n"), [&b"a"[..], b"x\xff"]);
        assert!(of(b"").is_empty());
    }

    #[test]
    fn a_log_is_no_list() {
        assert!(read(&b"ULog\x01\x12\x35\x01\0\0\0\0\0\0\0\0"[..]).is_err());
        assert!(read(&b"#ROSBAG V2.0\nx"[..]).is_err());
        assert_eq!(read(&b"a.ulg\n"[..]).unwrap(), b"a.ulg\n");
    }
}
