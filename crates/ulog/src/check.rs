//! What is wrong with a ULog, or odd, that only its format knows.

mod codes;
mod ids;
mod inside;
mod messages;
mod seen;
mod topics;
mod unsubscribed;

use std::sync::Arc;

use logtool_core::{Finding, Findings, Inspection};

pub(crate) use self::codes::CODES;
use crate::{
    check::{codes as code, inside::Looks},
    open_log::Opened,
    wire,
};

/// Looks at the head and the declarations of a log. Its messages are left to be looked at
/// as they are read.
pub(crate) fn inspect(
    log: &Arc<Opened>,
    findings: &mut Findings,
) -> impl Inspection + use<> {
    head(log, findings);
    topics::check(log, findings);
    Looks::new(log.clone())
}

/// What the head of the file says.
fn head(log: &Opened, findings: &mut Findings) {
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
