//! The checks that are specific to bags: they compare the index with the chunks, and check counts,
//! connections and definitions.

mod chunk;
mod chunk_checker;
mod codes;
mod definitions;
mod index;
mod layout;
mod messages;

use std::sync::Arc;

use logtool_core::{Finding, Findings, Result};

use crate::{
    check::{codes as code, layout::FileLayout},
    codec::encryption::Encryption,
    connections::connection_table::ConnectionTable,
    file::{bag::Bag, file_header::FileHeader},
};

pub(crate) use self::{chunk_checker::ChunkChecker, codes::CODES};

/// The length of the first line of a bag of version 2.0.
const FIRST_LINE_LEN: u64 = 13;

/// The bag that is checked.
pub(crate) struct CheckedBag {
    pub(crate) bag: Bag,
    pub(crate) table: Arc<ConnectionTable>,
}

/// Checks the header and every record outside chunks. Returns the checker for the contents of
/// the chunks, if there are chunks that can be read.
pub(crate) fn check(
    log: CheckedBag,
    findings: &mut Findings,
) -> Result<Option<ChunkChecker>> {
    check_header(&log, findings);
    definitions::check(&log, findings);
    if log.bag.file_header.is_v1() {
        return Ok(None); // it has neither chunks nor an index at the end
    }
    let layout = FileLayout::read(&log, findings)?;
    index::check(&log, &layout, findings);
    match log.bag.encryption {
        Encryption::None => {}
        Encryption::Key(_) => {
            let message = "its chunks were checked, but not its index";
            findings.add(Finding::new(&code::ENCRYPTED, message));
        }
        Encryption::Locked(..) => {
            let message = "its chunks were not checked";
            findings.add(Finding::new(&code::ENCRYPTED, message));
            return Ok(None);
        }
    }
    Ok(Some(ChunkChecker::new(log, layout)))
}

/// Checks the first line and the header.
fn check_header(log: &CheckedBag, findings: &mut Findings) {
    let FileHeader { version, has_header, .. } = &*log.bag.file_header;
    match version {
        None => findings.add(Finding::new(
            &code::LINE_MISSING,
            "the file does not begin with the first line of a bag",
        )),
        Some((2, 0)) => {}
        Some((major, minor)) => {
            let message = format!("this is version {major}.{minor}");
            let first_line = 0..FIRST_LINE_LEN;
            findings.add(Finding::new(&code::VERSION, message).with_bytes(first_line));
        }
    }
    if !has_header {
        let at = log.bag.file_header.records_at;
        let message = "there is no bag header after the first line";
        findings.add(Finding::new(&code::HEADER_MISSING, message).with_bytes(at..at));
    }
}
