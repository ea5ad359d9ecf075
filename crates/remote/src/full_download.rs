//! Downloads objects completely into a temporary file, from servers without range requests.

use std::{
    fs::File,
    io::{self, Seek as _, Write as _},
    sync::Arc,
};

use object_store::{GetOptions, ObjectStore, path::Path};

use crate::{
    failure::Failure,
    object::{Attempts, Way, begin, body},
};

/// Downloads the object at `path`.
///
/// # Errors
/// `FileTooLarge` if it is longer than the limit, or any error of a request.
pub(crate) async fn fetch(
    store: &Arc<dyn ObjectStore>,
    path: &Path,
    way: &Way,
) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    let mut attempts = Attempts::new(way);
    while let Err(failure) = once(store, path, way, &mut file).await {
        attempts.again(failure).await?;
    }
    file.rewind()?;
    Ok(file)
}

/// Makes one attempt to download it into `file`.
async fn once(
    store: &Arc<dyn ObjectStore>,
    path: &Path,
    way: &Way,
    file: &mut File,
) -> Result<(), Failure> {
    file.set_len(0).and_then(|()| file.rewind()).map_err(Failure::Final)?;
    let result = begin(store, path, way, GetOptions::default()).await?;
    let (len, most) = (result.meta.size, way.limits.whole_bytes);
    if len > most {
        let what = format!(
            "the server does not support range requests, and the object is longer than \
             {most} bytes: download it first"
        );
        return Err(Failure::Final(io::Error::new(io::ErrorKind::FileTooLarge, what)));
    }
    body(result, way, len, |piece| file.write_all(piece)).await
}
