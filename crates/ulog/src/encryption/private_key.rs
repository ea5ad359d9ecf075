//! The private key that unwraps session keys.

use std::{fmt, sync::Arc};

use aws_lc_rs::rsa::{
    OAEP_SHA256_MGF1SHA256, OaepPrivateDecryptingKey, PrivateDecryptingKey,
};
use logtool_core::{Error, ErrorKind, Result};
use rustls_pki_types::{PrivateKeyDer, pem::PemObject as _};

/// The length of a session key, which is an XChaCha20 key.
pub(super) const SESSION_KEY_LEN: usize = 32;

/// The private RSA key of a vehicle's owner, which opens the encrypted ULogs of the vehicle.
///
/// Clones share the key.
///
/// ```no_run
/// use logtool_ulog::PrivateKey;
///
/// let pem = std::fs::read("private_key.pem")?;
/// let key = PrivateKey::from_pem(&pem)?;
/// # let _ = key;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct PrivateKey(Arc<OaepPrivateDecryptingKey>);

impl PrivateKey {
    /// Returns whether `bytes` are the contents of a PEM file.
    pub fn is_pem(bytes: &[u8]) -> bool {
        contains(bytes, b"-----BEGIN ")
    }

    /// Creates a key from a file in PEM format. The key is in PKCS #8 (`BEGIN PRIVATE KEY`) or in
    /// PKCS #1 (`BEGIN RSA PRIVATE KEY`), without a passphrase, and has 2,048 to 8,192 bits.
    ///
    /// # Errors
    /// `Unsupported` if the file has a key of another kind, `Malformed` if it has no key.
    pub fn from_pem(pem: &[u8]) -> Result<Self> {
        let unsupported =
            |message: &'static str| Error::new(ErrorKind::Unsupported, message);
        if contains(pem, b"ENCRYPTED") {
            return Err(unsupported(
                "the private key is protected by a passphrase; `openssl pkey -in KEY -out NEW` \
                 writes it without one",
            ));
        }
        if contains(pem, b"PUBLIC KEY-----") {
            return Err(unsupported(
                "it is a public key; decryption requires the private key",
            ));
        }
        let der = PrivateKeyDer::from_pem_slice(pem).map_err(|_| {
            let message = "it has no private RSA key in PEM (PKCS #8 or PKCS #1)";
            Error::new(ErrorKind::Malformed, message)
        })?;
        let key = match &der {
            PrivateKeyDer::Pkcs8(der) => {
                PrivateDecryptingKey::from_pkcs8(der.secret_pkcs8_der())
            }
            PrivateKeyDer::Pkcs1(der) => {
                PrivateDecryptingKey::from_pkcs8(&wrap_in_pkcs8(der.secret_pkcs1_der()))
            }
            _ => return Err(unsupported("it is not an RSA key")),
        };
        let rejected = |_| unsupported("it is not an RSA key of 2,048 to 8,192 bits");
        let key = key.map_err(rejected)?;
        let key = OaepPrivateDecryptingKey::new(key)
            .map_err(|_| unsupported("the key cannot decrypt"))?;
        Ok(Self(Arc::new(key)))
    }

    /// Decrypts a session key.
    ///
    /// # Errors
    /// `Unsupported` if the log was encrypted for another key, or if the session key does not have
    /// the length of an XChaCha20 key.
    pub(super) fn unwrap_session_key(
        &self,
        wrapped: &[u8],
    ) -> Result<[u8; SESSION_KEY_LEN]> {
        let unsupported = |message| Error::new(ErrorKind::Unsupported, message);
        let (bits, key_bits) = (8 * wrapped.len(), self.0.key_size_bits());
        if wrapped.len() != self.0.key_size_bytes() {
            return Err(unsupported(format!(
                "the key is wrong: the session key of this log was encrypted with a key of {bits} \
                 bits, and this one has {key_bits}"
            )));
        }
        let mut buffer = vec![0; self.0.min_output_size()];
        let unwrapped =
            self.0.decrypt(&OAEP_SHA256_MGF1SHA256, wrapped, &mut buffer, None);
        let session_key = unwrapped.map_err(|_| {
            let message =
                "the key is wrong: the session key of this log cannot be decrypted with it";
            unsupported(message.to_owned())
        })?;
        <[u8; SESSION_KEY_LEN]>::try_from(&*session_key).map_err(|_| {
            unsupported(format!(
                "the session key of this log has {} bytes, and that of XChaCha20 has \
                 {SESSION_KEY_LEN}",
                session_key.len()
            ))
        })
    }
}

/// Does not show the key, so that it stays out of logs.
impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey(..)")
    }
}

fn contains(text: &[u8], pattern: &[u8]) -> bool {
    text.windows(pattern.len()).any(|window| window == pattern)
}

/// Wraps the RSA key `pkcs1` in the structure `PrivateKeyInfo` of PKCS #8 (RFC 5208, section 5).
fn wrap_in_pkcs8(pkcs1: &[u8]) -> Vec<u8> {
    // The version 0, and the algorithm rsaEncryption (1.2.840.113549.1.1.1) without parameters.
    const PREFIX: [u8; 18] =
        *b"\x02\x01\x00\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";
    const SEQUENCE: u8 = 0x30;
    const OCTET_STRING: u8 = 0x04;
    let key = der_element(OCTET_STRING, pkcs1);
    der_element(SEQUENCE, &[&PREFIX, key.as_slice()].concat())
}

/// Encodes a DER element: the tag, the length of the contents, and the contents.
fn der_element(tag: u8, contents: &[u8]) -> Vec<u8> {
    let length = contents.len().to_be_bytes();
    let zeros = length.iter().take_while(|byte| **byte == 0).count();
    let length = length.get(zeros..).unwrap_or_default();
    let mut element = vec![tag];
    match length {
        [] => element.push(0),
        [short @ ..0x80] => element.push(*short),
        _ => {
            element.push(0x80 | length.len() as u8);
            element.extend(length);
        }
    }
    element.extend(contents);
    element
}
