//! Whether logs count their times from the same moment.

use anyhow::Result;
use logtool_core::{Clock, ClockZero};

use crate::{complaint::Complaint, human::Span, opened::Opened};

/// Two starts that are no further apart are the same. (GPS tells the time late by
/// different amounts, and no vehicle starts twice within this.)
const SAME_NANOS: u64 = 2_000_000_000;

/// Refuses logs that do not count from the same moment, or, unless `assumed` says so,
/// of which nobody knows.
pub(super) fn check(logs: &[Opened], assumed: bool) -> Result<()> {
    let Some((first, others)) = logs.split_first() else { return Ok(()) };
    for other in others {
        let (a, b) = (&first.input.name, &other.input.name);
        let clocks = (&first.log.manifest().clock, &other.log.manifest().clock);
        match relation(clocks.0, clocks.1) {
            Relation::Same => {}
            Relation::Different => {
                let what = format!(
                    "{a} counts its times from {}, and {b} from {}",
                    zero(clocks.0),
                    zero(clocks.1)
                );
                return Err(Complaint::new(what).into());
            }
            _ if assumed => {}
            Relation::Apart(nanos) => {
                let what = format!(
                    "{a} and {b} count from different moments, {} apart",
                    Span(nanos)
                );
                let hint = "their times are in the records, which are copied as they are; \
                            --same-clock merges them all the same";
                return Err(Complaint::new(what).hint(hint).into());
            }
            Relation::Unknown => {
                let what = format!(
                    "nothing says that {a} and {b} count from the same moment: both \
                     count from {}",
                    zero(clocks.0)
                );
                let hint = "if it was the same one, --same-clock merges them";
                return Err(Complaint::new(what).hint(hint).into());
            }
        }
    }
    Ok(())
}

/// How two clocks are related.
#[derive(Debug, PartialEq, Eq)]
enum Relation {
    Same,
    /// They begin so many nanoseconds apart.
    Apart(u64),
    /// They count from different sorts of moments.
    Different,
    Unknown,
}

fn relation(a: &Clock, b: &Clock) -> Relation {
    if a.zero != b.zero {
        return Relation::Different;
    }
    if a.zero == ClockZero::Unix {
        return Relation::Same;
    }
    let (Some(a), Some(b)) = (&a.to_unix, &b.to_unix) else { return Relation::Unknown };
    let apart = a.offset_nanos.abs_diff(b.offset_nanos);
    let spread = a.spread_nanos.saturating_add(b.spread_nanos);
    match apart <= SAME_NANOS.max(spread.saturating_mul(3)) {
        true => Relation::Same,
        false => Relation::Apart(apart),
    }
}

fn zero(clock: &Clock) -> &'static str {
    match clock.zero {
        ClockZero::Unix => "1970",
        ClockZero::Boot => "the start of the vehicle",
        ClockZero::ProgramStart => "the start of the program",
    }
}

#[cfg(test)]
mod tests {
    use logtool_core::ClockFit;

    use super::*;

    fn clock(zero: ClockZero, offset_nanos: Option<i64>) -> Clock {
        let fit = |offset_nanos| ClockFit {
            offset_nanos,
            spread_nanos: 1_000_000,
            observations: 9,
            source: String::new(),
        };
        Clock { zero, to_unix: offset_nanos.map(fit) }
    }

    #[test]
    fn logs_of_one_start_go_together_and_others_do_not() {
        let second = 1_000_000_000;
        let boot = |offset| clock(ClockZero::Boot, offset);
        assert_eq!(relation(&boot(Some(0)), &boot(Some(second))), Relation::Same);
        let apart = relation(&boot(Some(0)), &boot(Some(3 * second)));
        assert_eq!(apart, Relation::Apart(3_000_000_000));
        assert_eq!(relation(&boot(Some(0)), &boot(None)), Relation::Unknown);
        let unix = clock(ClockZero::Unix, None);
        assert_eq!(relation(&unix, &unix), Relation::Same);
        assert_eq!(relation(&unix, &boot(Some(0))), Relation::Different);
    }
}
