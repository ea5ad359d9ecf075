//! The key of encrypted bags. It is read from a file, because other users can see arguments.

use std::{fs::File, io::Read as _, path::Path};

use logtool::{Error, Result, error::Context as _};
use logtool_rosbag::Key;

/// The maximum size of a key file in bytes.
const MAX_FILE_BYTES: u64 = 4096;

/// Reads the key in the file at `path`, if there is a path.
pub(crate) fn read(path: Option<&Path>) -> Result<Option<Key>> {
    path.map(|path| {
        let name = || format!("the key in {}", path.display());
        let mut bytes = Vec::new();
        let file = File::open(path).cannot_open(path.display())?;
        file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).with_context(name)?;
        parse(&bytes).with_context(name)
    })
    .transpose()
}

/// Parses the contents of a key file.
fn parse(bytes: &[u8]) -> Result<Key> {
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
    fn keys_are_parsed_from_bytes_and_digits() {
        let want = Key::new([0x5a; 16]);
        assert!(parse(&[0x5a; 16]).is_ok_and(|key| key == want));
        let digits = "5A5a5A5a5A5a5A5a5A5a5A5a5A5a5A5a";
        assert!(
            parse(format!(" {digits}\r\n").as_bytes()).is_ok_and(|key| key == want)
        );
        assert!(parse(b"").is_err() && parse(&[0x5a; 17]).is_err());
        assert!(parse(&digits.as_bytes()[1..]).is_err());
    }
}
