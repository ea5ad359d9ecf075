//! Where outputs of this program are from.

use anyhow::Result;
use logtool_core::{Format, Provenance, SourceFile, WriteOptions};

use crate::{args::GlobalArgs, input::Input};

/// What an output made of `inputs` says of where it is from. All of each is read for its
/// digest.
pub(crate) fn of<'i>(
    inputs: impl IntoIterator<Item = &'i Input>,
    global: &GlobalArgs,
) -> Result<Provenance> {
    let source = |input: &Input| {
        let name = input.file_name().to_owned();
        Ok(SourceFile { name, bytes: input.origin.len(), digest: input.digest()? })
    };
    Ok(Provenance {
        sources: inputs.into_iter().map(source).collect::<Result<_>>()?,
        tool: concat!("logtool ", env!("CARGO_PKG_VERSION")).to_owned(),
        command: global.given.clone(),
    })
}

/// Lets a new log of `format`, made of `inputs`, say where it is from, if the format has a
/// place for that: MCAP has.
pub(crate) fn tell<'i>(
    options: &mut WriteOptions,
    format: &dyn Format,
    inputs: impl IntoIterator<Item = &'i Input>,
    global: &GlobalArgs,
) -> Result<()> {
    if format.name() == logtool_mcap::FORMAT.name() {
        let words = of(inputs, global)?.words();
        options.words.push((Provenance::NAME.to_owned(), words));
    }
    Ok(())
}
