//! Bags that are encrypted by the plugin of ROS.
//!
//! The plugin `rosbag/AesCbcEncryptor` encrypts every chunk, and every connection of the index,
//! with AES-128 in CBC mode. The bytes of each begin with an initialization vector of 16 bytes, and
//! end with padding by PKCS 7. The key is in the bag header, encrypted with GPG. This crate does
//! not decrypt it; `gpg --decrypt` does. (Source: `aes_encryptor.cpp` of rosbag_storage.)

use std::fmt;

use aes::{
    Aes128,
    cipher::{
        BlockModeDecrypt as _, KeyIvInit as _,
        block_padding::{NoPadding, Padding, Pkcs7},
    },
};
use bytes::BytesMut;
use logtool_core::{Error, ErrorKind, Result};

/// The supported plugin.
const AES: &[u8] = b"rosbag/AesCbcEncryptor";
/// The plugin that does not encrypt.
const NONE: &[u8] = b"rosbag/NoEncryptor";

/// The key for decrypting chunks: the decrypted form of `encrypted_key` in the bag header.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; 16]);

impl Key {
    /// Creates a key from its bytes.
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the key.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Creates a key from its hexadecimal digits.
    ///
    /// # Errors
    /// `Malformed` if these are not 32 hexadecimal digits.
    pub fn from_hex(digits: &str) -> Result<Self> {
        let digit = |digit: &u8| char::from(*digit).to_digit(16);
        let byte =
            |[high, low]: &[u8; 2]| Some((digit(high)? << 4 | digit(low)?) as u8);
        let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
        let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
        let key = bytes.filter(|_| rest.is_empty());
        let key = key.and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
        key.map(Self).ok_or_else(|| {
            Error::new(ErrorKind::Malformed, "the key is not 32 hexadecimal digits")
        })
    }

    /// Decrypts `bytes`, which begin with an initialization vector and end with padding, and
    /// returns the content without both. Returns `None` if the key is wrong.
    pub(crate) fn decrypt(&self, bytes: &[u8]) -> Option<BytesMut> {
        self.decrypt_with_padding::<Pkcs7>(bytes)
    }

    /// Like [`decrypt`](Self::decrypt), for encrypted bytes whose end is missing: decrypts the
    /// complete blocks.
    pub(crate) fn decrypt_truncated(&self, bytes: &[u8]) -> Option<BytesMut> {
        let (blocks, _) = bytes.as_chunks::<16>();
        self.decrypt_with_padding::<NoPadding>(blocks.as_flattened())
    }

    fn decrypt_with_padding<P: Padding>(&self, bytes: &[u8]) -> Option<BytesMut> {
        let (vector, encrypted) = bytes.split_first_chunk::<16>()?;
        let mut plain_text = BytesMut::from(encrypted);
        let cipher = cbc::Decryptor::<Aes128>::new(&self.0.into(), &(*vector).into());
        let len = cipher.decrypt_padded::<P>(&mut plain_text).ok()?.len();
        plain_text.truncate(len);
        Some(plain_text)
    }
}

/// Does not show the key, so that it stays out of logs.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// Whether a bag is encrypted, and whether it can be decrypted.
#[derive(Clone, Debug, Default)]
pub(crate) enum Encryption {
    /// The bag is not encrypted.
    #[default]
    None,
    /// Chunks and the connections of the index are encrypted with this key.
    Key(Key),
    /// Chunks and the connections of the index are encrypted, and cannot be decrypted for this
    /// reason.
    Locked(ErrorKind, String),
}

impl Encryption {
    /// Returns the encryption of a bag that the plugin `encryptor` encrypted for `user`.
    pub(crate) fn new(encryptor: &str, user: &str, key: Option<Key>) -> Self {
        let encryptor = encryptor.trim_end_matches('\0');
        match (encryptor.as_bytes(), key) {
            (b"" | NONE, _) => Self::None,
            (AES, Some(key)) => Self::Key(key),
            (AES, None) => {
                let recipient = if user.is_empty() {
                    "an unnamed user".to_owned()
                } else {
                    format!("{user:?}")
                };
                let message = format!(
                    "the bag is encrypted for {recipient} (AES): reading it requires its key, \
                     which gpg can decrypt from the bag header"
                );
                Self::Locked(ErrorKind::NeedsKey, message)
            }
            _ => {
                let message = format!(
                    "the bag is encrypted by the plugin {encryptor:?}, which is not supported"
                );
                Self::Locked(ErrorKind::Unsupported, message)
            }
        }
    }

    /// Returns an error if the bag cannot be decrypted.
    pub(crate) fn check_unlocked(&self) -> Result<()> {
        match self {
            Self::Locked(kind, reason) => Err(Error::new(*kind, reason.clone())),
            Self::None | Self::Key(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_names_the_user() {
        for (user, expected) in
            [("", "for an unnamed user (AES)"), ("ann", "for \"ann\" (AES)")]
        {
            let encryption = Encryption::new("rosbag/AesCbcEncryptor", user, None);
            let err = encryption.check_unlocked().unwrap_err();
            assert!(err.to_string().contains(expected), "{err}");
        }
    }
}
