//! From what was counted to the manifest.

use std::{collections::BTreeMap, mem};

use logtool_core::{
    Clock, ClockZero, Manifest, Result, TimeRange, Topic, TopicId, VALID_ROWS, Value,
    Window,
};

use crate::{
    lidar::{LidarOptions, VALIDITY_REMARK},
    oddity::Oddity,
    vel::{
        codes,
        index::IndexVerdict,
        notes::{FORMAT_NAME, Notes},
        points,
        survey::{
            Survey,
            stats::{GpsStats, Stats, TopicStats, Validity},
        },
        time,
        topics::TopicKind,
        wire::{VALID, VALID_DIGIT},
    },
};

impl Survey {
    /// The manifest of a log that has been gone through.
    pub(super) fn finish(
        mut self,
        window: &mut Window<'_>,
        lidar: &LidarOptions,
    ) -> Result<(Manifest, Notes)> {
        let index = self.seconds.judge(self.head.entries, self.start.at, window)?;
        let valid = self.stats.valid_byte();
        let mut topics = Vec::new();
        for (kind, counted) in self.topics.iter().zip(&self.stats.topics) {
            let mut topic = kind.topic()?;
            topic.records = Some(counted.records);
            topic.bytes = Some(counted.bytes);
            topic.time = Some(counted.time).filter(|time| !time.is_empty());
            self.stats.tell(*kind, counted, &mut topic);
            topics.push(topic);
        }
        let end = self.judge.end;
        let mut odd = Vec::new();
        self.remark_index(index, &mut odd);
        self.stats.remark(&mut odd);
        self.remark_strays(&mut odd);
        let behind_end = end.saturating_sub(self.messages_end.saturating_add(4));
        if self.has_end_mark && behind_end > 0 {
            let bytes = if behind_end == 1 { "byte" } else { "bytes" };
            let text = format!(
                "after the mark that ends the messages, {behind_end} {bytes} more: not read"
            );
            odd.push(Oddity::new(&codes::TRAILING, text));
        }
        let to_unix = self.stats.gps().times.clone().fit();
        if to_unix.is_none() {
            let text = "no GPS message tells UTC: times are the program's";
            odd.push(Oddity::new(&codes::NO_UTC, text));
        }
        let mut remarks: Vec<String> = odd.iter().map(|odd| odd.text.clone()).collect();
        let (metadata, time) = (self.metadata(index), self.time());
        let (wants_utc, choice) = (lidar.utc, lidar.clock);
        let mut lidar = mem::take(&mut self.stats.probe).finish(lidar);
        if let (Some(lidar), Some(fit), true) = (&mut lidar, &to_unix, wants_utc) {
            lidar.use_own_clock(fit.offset_nanos, true, choice);
        }
        let mut parts = self.parts.finish(end);
        let packets = self.topics.iter().position(|kind| *kind == TopicKind::Packets);
        let (mut points, mut reach) = (None, BTreeMap::new());
        if let (Some(packets), Some(lidar)) = (packets, &lidar)
            && let Some(topic) = topics.get(packets).map(|packets| lidar.topic(packets))
        {
            let mut metadata = topic.metadata;
            let left_out = self.stats.invalid_with_packets();
            if left_out > 0 {
                let messages = if left_out == 1 { "message" } else { "messages" };
                let told = format!(
                    "made without {left_out} {messages} of packets that are not marked valid"
                );
                metadata.insert(VALIDITY_REMARK.to_owned(), told);
            }
            let valid = self.stats.valid_messages();
            let (packets, id) = (TopicId(packets as u32), TopicId(topics.len() as u32));
            topics.push(Topic {
                records: Some(valid.with_packets),
                bytes: Some(valid.bytes_with_packets),
                metadata,
                ..topic
            });
            let those = parts.iter_mut().filter(|part| part.topics.contains(packets));
            those.for_each(|part| part.topics.insert(id));
            points = Some(id);
            reach.insert(id, points::reach(lidar, self.stats.most_packets));
            remarks.extend(lidar.remarks());
        }
        let notes = Notes {
            version: (self.head.major, self.head.minor),
            size_field: self.start.size_field,
            index,
            messages: (self.start.at, self.messages_end),
            has_end_mark: self.has_end_mark,
            gaps: self.gaps.clone(),
            valid,
            cut: self.cut,
            topics: self.topics,
            points,
            lidar,
            oddities: odd,
        };
        let manifest = Manifest {
            format: FORMAT_NAME.into(),
            bytes: end,
            topics,
            streams: Vec::new(),
            parts,
            reach,
            clock: Clock { zero: ClockZero::ProgramStart, to_unix },
            time,
            metadata,
            damage: self.gaps,
            remarks,
            notes: Manifest::note(&notes)?,
        };
        Ok((manifest, notes))
    }

    fn metadata(&self, index: IndexVerdict) -> BTreeMap<String, Value> {
        let bytes = self.start.size_field.header_bytes();
        let [after, whole] = self.start.votes;
        let size_field = format!(
            "counts {bytes} bytes of header ({after} messages follow on each other if \
             it is 17, {whole} if it is 21)"
        );
        let seconds = self.seconds.len();
        let entries = self.head.entries;
        let some = |entries: u64| match entries {
            1 => "1 entry".to_owned(),
            _ => format!("{entries} entries"),
        };
        let index = match index {
            IndexVerdict::Verified => format!("verified, {}", some(entries.into())),
            IndexVerdict::Missing => format!("missing; made again, {}", some(seconds)),
            IndexVerdict::Short => {
                format!(
                    "short, {}; made again, {}",
                    some(entries.into()),
                    some(seconds)
                )
            }
            IndexVerdict::Unsorted => {
                format!("unsorted; made again, {}", some(seconds))
            }
            IndexVerdict::Stale => {
                format!(
                    "stale, {}; made again, {}",
                    some(entries.into()),
                    some(seconds)
                )
            }
        };
        let is_cut = self.gaps.last().is_some_and(|gap| {
            gap.bytes.end == self.judge.end
                && gap.kind == logtool_core::DamageKind::Truncated
        });
        let end = match (self.has_end_mark, is_cut) {
            (true, _) => "0xffffffff",
            (false, true) => "inside a message",
            (false, false) => "end of the file",
        };
        let text = |text: String| Value::Text(text);
        BTreeMap::from([
            (
                "version".into(),
                text(format!("{}.{}", self.head.major, self.head.minor)),
            ),
            ("size_field".into(), text(size_field)),
            ("index".into(), text(index)),
            ("end".into(), text(end.into())),
            ("packets".into(), Value::UInt(self.stats.packets)),
        ])
    }

    /// From the first time that is believed to the last.
    fn time(&self) -> Option<TimeRange> {
        let (least, most) = self.seconds.span()?;
        let just = |millis| TimeRange::just(time::of_millis(millis));
        Some(just(least).cover(&just(most)))
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
    /// The validity of messages that are valid.
    fn valid_byte(&self) -> u8 {
        match self.valid.messages == 0 && self.valid_digit.messages > 0 {
            true => VALID_DIGIT,
            false => VALID,
        }
    }

    /// What those of gps say.
    fn gps(&self) -> &GpsStats {
        if self.valid_byte() == VALID { &self.gps } else { &self.gps_digit }
    }

    /// What was counted of those.
    fn valid_messages(&self) -> Validity {
        if self.valid_byte() == VALID { self.valid } else { self.valid_digit }
    }

    /// How many messages are not valid.
    fn invalid_messages(&self) -> u64 {
        match self.valid_byte() {
            VALID => self.valid_digit.messages + self.other.messages,
            _ => self.other.messages,
        }
    }

    /// How many of those have packets.
    fn invalid_with_packets(&self) -> u64 {
        match self.valid_byte() {
            VALID => self.valid_digit.with_packets + self.other.with_packets,
            _ => self.other.with_packets,
        }
    }

    /// What was found out of the messages of `kind`.
    fn tell(&self, kind: TopicKind, counted: &TopicStats, topic: &mut Topic) {
        let mut tell = |key: &str, value| topic.metadata.insert(key.into(), value);
        let has_invalid = match self.valid_byte() {
            VALID => counted.digit + counted.other > 0,
            _ => counted.other > 0,
        };
        if has_invalid {
            tell(VALID_ROWS, self.valid_byte().to_string());
        }
        match kind {
            TopicKind::Pose => {
                if let Some(order) = self.attitudes.order() {
                    tell("quaternion_order", order);
                }
            }
            TopicKind::Gps => {
                let form = match self.gps().positions.are_in_minutes() {
                    false => "degrees",
                    true => "degrees and minutes, ddmm.mmmm",
                };
                tell("position", form.into());
            }
            _ => {}
        }
    }

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
}
