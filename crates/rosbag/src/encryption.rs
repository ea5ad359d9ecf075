//! Bags that are encrypted, as ROS's own plugin does it.
//!
//! The plugin `rosbag/AesCbcEncryptor` encrypts every chunk, and every connection of
//! the index, with AES-128 in CBC mode; each begins with its own initialisation vector
//! of 16 bytes and is padded as PKCS 7 says. The key is in the bag's header, itself
//! encrypted with GPG, which is not done here: `gpg --decrypt` gives it. (Read in
//! rosbag_storage's `aes_encryptor.cpp`.)

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

/// The plugin that is understood.
const AES: &[u8] = b"rosbag/AesCbcEncryptor";
/// The plugin that does nothing.
const NONE: &[u8] = b"rosbag/NoEncryptor";

/// A key that chunks are decrypted with: what is left when GPG has decrypted the
/// `encrypted_key` of a bag's header.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; 16]);

impl Key {
    /// The key of these bytes.
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the key.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The key of these hexadecimal digits.
    ///
    /// # Errors
    /// `Malformed` where they are not 32 such digits.
    pub fn from_hex(digits: &str) -> Result<Self> {
        let digit = |digit: &u8| char::from(*digit).to_digit(16);
        let byte =
            |[high, low]: &[u8; 2]| Some((digit(high)? << 4 | digit(low)?) as u8);
        let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
        let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
        let key = bytes.filter(|_| rest.is_empty());
        let key = key.and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
        key.map(Self).ok_or_else(|| {
            Error::new(ErrorKind::Malformed, "a key that is not 32 hexadecimal digits")
        })
    }

    /// What `bytes` say, without vector and padding; nothing where this is not the key.
    pub(crate) fn decrypt(&self, bytes: &[u8]) -> Option<BytesMut> {
        self.text_of::<Pkcs7>(bytes)
    }

    /// What the first of some encrypted bytes say, as far as there are whole blocks of
    /// them.
    pub(crate) fn decrypt_cut(&self, bytes: &[u8]) -> Option<BytesMut> {
        let (blocks, _) = bytes.as_chunks::<16>();
        self.text_of::<NoPadding>(blocks.as_flattened())
    }

    fn text_of<P: Padding>(&self, bytes: &[u8]) -> Option<BytesMut> {
        let (vector, text) = bytes.split_first_chunk::<16>()?;
        let mut text = BytesMut::from(text);
        let cipher = cbc::Decryptor::<Aes128>::new(&self.0.into(), &(*vector).into());
        let len = cipher.decrypt_padded::<P>(&mut text).ok()?.len();
        text.truncate(len);
        Some(text)
    }
}

/// Not the key itself, so that it stays out of logs.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// What of a bag is encrypted, and whether that can be undone.
#[derive(Clone, Debug, Default)]
pub(crate) enum Lock {
    /// Nothing is.
    #[default]
    Open,
    /// Chunks and the connections of the index are.
    Key(Key),
    /// So they are, and this is why they cannot be read.
    Shut(ErrorKind, String),
}

impl Lock {
    /// The lock of a bag that was encrypted by the plugin `encryptor` for `user`.
    pub(crate) fn new(encryptor: &str, user: &str, key: Option<Key>) -> Self {
        let encryptor = encryptor.trim_end_matches('\0');
        match (encryptor.as_bytes(), key) {
            (b"" | NONE, _) => Self::Open,
            (AES, Some(key)) => Self::Key(key),
            (AES, None) => {
                let whose = if user.is_empty() { "somebody" } else { user };
                let what = format!(
                    "the bag is encrypted for {whose:?} (AES): its key is needed, which \
                     gpg can decrypt from the bag's header"
                );
                Self::Shut(ErrorKind::NeedsKey, what)
            }
            _ => {
                let what = format!(
                    "the bag is encrypted by the plugin {encryptor:?}, which is not known"
                );
                Self::Shut(ErrorKind::Unsupported, what)
            }
        }
    }

    /// An error where nothing can be read.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Self::Shut(kind, why) => Err(Error::new(*kind, why.clone())),
            Self::Open | Self::Key(_) => Ok(()),
        }
    }
}
