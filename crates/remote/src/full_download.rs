//! Downloads objects completely into a temporary file, from servers without range requests.

use std::{
    fs::File,
    io::{self, Seek as _, Write as _},
    sync::Arc,
};

use object_store::{GetOptions, ObjectStore, path::Path};

use crate::{
    failure::Failure,
    object::{Attempts, Transport, receive_body, send_request},
};

/// Downloads the object at `path`.
///
/// # Errors
/// `FileTooLarge` if it is longer than the limit, or any error of a request.
pub(crate) async fn fetch(
    store: &Arc<dyn ObjectStore>,
    path: &Path,
    transport: &Transport,
) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    let mut attempts = Attempts::new(transport);
    while let Err(failure) = attempt(store, path, transport, &mut file).await {
        attempts.pause_or_fail(failure).await?;
    }
    file.rewind()?;
    Ok(file)
}

/// Makes one attempt to download the object into `file`.
async fn attempt(
    store: &Arc<dyn ObjectStore>,
    path: &Path,
    transport: &Transport,
    file: &mut File,
) -> Result<(), Failure> {
    file.set_len(0).and_then(|()| file.rewind()).map_err(Failure::Permanent)?;
    let result = send_request(store, path, transport, GetOptions::default()).await?;
    let (len, max_bytes) = (result.meta.size, transport.limits.max_download_bytes);
    if len > max_bytes {
        let message = format!(
            "the server does not support range requests, and the object is longer than \
             {max_bytes} bytes: download it first"
        );
        return Err(Failure::Permanent(io::Error::new(
            io::ErrorKind::FileTooLarge,
            message,
        )));
    }
    receive_body(result, transport, len, |chunk| file.write_all(chunk)).await
}
