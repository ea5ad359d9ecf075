//! What is wrong with a ULog, or odd, that only its format knows.

mod codes;
mod messages;
mod topics;

use std::sync::Arc;

use logtool_core::{
    Block, Finding, Findings, Manifest, OpenOptions, Result, Source, Step, Walk,
};

pub(crate) use self::codes::CODES;
use crate::{
    check::{codes as code, messages::Messages},
    notes::Notes,
    registry::Registry,
    wire,
};

/// What there is to be looked at.
pub(crate) struct Checked<'l> {
    pub(crate) source: &'l Arc<dyn Source>,
    pub(crate) manifest: &'l Manifest,
    pub(crate) notes: &'l Notes,
    pub(crate) registry: &'l Registry,
    pub(crate) options: OpenOptions,
}

/// Looks at the head, the declarations, and every message of a log.
pub(crate) fn check(log: &Checked<'_>, findings: &mut Findings) -> Result<()> {
    head(log, findings);
    topics::check(log, findings);
    let start = wire::FILE_HEADER_LEN as u64;
    let mut walk = Walk::new(log.source.clone(), start..log.source.len(), log.options);
    let (mut block, mut messages) = (Block::default(), Messages::new(log));
    let (mut gaps, mut at) = (log.notes.gaps.iter().peekable(), start);
    loop {
        let begin = at;
        let more = walk.fill(&mut block, |_, bytes, used| {
            let here = begin + used as u64;
            while gaps.next_if(|gap| gap.bytes.start < here).is_some() {}
            if let Some(gap) = gaps.next_if(|gap| gap.bytes.start == here) {
                let len = gap.bytes.end - here;
                return Step::Damaged { len, damage: Box::new(gap.clone()) };
            }
            let rest = bytes.get(used..).unwrap_or_default();
            let Some((size, kind)) = wire::header(rest) else {
                return Step::Partial { len: wire::HEADER_LEN };
            };
            let len = wire::HEADER_LEN + size;
            match rest.get(wire::HEADER_LEN..len) {
                Some(payload) => {
                    messages.take(here, kind, payload, findings);
                    Step::Whole { len }
                }
                None => Step::Partial { len },
            }
        })?;
        log.source.release(at..walk.position());
        at = walk.position();
        if !more {
            break;
        }
    }
    messages.finish(findings);
    Ok(())
}

/// What the head of the file says.
fn head(log: &Checked<'_>, findings: &mut Findings) {
    let (head, len) = (&log.notes.head, log.source.len());
    if head.version > 1 {
        let what = format!("version {} is read as 1", head.version);
        findings.add(Finding::new(&code::VERSION, what).at(7..8));
    }
    let flags = [
        (&code::COMPATIBLE, &head.compatible_flags, 19),
        (&code::INCOMPATIBLE, &head.incompatible_flags, 27),
    ];
    for (code, bytes, at) in flags {
        for (index, bits) in (0_u64..).zip(bytes) {
            // Bit 0 says that there are default parameters, or that data was appended.
            let unknown = bits & if index == 0 { !1 } else { !0 };
            if unknown != 0 {
                let what = format!("unknown bits in byte {index}: {unknown:#010b}");
                findings.add(Finding::new(code, what).at(at + index..at + index + 1));
            }
        }
    }
    for at in &head.appended {
        let is_odd = *at >= len || *at <= wire::FILE_HEADER_LEN as u64;
        let (code, what) = match is_odd {
            true => (&code::APPENDED_NOWHERE, "is said to begin at byte"),
            false => (&code::APPENDED, "begins at byte"),
        };
        let what = format!("a section {what} {at} of {len}");
        findings.add(Finding::new(code, what).at(35..59));
    }
}
