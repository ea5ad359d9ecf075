//! What is odd in a log that has been gone through.

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
    /// What is odd in the log.
    pub(super) fn oddities(&self, index: IndexVerdict, tells_utc: bool) -> Vec<Oddity> {
        let mut odd = Vec::new();
        self.report_version(&mut odd);
        self.remark_index(index, &mut odd);
        self.stats.remark(&mut odd);
        self.remark_strays(&mut odd);
        self.remark_end(&mut odd);
        if !tells_utc {
            let text = "no GPS message tells UTC: times are the program's";
            odd.push(Oddity::new(&codes::NO_UTC, text));
        }
        odd
    }

    fn remark_strays(&self, odd: &mut Vec<Oddity>) {
        let some = match self.seconds.strays() {
            0 => return,
            1 => "1 message is of no time, or of one".to_owned(),
            several => format!("{several} messages are of no time, or of one"),
        };
        let text = format!(
            "{some} that is hours from those before and after: what the log's span and its \
             index do not count"
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
                "the file has version {major}.{minor} of the format, which is not known: it is \
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
            IndexVerdict::Short => "the index has fewer entries than the log seconds",
            IndexVerdict::Unsorted => "the index is not sorted",
            IndexVerdict::Stale => "the index does not say where seconds begin",
        };
        let text = format!("{what}: it is made again from the messages");
        odd.push(Oddity::new(&codes::INDEX, text));
    }
}

impl Stats {
    fn remark(&self, odd: &mut Vec<Oddity>) {
        if self.valid_byte() == VALID_DIGIT {
            let text = "no message is marked valid as the specification says (0x49), but \
                        all with the digit 1 (0x31): they are taken as valid";
            odd.push(Oddity::new(&codes::DIGIT, text));
        }
        let invalid = self.invalid_messages();
        if invalid > 0 {
            let text = match invalid {
                1 => {
                    "1 message is not marked valid: it is in its topic, and no points, \
                      plots or tracks are made of it"
                        .to_owned()
                }
                several => format!(
                    "{several} messages are not marked valid: they are in their topics, \
                     and no points, plots or tracks are made of them"
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
                1 => "1 message says".to_owned(),
                several => format!("{several} messages say"),
            };
            let text = format!(
                "{some} another number of packets, or length of a picture, than there \
                 is: all that is there is taken"
            );
            odd.push(Oddity::new(&codes::LENGTH, text));
        }
        if self.odd_images > 0 {
            let some = match self.odd_images {
                1 => "1 picture is".to_owned(),
                several => format!("{several} pictures are"),
            };
            let text = format!("{some} neither JPEG nor rows of pixels of their size");
            odd.push(Oddity::new(&codes::IMAGE, text));
        }
    }

    /// How many messages are not valid.
    fn invalid_messages(&self) -> u64 {
        match self.valid_byte() {
            VALID => self.valid_digit.messages + self.other.messages,
            _ => self.other.messages,
        }
    }
}
