//! Describes the anomalies that the index pass found.

use crate::{
    anomaly::Anomaly,
    vel::{
        build_manifest::{ManifestBuilder, stats::Stats},
        codes,
        second_index::IndexStatus,
        wire::{FORMAT_VERSION, FileHeader, SIZE_LEN, VALID, VALID_DIGIT},
    },
};

impl ManifestBuilder {
    /// Returns the anomalies of the log.
    pub(super) fn anomalies(&self, index: IndexStatus, has_utc: bool) -> Vec<Anomaly> {
        let mut anomalies = Vec::new();
        self.report_version(&mut anomalies);
        self.report_index(index, &mut anomalies);
        self.stats.report(&mut anomalies);
        self.report_outliers(&mut anomalies);
        self.report_end(&mut anomalies);
        if !has_utc {
            let text =
                "no GPS message states UTC: times are on the clock of the program";
            anomalies.push(Anomaly::new(&codes::NO_UTC, text));
        }
        anomalies
    }

    fn report_outliers(&self, anomalies: &mut Vec<Anomaly>) {
        let messages = match self.seconds.outliers() {
            0 => return,
            1 => "1 message has no time, or one".to_owned(),
            count => format!("{count} messages have no time, or one"),
        };
        let text = format!(
            "{messages} that is hours from those before and after: such times are ignored for \
             the time range and the index of the log"
        );
        anomalies.push(Anomaly::new(&codes::TIME, text));
    }

    fn report_end(&self, anomalies: &mut Vec<Anomaly>) {
        let mark_end = self.messages_end.saturating_add(SIZE_LEN as u64);
        let trailing_bytes = self.classifier.end.saturating_sub(mark_end);
        if self.has_end_mark && trailing_bytes > 0 {
            let (bytes_follow, are) = match trailing_bytes {
                1 => ("byte follows", "is"),
                _ => ("bytes follow", "are"),
            };
            let messages = match self.trailing_message {
                Some(at) => format!(
                    "; they contain messages, the first at byte {at}, which do not belong to \
                     the log"
                ),
                None => String::new(),
            };
            let text = format!(
                "{trailing_bytes} {bytes_follow} the end mark and {are} not read{messages}"
            );
            anomalies.push(Anomaly::new(&codes::TRAILING, text));
        }
    }

    fn report_version(&self, anomalies: &mut Vec<Anomaly>) {
        let FileHeader { major, minor, .. } = self.header;
        if major != FORMAT_VERSION.0 {
            let text = format!(
                "the file has version {major}.{minor} of the format, which is unknown: it is \
                 read as version {}.{}",
                FORMAT_VERSION.0, FORMAT_VERSION.1
            );
            anomalies.push(Anomaly::new(&codes::VERSION, text));
        }
    }

    fn report_index(&self, index: IndexStatus, anomalies: &mut Vec<Anomaly>) {
        let problem = match index {
            IndexStatus::Verified => return,
            IndexStatus::Missing => "the log has no index",
            IndexStatus::Short => {
                "the index has fewer entries than the log has seconds"
            }
            IndexStatus::Unsorted => "the index is not sorted",
            IndexStatus::Stale => "the index does not point to the starts of seconds",
        };
        let text = format!("{problem}: it is rebuilt from the messages");
        anomalies.push(Anomaly::new(&codes::INDEX, text));
    }
}

impl Stats {
    fn report(&self, anomalies: &mut Vec<Anomaly>) {
        if self.valid_byte() == VALID_DIGIT {
            let text = "messages are not marked valid as specified (0x49), but \
                        with the digit 1 (0x31): these are accepted as valid";
            anomalies.push(Anomaly::new(&codes::DIGIT, text));
        }
        let invalid = self.invalid_messages();
        if invalid > 0 {
            let text = match invalid {
                1 => "1 message is not marked valid: it is in its topic, but not used for \
                      points, plots or tracks"
                    .to_owned(),
                count => format!(
                    "{count} messages are not marked valid: they are in their topics, \
                     but not used for points, plots or tracks"
                ),
            };
            anomalies.push(Anomaly::new(&codes::VALIDITY, text));
        }
        if self.gps().unknown_warnings > 0 {
            let messages_have = match self.gps().unknown_warnings {
                1 => "1 GPS message has".to_owned(),
                count => format!("{count} GPS messages have"),
            };
            let text = format!("{messages_have} a warning that is neither 0 nor 1");
            anomalies.push(Anomaly::new(&codes::GPS_WARNING, text));
        }
        if let Some(text) = self.gps().positions.describe_invalid() {
            anomalies.push(Anomaly::new(&codes::POSITION, text));
        }
        if self.wrong_lengths > 0 {
            let messages_declare = match self.wrong_lengths {
                1 => "1 message declares".to_owned(),
                count => format!("{count} messages declare"),
            };
            let text = format!(
                "{messages_declare} another number of packets, or another image length, \
                 than are present: the actual contents are used"
            );
            anomalies.push(Anomaly::new(&codes::LENGTH, text));
        }
        if self.invalid_images > 0 {
            let images_are = match self.invalid_images {
                1 => "1 image is".to_owned(),
                count => format!("{count} images are"),
            };
            let text = format!(
                "{images_are} neither JPEG nor rows of pixels of the stated size"
            );
            anomalies.push(Anomaly::new(&codes::IMAGE, text));
        }
    }

    /// Returns the number of messages that are not valid.
    fn invalid_messages(&self) -> u64 {
        match self.valid_byte() {
            VALID => self.marked_digit.messages + self.marked_other.messages,
            _ => self.marked_other.messages,
        }
    }
}
