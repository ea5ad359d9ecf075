//! Names for numbers, from a folder that was named.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use logtool_core::Labels;
use logtool_ulog::read_msg_dir;

use crate::{args::LabelArgs, complaint::Complaint};

/// The names for the values of fields that were asked for, if some were.
pub(crate) fn read(args: &LabelArgs) -> Result<Option<Arc<Labels>>> {
    let Some(dir) = &args.msg_dir else { return Ok(None) };
    let labels = read_msg_dir(dir).with_context(|| dir.display().to_string())?;
    if labels.is_empty() {
        let what = format!("{}: no .msg file here names a value", dir.display());
        let hint = "in PX4's sources this is the folder msg";
        return Err(Complaint::new(what).hint(hint).into());
    }
    Ok(Some(Arc::new(labels)))
}
