//! The header before the wrapped session key of an encrypted ULog.

#![deny(clippy::indexing_slicing)]

use logtool_core::{ByteReader, Error, ErrorKind, Result, Source};

/// The length of the header.
const HEADER_LEN: u64 = 22;
/// The only known version.
const VERSION: u8 = 1;
/// The identifier of RSA-OAEP in PX4's list of algorithms.
const RSA_OAEP: u8 = 4;
/// The length of an XChaCha20 nonce.
pub(super) const NONCE_LEN: usize = 24;

/// The fields of the header that describe the wrapped session key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyHeader {
    /// The number of the public key in the key store of the vehicle.
    pub(super) key_number: u8,
    /// The length of the wrapped session key, which follows the header.
    pub(super) wrapped_key_bytes: u16,
}

impl KeyHeader {
    /// Reads the header at the start of `source`, which must start with `magic`.
    ///
    /// # Errors
    /// `Unrecognized` if `source` starts with other bytes, `Malformed` if it is truncated,
    /// `Unsupported` if the version, the algorithm or the length of the nonce is unknown.
    pub(super) fn read(source: &dyn Source, magic: &[u8; 7]) -> Result<Self> {
        let bytes = source.read_at(0..HEADER_LEN)?;
        let mut reader = ByteReader::new(&bytes);
        if reader.bytes(magic.len()) != Some(magic.as_slice()) {
            let message =
                format!("it does not start with \"{}\"", magic.escape_ascii());
            return Err(Error::new(ErrorKind::Unrecognized, message).with_offset(0));
        }
        let fields = (|| {
            let version = reader.u8()?;
            let _time = reader.u64()?;
            let (algorithm, key_number) = (reader.u8()?, reader.u8()?);
            Some((version, algorithm, key_number, reader.u16()?, reader.u16()?))
        })();
        let Some((version, algorithm, key_number, wrapped_key_bytes, nonce_bytes)) =
            fields
        else {
            return Err(truncated(HEADER_LEN, source.len()));
        };
        let unsupported = |offset, message| {
            Err(Error::new(ErrorKind::Unsupported, message).with_offset(offset))
        };
        if version != VERSION {
            let message =
                format!("the encrypted ULog has the unknown version {version}");
            return unsupported(7, message);
        }
        if algorithm != RSA_OAEP {
            let message = format!(
                "the key of the encrypted ULog is wrapped with the unknown algorithm \
                 {algorithm}, and not with RSA-OAEP ({RSA_OAEP})"
            );
            return unsupported(16, message);
        }
        if usize::from(nonce_bytes) != NONCE_LEN {
            let message = format!(
                "the nonce of the encrypted ULog has {nonce_bytes} bytes, and that of \
                 XChaCha20 has {NONCE_LEN}"
            );
            return unsupported(20, message);
        }
        Ok(Self { key_number, wrapped_key_bytes })
    }

    /// Returns the offset of the nonce.
    #[cfg(feature = "decrypt")]
    fn nonce_start(self) -> u64 {
        HEADER_LEN + u64::from(self.wrapped_key_bytes)
    }

    /// Returns the offset of the first byte after the nonce.
    #[cfg(feature = "decrypt")]
    pub(super) fn end(self) -> u64 {
        self.nonce_start() + NONCE_LEN as u64
    }

    /// Reads the wrapped session key and the nonce.
    ///
    /// # Errors
    /// `Malformed` if `source` is truncated.
    #[cfg(feature = "decrypt")]
    pub(super) fn wrapped_key_and_nonce(
        self,
        source: &dyn Source,
    ) -> Result<(bytes::Bytes, [u8; NONCE_LEN])> {
        let wrapped = source.read_at(HEADER_LEN..self.nonce_start())?;
        let nonce = source.read_at(self.nonce_start()..self.end())?;
        match nonce.first_chunk() {
            Some(nonce) => Ok((wrapped, *nonce)),
            None => Err(truncated(self.end(), source.len())),
        }
    }
}

/// Returns the error for a source of `available` bytes that should contain `expected` bytes of
/// header, key and nonce.
fn truncated(expected: u64, available: u64) -> Error {
    let message = format!(
        "an encrypted ULog that is truncated within its header: {available} bytes of {expected}"
    );
    Error::new(ErrorKind::Malformed, message).with_offset(available)
}
