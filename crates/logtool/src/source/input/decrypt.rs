//! Decrypts ULogs with the private key of the session.

use std::{ffi::OsStr, path::Path, sync::Arc};

use logtool_core::{FileSource, Source, open_regular_file};
use logtool_ulog::{DecryptedSource, is_encrypted, needs_key};

use crate::{
    error::{Context as _, Error, ErrorKind, Result},
    formats::LogFormat,
    source::{
        input::{STDIN, url},
        session::Session,
    },
};

/// The extension of encrypted ULogs of PX4 before 1.16, and that of the files with their keys.
const EXTENSION: &str = "ulgc";
const KEY_EXTENSION: &str = "ulgk";

/// Returns the decrypted bytes of the ULog in `source`, which was opened as `path`; `None` if it is
/// not encrypted.
///
/// # Errors
/// `NeedsKey` if the session has no key; others if the key is wrong, or the encryption is unknown.
pub(super) fn decrypt_ulog(
    source: &Arc<dyn Source>,
    path: &Path,
    session: &Session,
) -> Result<Option<Arc<dyn Source>>> {
    let key = session.private_key.as_ref();
    if is_encrypted(&**source)? {
        let Some(key) = key else { return Err(needs_key(&**source).into()) };
        return Ok(Some(Arc::new(DecryptedSource::new(Arc::clone(source), key)?)));
    }
    if !is_separately_encrypted(source, path) {
        return Ok(None);
    }
    let key = key.ok_or_else(|| {
        let message = "the ULog is encrypted (XChaCha20): reading it requires the private key of \
                    the vehicle's owner";
        Error::new(ErrorKind::NeedsKey, message)
    })?;
    let key_path = path.with_extension(KEY_EXTENSION);
    let name = || format!("the file of its key, {}", key_path.display());
    let key_file =
        open_regular_file(&key_path).and_then(FileSource::new).with_context(name)?;
    let decrypted = DecryptedSource::with_key_file(Arc::clone(source), &key_file, key);
    Ok(Some(Arc::new(decrypted.with_context(name)?)))
}

/// Returns whether `path` has the name of an encrypted ULog with a separate key. Such a log has no
/// magic: random bytes are not a log of any format.
fn is_separately_encrypted(source: &Arc<dyn Source>, path: &Path) -> bool {
    path.extension().and_then(OsStr::to_str) == Some(EXTENSION)
        && path.as_os_str() != STDIN
        && url::from_path(path).is_none()
        && LogFormat::recognize("", &**source).is_err()
}
