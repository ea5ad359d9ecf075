//! Encrypted ULogs.
//!
//! ```text
//! .ulge   header | session key, wrapped with RSA | nonce | the ULog, encrypted
//! header  magic "ULogEnc" | version u8 | time u64 (µs) | algorithm u8 | key number u8
//!         | length of the wrapped key u16 | length of the nonce u16       22 bytes, little-endian
//! ```
//! PX4 before 1.16 wrote two files: `.ulgk` contains the header (with the magic "ULogKey"), the
//! wrapped key and the nonce, and `.ulgc` contains only the encrypted ULog. Algorithm 4 is RSA-OAEP
//! with SHA-256. The cipher is XChaCha20 with the block counter 0 at the first byte of the ULog.
//! (Sources: PX4 User Guide, "Log Encryption"; PX4, `log_writer_file.cpp` and `decrypt_ulog.py`.)

mod key_header;

#[cfg(feature = "decrypt")]
mod decrypted_source;
#[cfg(feature = "decrypt")]
mod private_key;

use logtool_core::{Error, ErrorKind, Result, Source};

use crate::{encryption::key_header::KeyHeader, wire};

#[cfg(feature = "decrypt")]
pub use self::{decrypted_source::DecryptedSource, private_key::PrivateKey};

/// Returns whether `source` starts with the magic bytes of an encrypted ULog. The encrypted ULogs
/// of PX4 before 1.16 (`.ulgc`) have no magic bytes, so they are not recognized.
///
/// # Errors
/// `Io` if reading fails.
pub fn is_encrypted(source: &dyn Source) -> Result<bool> {
    let magic = wire::ENCRYPTED_MAGIC;
    Ok(source.read_at(0..magic.len() as u64)?.starts_with(magic))
}

/// Returns the error for opening the encrypted log in `source` without its key. The message
/// contains the number and the length of the public key, or the defect of the header.
pub fn needs_key(source: &dyn Source) -> Error {
    let header = match KeyHeader::read(source, wire::ENCRYPTED_MAGIC) {
        Ok(header) => header,
        Err(err) => return err,
    };
    let wrapping = format!(
        "its session key is wrapped with the public RSA key number {} of the vehicle ({} bits)",
        header.key_number,
        8 * u32::from(header.wrapped_key_bytes),
    );
    if cfg!(feature = "decrypt") {
        let message = format!(
            "the ULog is encrypted (XChaCha20): reading it requires the private key of the \
             vehicle's owner; {wrapping}"
        );
        return Error::new(ErrorKind::NeedsKey, message);
    }
    let message = format!(
        "the ULog is encrypted (XChaCha20), and this program was built without the feature \
         `decrypt`; {wrapping}; PX4's Tools/decrypt_ulog.py decrypts the log with the private \
         key of the vehicle's owner"
    );
    Error::new(ErrorKind::Unsupported, message)
}
