//! What there is in a folder.

use std::{io, sync::Arc};

use futures_util::TryStreamExt as _;
use object_store::{ObjectMeta, ObjectStore, path::Path};
use tokio::time;

use crate::{failure::Failure, limits::Limits};

/// No more objects than this are listed.
const MOST: usize = 1_000_000;

/// All objects in the folder `prefix` and those in it, in the order of their keys.
pub(crate) async fn list(
    store: &Arc<dyn ObjectStore>,
    prefix: &Path,
    limits: &Limits,
) -> io::Result<Vec<ObjectMeta>> {
    let mut stream = store.list(Some(prefix));
    let mut all = Vec::new();
    loop {
        let next =
            time::timeout(limits.wait * limits.attempts, stream.try_next()).await;
        let next = next.map_err(|_| Failure::late("the server does not answer"));
        let next = next.map_err(Failure::into_error)?;
        let Some(meta) = next.map_err(|err| Failure::from(err).into_error())? else {
            break;
        };
        if meta.location == *prefix {
            continue; // what some programs put there so that the folder is seen
        }
        if all.len() == MOST {
            let what = format!("there are more than {MOST} objects in it");
            return Err(io::Error::other(what));
        }
        all.push(meta);
    }
    all.sort_unstable_by(|a, b| a.location.as_ref().cmp(b.location.as_ref()));
    Ok(all)
}
