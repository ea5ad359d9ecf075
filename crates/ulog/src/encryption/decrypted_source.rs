//! Decrypts a ULog while it is read.

use std::{fmt, io, ops::Range, sync::Arc};

use bytes::{Bytes, BytesMut};
use chacha20::{
    XChaCha20,
    cipher::{KeyIvInit as _, StreamCipher as _, StreamCipherSeek as _},
};
use logtool_core::{Result, Source};

use crate::{
    encryption::{
        key_header::{KeyHeader, NONCE_LEN},
        private_key::{PrivateKey, SESSION_KEY_LEN},
    },
    wire,
};

/// The first bytes of the key file of PX4 before 1.16.
const KEY_FILE_MAGIC: &[u8; 7] = b"ULogKey";

/// A source that decrypts the bytes of a ULog when they are read. Each range is decrypted
/// independently, so several threads can read at the same time, and a read needs only the memory of
/// its range.
pub struct DecryptedSource {
    encrypted: Arc<dyn Source>,
    /// The offset of the first byte of the ULog in `encrypted`.
    start: u64,
    session_key: [u8; SESSION_KEY_LEN],
    nonce: [u8; NONCE_LEN],
}

impl DecryptedSource {
    /// Opens an encrypted ULog (`.ulge`). The bytes of the result are those of the ULog.
    ///
    /// # Errors
    /// `Unrecognized` if it is not an encrypted ULog, `Malformed` if it is truncated within its
    /// header, `Unsupported` if the key is wrong or the encryption is unknown, `Io` if reading
    /// fails.
    pub fn new(encrypted: Arc<dyn Source>, key: &PrivateKey) -> Result<Self> {
        let header = KeyHeader::read(&*encrypted, wire::ENCRYPTED_MAGIC)?;
        let (wrapped, nonce) = header.wrapped_key_and_nonce(&*encrypted)?;
        let session_key = key.unwrap_session_key(&wrapped)?;
        Ok(Self { start: header.end(), encrypted, session_key, nonce })
    }

    /// Opens an encrypted ULog of PX4 before 1.16: `encrypted` is the file `.ulgc`, and `key_file`
    /// is `.ulgk`.
    ///
    /// # Errors
    /// Like [`new`](Self::new), but for `key_file`.
    pub fn with_key_file(
        encrypted: Arc<dyn Source>,
        key_file: &dyn Source,
        key: &PrivateKey,
    ) -> Result<Self> {
        let header = KeyHeader::read(key_file, KEY_FILE_MAGIC)?;
        let (wrapped, nonce) = header.wrapped_key_and_nonce(key_file)?;
        let session_key = key.unwrap_session_key(&wrapped)?;
        Ok(Self { start: 0, encrypted, session_key, nonce })
    }

    /// Returns the range of the encrypted file that contains `range` of the ULog. It ends at the
    /// end of the file at the latest.
    fn encrypted_range(&self, range: &Range<u64>) -> Range<u64> {
        let encrypted = |offset: u64| self.start + offset.min(self.len());
        encrypted(range.start)..encrypted(range.end.max(range.start))
    }

    /// Decrypts `bytes`, which start at `offset` of the ULog.
    fn decrypt(&self, offset: u64, bytes: Bytes) -> io::Result<Bytes> {
        let too_long = |_| io::Error::other("the log is longer than its cipher allows");
        let mut bytes = BytesMut::from(bytes);
        let mut cipher = XChaCha20::new(&self.session_key.into(), &self.nonce.into());
        cipher.try_seek(offset).map_err(too_long)?;
        cipher.try_apply_keystream(&mut bytes).map_err(too_long)?;
        Ok(bytes.freeze())
    }
}

impl Source for DecryptedSource {
    fn len(&self) -> u64 {
        self.encrypted.len().saturating_sub(self.start)
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        let bytes = self.encrypted.read_at(self.encrypted_range(&range))?;
        if bytes.is_empty() { Ok(bytes) } else { self.decrypt(range.start, bytes) }
    }

    fn peek(&self, range: Range<u64>) -> io::Result<Bytes> {
        let bytes = self.encrypted.peek(self.encrypted_range(&range))?;
        if bytes.is_empty() { Ok(bytes) } else { self.decrypt(range.start, bytes) }
    }

    fn will_peek(&self, range: Range<u64>) {
        self.encrypted.will_peek(self.encrypted_range(&range));
    }

    fn release(&self, range: Range<u64>) {
        self.encrypted.release(self.encrypted_range(&range));
    }
}

/// Does not show the session key, so that it stays out of logs.
impl fmt::Debug for DecryptedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecryptedSource")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
