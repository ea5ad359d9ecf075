//! The key of encrypted logs. It is read from a file, because other users can see arguments.

use std::path::Path;

use logtool::{Error, Result, Session, error::Context as _, input::side_file};
use logtool_rosbag::Key;

/// The maximum size of a key file in bytes. An RSA key of 8,192 bits has 6,400 bytes in PEM.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// Returns `session` with the key in the file at `path`, if there is a path.
pub(crate) fn add(session: Session, path: Option<&Path>) -> Result<Session> {
    let Some(path) = path else { return Ok(session) };
    let name = || format!("the key in {}", path.display());
    let bytes = side_file::read(path, "the key", MAX_FILE_BYTES)?;
    #[cfg(feature = "decrypt")]
    if logtool_ulog::PrivateKey::is_pem(&bytes) {
        let key = logtool_ulog::PrivateKey::from_pem(&bytes).with_context(name)?;
        return Ok(session.with_private_key(key));
    }
    Ok(session.with_key(parse(&bytes).with_context(name)?))
}

/// Parses the contents of a file with the key of a bag.
fn parse(bytes: &[u8]) -> Result<Key> {
    if let Ok(bytes) = <[u8; 16]>::try_from(bytes) {
        return Ok(Key::new(bytes));
    }
    let digits = str::from_utf8(bytes).ok().map(str::trim);
    digits.and_then(|digits| Key::from_hex(digits).ok()).ok_or_else(|| {
        let what = "it is neither 16 bytes nor 32 hexadecimal digits, as the keys of bags are, nor \
                    a private key in PEM, as those of ULogs are";
        Error::other(what)
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
