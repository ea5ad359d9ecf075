//! Lists the objects in a folder.

use std::{io, ops::ControlFlow, sync::Arc};

use futures_util::TryStreamExt as _;
use object_store::{ObjectMeta, ObjectStore, path::Path};
use tokio::time;

use crate::{failure::Failure, limits::Limits};

/// The maximum number of objects in a list.
const MAX_OBJECTS: usize = 1_000_000;
/// The expected maximum size of a response with a part of the list. Stores send up to 5,000 objects,
/// whose keys have up to 1 KiB. A response without any object is allowed.
const MAX_PAGE_BYTES: u64 = 8 << 20;

/// Lists all objects in the folder `prefix` and its subfolders, sorted by key.
pub(crate) async fn list(
    store: &Arc<dyn ObjectStore>,
    prefix: &Path,
    limits: &Limits,
) -> io::Result<Vec<ObjectMeta>> {
    let mut objects = Vec::new();
    for_each_object(store, prefix, limits, &mut |meta| {
        if objects.len() == MAX_OBJECTS {
            let message = format!("the folder has more than {MAX_OBJECTS} objects");
            return Err(io::Error::other(message));
        }
        objects.push(meta);
        Ok(ControlFlow::Continue(()))
    })
    .await?;
    objects.sort_unstable_by(|a, b| a.location.as_ref().cmp(b.location.as_ref()));
    Ok(objects)
}

/// Calls `visit` with each object in the folder `prefix` and its subfolders, in any order, until
/// `visit` breaks.
pub(crate) async fn for_each_object(
    store: &Arc<dyn ObjectStore>,
    prefix: &Path,
    limits: &Limits,
    visit: &mut dyn FnMut(ObjectMeta) -> io::Result<ControlFlow<()>>,
) -> io::Result<()> {
    let mut stream = store.list(Some(prefix));
    loop {
        let time = limits.retry_time(MAX_PAGE_BYTES);
        let next = time::timeout(time, stream.try_next()).await;
        let next = next.map_err(|_| Failure::timeout("the server does not answer"));
        let next = next.map_err(Failure::into_error)?;
        let Some(meta) = next.map_err(|err| Failure::from(err).into_error())? else {
            return Ok(());
        };
        if meta.location == *prefix {
            continue; // some programs create an empty object so that the folder is visible
        }
        if visit(meta)?.is_break() {
            return Ok(());
        }
    }
}
