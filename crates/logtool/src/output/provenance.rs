//! Where outputs of this program are from.

use logtool_core::{Provenance, SourceFile, WriteOptions};

use crate::{error::Result, formats::LogFormat, input::Input, session::Session};

/// What an output made of `inputs` says of where it is from. All of each is read for its
/// digest, but for what is read by ranges from afar: that has none.
pub fn of<'i>(
    inputs: impl IntoIterator<Item = &'i Input>,
    session: &Session,
) -> Result<Provenance> {
    let source = |input: &Input| Ok(source(input, digest(input)?));
    Ok(made_of(inputs.into_iter().map(source).collect::<Result<_>>()?, session))
}

/// The same of one input, of which the digest is known.
pub fn of_known(input: &Input, digest: &str, session: &Session) -> Provenance {
    made_of(vec![source(input, digest.to_owned())], session)
}

/// The digest of `input`; nothing of what is read by ranges from afar, as all of it would
/// have to come for that.
pub fn digest(input: &Input) -> Result<String> {
    match input.is_remote {
        true => Ok(String::new()),
        false => input.digest(),
    }
}

fn source(input: &Input, digest: String) -> SourceFile {
    SourceFile { name: input.file_name().to_owned(), bytes: input.origin.len(), digest }
}

fn made_of(sources: Vec<SourceFile>, session: &Session) -> Provenance {
    let tool = concat!("logtool ", env!("CARGO_PKG_VERSION")).to_owned();
    Provenance { sources, tool, command: session.command.clone() }
}

/// Lets a new log of `format` say where it is from, if the format has a place for that.
pub fn tell(options: &mut WriteOptions, format: LogFormat, provenance: &Provenance) {
    if format.stores_annotations() {
        options.words.push((Provenance::NAME.to_owned(), provenance.words()));
    }
}

/// The same of a log that is made of `inputs`, which are read only if there is a place.
pub fn tell_of<'i>(
    options: &mut WriteOptions,
    format: LogFormat,
    inputs: impl IntoIterator<Item = &'i Input>,
    session: &Session,
) -> Result<()> {
    if format.stores_annotations() {
        tell(options, format, &of(inputs, session)?);
    }
    Ok(())
}
