//! Decrypts files whose parts come from OpenSSL, PyCryptodome and the draft of XChaCha20: see
//! `testdata/encrypted/README.md`.

#![cfg(feature = "decrypt")]
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use bytes::Bytes;
use logtool_core::{Error, ErrorKind, OpenOptions, Source as _};
use logtool_ulog::{DecryptedSource, PrivateKey, UlogLog, is_encrypted};

const KEY: &[u8] = include_bytes!("../../../testdata/encrypted/private_key.pem");
const WRAPPED_KEY: &[u8] =
    include_bytes!("../../../testdata/encrypted/wrapped_key.bin");
const PLAINTEXT: &[u8] =
    include_bytes!("../../../testdata/encrypted/draft_plaintext.txt");
const COUNTER_0: &[u8] =
    include_bytes!("../../../testdata/encrypted/draft_counter_0.bin");
const COUNTER_1: &[u8] =
    include_bytes!("../../../testdata/encrypted/draft_counter_1.bin");
/// The nonce of the draft.
const NONCE: [u8; 24] = *b"@ABCDEFGHIJKLMNOPQRSTUVX";
const HEADER_LEN: usize = 22;

/// Returns a header, the wrapped key, and the nonce.
fn key_header(magic: &[u8; 7], wrapped: &[u8]) -> Vec<u8> {
    let mut bytes = magic.to_vec();
    bytes.push(1); // version
    bytes.extend(123_456_u64.to_le_bytes());
    bytes.extend([4, 1]); // RSA-OAEP, key 1
    bytes.extend(u16::try_from(wrapped.len()).unwrap().to_le_bytes());
    bytes.extend(24_u16.to_le_bytes());
    bytes.extend(wrapped);
    bytes.extend(NONCE);
    bytes
}

/// Returns an encrypted file with the text of the draft.
fn encrypted_file() -> Vec<u8> {
    let mut bytes = key_header(b"ULogEnc", WRAPPED_KEY);
    bytes.extend(COUNTER_0);
    bytes
}

fn decrypt(bytes: Vec<u8>, key: &[u8]) -> Result<DecryptedSource, Error> {
    let key = PrivateKey::from_pem(key)?;
    DecryptedSource::new(Arc::new(Bytes::from(bytes)), &key)
}

/// Returns the error of decrypting `bytes`.
fn decryption_error(bytes: Vec<u8>, key: &[u8]) -> Error {
    decrypt(bytes, key).map(drop).unwrap_err()
}

#[test]
fn each_range_can_be_decrypted_separately() {
    let source = decrypt(encrypted_file(), KEY).unwrap();
    assert_eq!(source.len(), 304);
    for start in 0..=306 {
        for end in [start, start + 1, start + 63, start + 64, start + 65, u64::MAX] {
            let clamp = |offset: u64| offset.min(304) as usize;
            let expected = &PLAINTEXT[clamp(start)..clamp(end)];
            assert_eq!(source.read_at(start..end).unwrap(), expected, "{start}..{end}");
            assert_eq!(source.peek(start..end).unwrap(), expected, "{start}..{end}");
        }
    }
}

#[test]
fn block_counter_continues_after_64_bytes() {
    let mut bytes = key_header(b"ULogEnc", WRAPPED_KEY);
    bytes.extend([0; 64]);
    bytes.extend(COUNTER_1);
    let source = decrypt(bytes, KEY).unwrap();
    assert_eq!(source.read_at(64..368).unwrap(), PLAINTEXT);
}

#[test]
fn key_in_pkcs1_is_read() {
    let source = decrypt(
        encrypted_file(),
        include_bytes!("../../../testdata/encrypted/pkcs1.pem"),
    )
    .unwrap();
    assert_eq!(source.read_at(0..304).unwrap(), PLAINTEXT);
}

#[test]
fn separate_key_file_is_read() {
    let key = PrivateKey::from_pem(KEY).unwrap();
    let encrypted = Arc::new(Bytes::from_static(COUNTER_0));
    let key_file = Bytes::from(key_header(b"ULogKey", WRAPPED_KEY));
    let source =
        DecryptedSource::with_key_file(encrypted.clone(), &key_file, &key).unwrap();
    assert_eq!(source.read_at(0..304).unwrap(), PLAINTEXT);

    let key_file = Bytes::from(key_header(b"ULogEnc", WRAPPED_KEY));
    let err = DecryptedSource::with_key_file(encrypted, &key_file, &key).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::Unrecognized);
    assert!(err.to_string().contains("ULogKey"), "{err}");
}

#[test]
fn file_that_is_cut_in_its_header_is_an_error_with_its_length() {
    let bytes = encrypted_file();
    let header_len = HEADER_LEN + WRAPPED_KEY.len() + NONCE.len();
    for len in 7..header_len {
        let err = decryption_error(bytes[..len].to_vec(), KEY);
        assert_eq!(err.kind(), ErrorKind::Malformed, "{len}");
        assert_eq!(err.offset(), Some(len as u64));
        assert!(err.to_string().contains("truncated within its header"), "{err}");
    }
    let source = decrypt(bytes[..header_len].to_vec(), KEY).unwrap();
    assert!(source.is_empty());
    assert_eq!(source.read_at(0..10).unwrap(), Bytes::new());
}

#[test]
fn file_that_is_cut_later_is_decrypted_to_its_end() {
    let mut bytes = encrypted_file();
    bytes.truncate(bytes.len() - 4);
    let source = decrypt(bytes, KEY).unwrap();
    assert_eq!(source.read_at(0..u64::MAX).unwrap(), PLAINTEXT[..300]);
}

#[test]
fn unknown_encryption_is_named_with_its_offset() {
    for (offset, value, expected) in [
        (7, 2, "version 2"),
        (16, 5, "algorithm 5"),
        (20, 12, "the nonce of the encrypted ULog has 12 bytes"),
        (21, 1, "the nonce of the encrypted ULog has 280 bytes"),
    ] {
        let mut bytes = encrypted_file();
        bytes[offset] = value;
        let err = decryption_error(bytes, KEY);
        assert_eq!(err.kind(), ErrorKind::Unsupported, "{err}");
        assert_eq!(err.offset(), Some(offset.min(20) as u64), "{err}");
        assert!(err.to_string().contains(expected), "{err}");
    }
}

#[test]
fn wrong_key_is_an_error() {
    let expect = |key: &[u8], expected: &str| {
        let err = decryption_error(encrypted_file(), key);
        assert_eq!(err.kind(), ErrorKind::Unsupported, "{err}");
        assert!(err.to_string().contains(expected), "{err}");
    };
    expect(include_bytes!("../../../testdata/encrypted/other.pem"), "the key is wrong");
    expect(
        include_bytes!("../../../testdata/encrypted/longer.pem"),
        "2048 bits, and this one has 3072",
    );
    expect(
        include_bytes!("../../../testdata/encrypted/short.pem"),
        "2,048 to 8,192 bits",
    );
    expect(
        include_bytes!("../../../testdata/encrypted/elliptic_curve.pem"),
        "not an RSA key",
    );
    expect(
        include_bytes!("../../../testdata/encrypted/public.pem"),
        "it is a public key",
    );
    expect(
        include_bytes!("../../../testdata/encrypted/passphrase.pem"),
        "protected by a passphrase",
    );
}

#[test]
fn damaged_key_is_an_error() {
    let truncated = &KEY[..KEY.len() / 2];
    let damaged = String::from_utf8_lossy(KEY).replace("MII", "AAA");
    for key in [b"".as_slice(), b"00112233", truncated, damaged.as_bytes()] {
        PrivateKey::from_pem(key).unwrap_err();
    }
}

#[test]
fn session_key_of_another_length_is_an_error() {
    let wrapped = include_bytes!("../../../testdata/encrypted/wrapped_16_bytes.bin");
    let err = decryption_error(key_header(b"ULogEnc", wrapped), KEY);
    assert!(
        err.to_string().contains("16 bytes, and that of XChaCha20 has 32"),
        "{err}"
    );
    // No key at all, and one that is shorter than the RSA key.
    for wrapped in [&WRAPPED_KEY[..0], &WRAPPED_KEY[..255]] {
        let err = decryption_error(key_header(b"ULogEnc", wrapped), KEY);
        assert!(err.to_string().contains("the key is wrong"), "{err}");
    }
}

#[test]
fn encrypted_log_without_its_key_is_an_error() {
    let source = Arc::new(Bytes::from(encrypted_file()));
    assert!(is_encrypted(&*source).unwrap());
    let err = UlogLog::open(source, OpenOptions::default()).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::NeedsKey);
    assert!(err.to_string().contains("RSA key number 1"), "{err}");
    assert!(err.to_string().contains("(2048 bits)"), "{err}");
}
