//! URLs in place of file names.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

/// Returns the URL in `path`, if it is one.
pub fn from_path(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    let (scheme, _) = text.split_once("://")?;
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    (!scheme.is_empty() && scheme.chars().all(is_scheme)).then_some(text)
}

/// Returns whether `path` is a folder: an existing one, or a path with a trailing `/`.
pub fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.to_str().is_some_and(|path| path.ends_with('/'))
}

/// Returns the folder that contains `path`; for a URL, with a trailing `/`, including all slashes
/// before it.
pub fn parent(path: &Path) -> &Path {
    if let Some(url) = from_path(path) {
        let bucket = url.find("://").map_or(0, |offset| offset + "://".len());
        let slash = url.rfind('/').filter(|offset| *offset >= bucket);
        return slash.map_or(path, |offset| Path::new(&url[..=offset]));
    }
    let parent = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Returns `argument` with a URL of a local file (`file:///a/b` or `-o=file:///a/b`) replaced by
/// its path.
pub fn local_argument(argument: OsString) -> OsString {
    const SCHEME: &str = "file://";
    let Some(text) = argument.to_str() else { return argument };
    let option = match text.strip_prefix('-').and_then(|_| text.split_once('=')) {
        Some((option, _)) => option.len() + 1,
        None => 0,
    };
    let (before, value) = text.split_at(option);
    let begins = value.get(..SCHEME.len());
    if !begins.is_some_and(|begin| begin.eq_ignore_ascii_case(SCHEME)) {
        return argument;
    }
    let path = &value[SCHEME.len()..];
    let path = path.strip_prefix("localhost").unwrap_or(path);
    format!("{before}{}", percent_decode(path)).into()
}

/// Returns the last segment of `path`, without the query of a URL (`?…`).
pub fn file_name(path: &Path) -> Option<&str> {
    let name = path.file_name().and_then(OsStr::to_str)?;
    let is_web = |url: &str| {
        url.get(..4).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http"))
    };
    if !from_path(path).is_some_and(is_web) {
        return Some(name);
    }
    // A query may contain a secret with slashes.
    let path = path.to_str()?.split('?').next()?;
    Path::new(path).file_name().and_then(OsStr::to_str)
}

/// Decodes the percent-encoded bytes of `text` (RFC 3986, section 2.1).
fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut remaining = text.as_bytes();
    while let [first, tail @ ..] = remaining {
        let digits = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        (remaining, _) = match byte.filter(|_| *first == b'%') {
            Some(byte) => (&tail[2..], bytes.push(byte)),
            None => (tail, bytes.push(*first)),
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_url_is_the_path_of_the_file() {
        for (typed, expected) in [
            ("file:///a/b%20c.bag", "/a/b c.bag"),
            ("FILE://localhost/a/100%.bag", "/a/100%.bag"),
            ("-o=file:///a", "-o=/a"),
            ("--out=file:///a=b", "--out=/a=b"),
            ("a=file:///b", "a=file:///b"),
            ("s3://b/file:///k", "s3://b/file:///k"),
        ] {
            assert_eq!(local_argument(typed.into()), *expected, "{typed}");
        }
    }

    #[test]
    fn url_has_a_scheme() {
        let is_url = |text: &str| from_path(Path::new(text)).is_some();
        assert!(is_url("s3://b/k") && is_url("ftp://h/x"));
        assert!(!is_url("a/b.bag") && !is_url("c:\\a") && !is_url("a/b://c"));
    }

    #[test]
    fn parent_of_a_url_ends_at_its_bucket() {
        let parent = |text: &'static str| super::parent(Path::new(text)).to_str();
        assert_eq!(parent("s3://b/a/x.bag"), Some("s3://b/a/"));
        assert_eq!(parent("s3://b/a//x.bag"), Some("s3://b/a//"), "unchanged");
        assert_eq!(parent("s3://b/x.bag"), Some("s3://b/"));
        assert_eq!(parent("s3://b"), Some("s3://b"));
        assert_eq!((parent("x.bag"), parent("a/x")), (Some("."), Some("a")));
        assert!(is_folder(Path::new("s3://b/")) && !is_folder(Path::new("s3://b/x")));
    }

    #[test]
    fn file_name_of_a_url_excludes_the_query() {
        let name = |url: &'static str| file_name(Path::new(url));
        assert_eq!(name("https://h/a/x.bag?sig=a/b"), Some("x.bag"));
        assert_eq!(name("s3://b/a/x?.bag"), Some("x?.bag"));
        assert_eq!(name("a/x?.bag"), Some("x?.bag"));
    }
}
