//! What is wrong with a bag, or odd, that only its format knows: its index against its
//! chunks, its counts, its connections and definitions.

mod chunk;
mod codes;
mod definitions;
mod index;
mod inside;
mod layout;
mod messages;

use std::sync::Arc;

use logtool_core::{Finding, Findings, Result};

pub(crate) use self::{codes::CODES, inside::Inside};
use crate::{
    bag::Bag,
    check::{codes as code, layout::Layout},
    encryption::Lock,
    head::Head,
    table::Table,
};

/// What there is to be looked at.
pub(crate) struct Checked {
    pub(crate) bag: Bag,
    pub(crate) table: Arc<Table>,
}

/// Looks at the head, and at every record outside chunks. What is in the chunks, if
/// there are some that can be looked into, is left to be looked at.
pub(crate) fn check(log: Checked, findings: &mut Findings) -> Result<Option<Inside>> {
    head(&log, findings);
    definitions::check(&log, findings);
    if log.bag.head.is_v1() {
        return Ok(None); // it has neither chunks nor an index at its end
    }
    let layout = Layout::read(&log, findings)?;
    index::check(&log, &layout, findings);
    match log.bag.lock {
        Lock::Open => {}
        Lock::Key(_) => {
            let what = "its chunks were looked into, and its index was not";
            findings.add(Finding::new(&code::ENCRYPTED, what));
        }
        Lock::Shut(..) => {
            let what = "its chunks were not looked into";
            findings.add(Finding::new(&code::ENCRYPTED, what));
            return Ok(None);
        }
    }
    Ok(Some(Inside::new(log, layout)))
}

/// What the first line and the header say.
fn head(log: &Checked, findings: &mut Findings) {
    let Head { version, has_header, .. } = &*log.bag.head;
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
        let at = log.bag.head.records_at;
        let what = "no bag header is where it should be";
        findings.add(Finding::new(&code::HEADER_MISSING, what).at(at..at));
    }
}
