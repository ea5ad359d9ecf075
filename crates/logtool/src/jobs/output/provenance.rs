//! The origin that outputs state.

use logtool_core::{Provenance, SourceFile, WriteOptions};

use crate::{
    error::Result,
    formats::LogFormat,
    source::{input::Input, session::Session},
};

/// Returns the provenance of an output of `inputs`. Each input is read completely for its digest,
/// except inputs on servers that are read by ranges, which have no digest.
pub fn collect<'i>(
    inputs: impl IntoIterator<Item = &'i Input>,
    session: &Session,
) -> Result<Provenance> {
    let source = |input: &Input| Ok(source(input, input.digest_if_read_completely()?));
    Ok(made_of(inputs.into_iter().map(source).collect::<Result<_>>()?, session))
}

/// Returns the provenance of an output of one input with a known digest.
pub fn from_digest(input: &Input, digest: &str, session: &Session) -> Provenance {
    made_of(vec![source(input, digest.to_owned())], session)
}

fn source(input: &Input, digest: String) -> SourceFile {
    SourceFile { name: input.file_name().to_owned(), bytes: input.origin.len(), digest }
}

fn made_of(sources: Vec<SourceFile>, session: &Session) -> Provenance {
    let tool = concat!("logtool ", env!("CARGO_PKG_VERSION")).to_owned();
    Provenance { sources, tool, command: session.command.clone() }
}

/// Adds the provenance to the options of a new log of `format`, if the format can store it.
pub fn add_to_options(
    options: &mut WriteOptions,
    format: LogFormat,
    provenance: &Provenance,
) {
    if format.stores_annotations() {
        options.metadata.push((Provenance::NAME.to_owned(), provenance.entries()));
    }
}

/// Adds the provenance of `inputs` to the options of a new log of `format`. The inputs are read
/// only if the format can store it.
pub fn add_provenance_of<'i>(
    options: &mut WriteOptions,
    format: LogFormat,
    inputs: impl IntoIterator<Item = &'i Input>,
    session: &Session,
) -> Result<()> {
    if format.stores_annotations() {
        add_to_options(options, format, &collect(inputs, session)?);
    }
    Ok(())
}
