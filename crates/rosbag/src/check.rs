//! What is wrong with a bag, or odd, that only its format knows: its index against its
//! chunks, its counts, its connections and definitions.

mod chunk;
mod codes;
mod definitions;
mod index;
mod layout;
mod messages;

use std::collections::BTreeSet;

use logtool_core::{Finding, Findings, Result};

pub(crate) use self::codes::CODES;
use crate::{
    bag::Bag,
    check::{codes as code, index::Infos, layout::Layout},
    encryption::Lock,
    head::Head,
    table::Table,
};

/// What there is to be looked at.
pub(crate) struct Checked<'l> {
    pub(crate) bag: &'l Bag,
    pub(crate) table: &'l Table,
    pub(crate) head: &'l Head,
}

/// Looks at the head, at every record outside chunks, and into every chunk.
pub(crate) fn check(log: &Checked<'_>, findings: &mut Findings) -> Result<()> {
    head(log, findings);
    definitions::check(log, findings);
    if log.head.is_v1() {
        return Ok(()); // it has neither chunks nor an index at its end
    }
    let layout = Layout::read(log, findings)?;
    index::check(log, &layout, findings);
    if !matches!(log.bag.lock, Lock::Open) {
        let what = "its chunks were not looked into";
        findings.add(Finding::new(&code::ENCRYPTED, what));
        return Ok(());
    }
    let (infos, mut declared) = (Infos::new(&layout), BTreeSet::new());
    for chunk in &layout.chunks {
        let told = infos.of(chunk.at);
        chunk::check(log, &layout, chunk, told, &mut declared, findings)?;
    }
    Ok(())
}

/// What the first line and the header say.
fn head(log: &Checked<'_>, findings: &mut Findings) {
    let Head { version, has_header, .. } = log.head;
    match version {
        None => {
            findings.add(Finding::new(&code::LINE_MISSING, "the file begins otherwise"))
        }
        Some((2, 0)) => {}
        Some((major, minor)) => {
            let what = format!("this is version {major}.{minor}");
            findings.add(Finding::new(&code::VERSION, what).at(0..13));
        }
    }
    if !has_header {
        let at = log.head.records_at;
        let what = "no bag header is where it should be";
        findings.add(Finding::new(&code::HEADER_MISSING, what).at(at..at));
    }
}
