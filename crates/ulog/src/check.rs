//! Checks for errors and anomalies that are specific to ULog.

mod codes;
mod id_map;
mod inspection;
mod messages;
mod segment_summary;
mod topics;
mod unsubscribed_data;

use std::sync::Arc;

use logtool_core::{Finding, Findings, Inspection};

use crate::{
    check::{codes as code, inspection::MessageInspection},
    read::open_log::OpenLog,
    wire,
};

pub(crate) use self::codes::CODES;

/// Checks the file header and the declarations of a log. The returned inspection checks
/// the messages while they are read.
pub(crate) fn inspect(
    log: &Arc<OpenLog>,
    findings: &mut Findings,
) -> impl Inspection + use<> {
    check_header(log, findings);
    topics::check(log, findings);
    MessageInspection::new(log.clone())
}

/// Checks the header of the file.
fn check_header(log: &OpenLog, findings: &mut Findings) {
    let (header, len) = (&log.format_state.file_header, log.source.len());
    if header.version > 1 {
        let message = format!("version {} is read as 1", header.version);
        findings.add(Finding::new(&code::VERSION, message).with_bytes(7..8));
    }
    let flags = [
        (&code::COMPATIBLE, &header.compatible_flags, 19),
        (&code::INCOMPATIBLE, &header.incompatible_flags, 27),
    ];
    for (code, bytes, start) in flags {
        for (index, bits) in (0_u64..).zip(bytes) {
            // Bit 0 declares default parameters or appended data.
            let unknown = bits & if index == 0 { !1 } else { !0 };
            if unknown != 0 {
                let message = format!("unknown bits in byte {index}: {unknown:#010b}");
                findings.add(
                    Finding::new(code, message)
                        .with_bytes(start + index..start + index + 1),
                );
            }
        }
    }
    for offset in &header.appended {
        let is_outside = *offset >= len || *offset <= wire::FILE_HEADER_LEN as u64;
        let (code, problem) = if is_outside {
            (&code::APPENDED_NOWHERE, "is declared to start at byte")
        } else {
            (&code::APPENDED, "starts at byte")
        };
        let message = format!("a section {problem} {offset} of {len}");
        findings.add(Finding::new(code, message).with_bytes(35..59));
    }
}
