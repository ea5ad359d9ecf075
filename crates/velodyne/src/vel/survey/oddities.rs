//! The anomalies that the index pass found.

use crate::{
    oddity::Oddity,
    vel::{
        codes,
        index::IndexVerdict,
        survey::{Survey, stats::Stats},
        wire::{FORMAT_VERSION, Head, VALID, VALID_DIGIT},
    },
};

impl Survey {
    /// Returns the anomalies of the log.
    pub(super) fn oddities(&self, index: IndexVerdict, tells_utc: bool) -> Vec<Oddity> {
        let mut odd = Vec::new();
        self.report_version(&mut odd);
        self.remark_index(index, &mut odd);
        self.stats.remark(&mut odd);
        self.remark_strays(&mut odd);
        self.remark_end(&mut odd);
        if !tells_utc {
            let text =
                "no GPS message states UTC: times are on the clock of the program";
            odd.push(Oddity::new(&codes::NO_UTC, text));
        }
        odd
    }

    fn remark_strays(&self, odd: &mut Vec<Oddity>) {
        let some = match self.seconds.strays() {
            0 => return,
            1 => "1 message has no time, or one".to_owned(),
            several => format!("{several} messages have no time, or one"),
        };
        let text = format!(
            "{some} that is hours from those before and after: the time range of the log and its \
             index ignore it"
        );
        odd.push(Oddity::new(&codes::TIME, text));
    }

    fn remark_end(&self, odd: &mut Vec<Oddity>) {
        let after_mark = self.messages_end.saturating_add(4);
        let behind = self.judge.end.saturating_sub(after_mark);
        if self.has_end_mark && behind > 0 {
            let bytes = if behind == 1 { "byte follows" } else { "bytes follow" };
            let content = match self.trailing_message {
                Some(at) => format!(
                    "; they contain messages, the first at byte {at}, which do not belong to \
                     the log"
                ),
                None => String::new(),
            };
            let text = format!(
                "{behind} {bytes} the end mark and {are} not read{content}",
                are = if behind == 1 { "is" } else { "are" }
            );
            odd.push(Oddity::new(&codes::TRAILING, text));
        }
    }

    fn report_version(&self, odd: &mut Vec<Oddity>) {
        let Head { major, minor, .. } = self.head;
        if major != FORMAT_VERSION.0 {
            let text = format!(
                "the file has version {major}.{minor} of the format, which is unknown: it is \
                 read as version {}.{}",
                FORMAT_VERSION.0, FORMAT_VERSION.1
            );
            odd.push(Oddity::new(&codes::VERSION, text));
        }
    }

    fn remark_index(&self, index: IndexVerdict, odd: &mut Vec<Oddity>) {
        let what = match index {
            IndexVerdict::Verified => return,
            IndexVerdict::Missing => "the log has no index",
            IndexVerdict::Short => {
                "the index has fewer entries than the log has seconds"
            }
            IndexVerdict::Unsorted => "the index is not sorted",
            IndexVerdict::Stale => "the index does not point to the starts of seconds",
        };
        let text = format!("{what}: it is rebuilt from the messages");
        odd.push(Oddity::new(&codes::INDEX, text));
    }
}

impl Stats {
    fn remark(&self, odd: &mut Vec<Oddity>) {
        if self.valid_byte() == VALID_DIGIT {
            let text = "messages are not marked valid as specified (0x49), but \
                        with the digit 1 (0x31): these are accepted as valid";
            odd.push(Oddity::new(&codes::DIGIT, text));
        }
        let invalid = self.invalid_messages();
        if invalid > 0 {
            let text = match invalid {
                1 => {
                    "1 message is not marked valid: it is in its topic, but not used for points, \
                      plots or tracks"
                        .to_owned()
                }
                several => format!(
                    "{several} messages are not marked valid: they are in their topics, \
                     but not used for points, plots or tracks"
                ),
            };
            odd.push(Oddity::new(&codes::VALIDITY, text));
        }
        if self.gps().unknown_warnings > 0 {
            let some = match self.gps().unknown_warnings {
                1 => "1 GPS message has".to_owned(),
                several => format!("{several} GPS messages have"),
            };
            let text = format!("{some} a warning that is neither 0 nor 1");
            odd.push(Oddity::new(&codes::GPS_WARNING, text));
        }
        if let Some(text) = self.gps().positions.odd() {
            odd.push(Oddity::new(&codes::POSITION, text));
        }
        if self.odd_lengths > 0 {
            let some = match self.odd_lengths {
                1 => "1 message declares".to_owned(),
                several => format!("{several} messages declare"),
            };
            let text = format!(
                "{some} another number of packets, or another image length, than are \
                 present: the actual contents are used"
            );
            odd.push(Oddity::new(&codes::LENGTH, text));
        }
        if self.odd_images > 0 {
            let some = match self.odd_images {
                1 => "1 image is".to_owned(),
                several => format!("{several} images are"),
            };
            let text =
                format!("{some} neither JPEG nor rows of pixels of the stated size");
            odd.push(Oddity::new(&codes::IMAGE, text));
        }
    }

    /// Returns the number of messages that are not valid.
    fn invalid_messages(&self) -> u64 {
        match self.valid_byte() {
            VALID => self.valid_digit.messages + self.other.messages,
            _ => self.other.messages,
        }
    }
}
