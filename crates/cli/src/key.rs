//! The key of encrypted bags. It is read from a file, as arguments are seen by all.

use std::{
    ffi::OsString,
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use logtool::{Error, Result, error::Context as _};
use logtool_rosbag::Key;

/// Names the file if no option does.
const VARIABLE: &str = "LOGTOOL_KEY_FILE";
/// No file of a key is longer.
const LONGEST: u64 = 4096;

/// The file at `path`, or that which the environment names, if one does.
fn file(path: Option<&Path>) -> Option<PathBuf> {
    let variable =
        || std::env::var_os(VARIABLE).filter(|value: &OsString| !value.is_empty());
    path.map(Path::to_path_buf).or_else(|| variable().map(PathBuf::from))
}

/// The key in the file that is meant, if one is.
pub(crate) fn given(path: Option<&Path>) -> Result<Option<Key>> {
    file(path)
        .map(|path| {
            let name = || format!("the key in {}", path.display());
            let mut bytes = Vec::new();
            let file = File::open(&path).with_context(name)?;
            file.take(LONGEST).read_to_end(&mut bytes).with_context(name)?;
            key(&bytes).with_context(name)
        })
        .transpose()
}

/// The key that a file with these bytes holds.
fn key(bytes: &[u8]) -> Result<Key> {
    if let Ok(bytes) = <[u8; 16]>::try_from(bytes) {
        return Ok(Key::new(bytes));
    }
    let digits = str::from_utf8(bytes).ok().map(str::trim);
    digits.and_then(|digits| Key::from_hex(digits).ok()).ok_or_else(|| {
        Error::failed("it is neither 16 bytes nor 32 hexadecimal digits")
            .with_hint("gpg --decrypt gives the key that a bag's header has encrypted")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_its_bytes_or_its_digits() {
        let want = Key::new([0x5a; 16]);
        assert!(key(&[0x5a; 16]).is_ok_and(|key| key == want));
        let digits = "5A5a5A5a5A5a5A5a5A5a5A5a5A5a5A5a";
        assert!(key(format!(" {digits}\r\n").as_bytes()).is_ok_and(|key| key == want));
        assert!(key(b"").is_err() && key(&[0x5a; 17]).is_err());
        assert!(key(&digits.as_bytes()[1..]).is_err());
    }
}
