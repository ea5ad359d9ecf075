//! The tables that a conversion would make of a log, without their rows.

use crate::{
    dataset::{
        inputs::InputLog,
        log_job::{output_kind, selection},
        storage::OutputKind,
        tables::RowSchema,
    },
    error::Result,
    jobs::convert::{ConvertRequest, export},
    source::{losses::Strictness, session::Session},
};

/// Returns whether `request` makes tables that have rows of several logs.
pub(in crate::dataset) fn has_tables(request: &ConvertRequest) -> bool {
    output_kind(request) == OutputKind::Tables
}

/// Returns the schemas of the tables that `request` makes of `log`.
pub(in crate::dataset) fn row_schemas(
    log: &InputLog,
    request: &ConvertRequest,
    strictness: Strictness,
    session: &Session,
) -> Result<Vec<RowSchema>> {
    let (opened, _) = export::open(&log.path, request, session)?;
    let manifest = opened.log.manifest();
    opened.input.findings(manifest).check(strictness)?;
    let labels = request.labels(manifest);
    let missed = &mut Vec::new();
    let applicable =
        selection::applicable_request(request, &*opened.log, labels.as_ref(), missed)?;
    let schemas = applicable
        .map(|request| selection::row_schemas(&opened, &request, labels.as_ref()));
    Ok(schemas.transpose()?.unwrap_or_default())
}
