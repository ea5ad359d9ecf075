//! From what was counted to the manifest.

use std::{collections::BTreeMap, mem};

use logtool_core::{ClockZero, Manifest, Result, TimeRange, Topic, TopicId, Value};

use crate::{
    capture::{
        codes,
        container::Container,
        notes::{Notes, Points},
        survey::{Survey, clock::Clock, topics::Counted},
        topics,
    },
    clock_fit,
    lidar::LidarOptions,
    oddity::Oddity,
};

impl Survey {
    /// The manifest of a capture that has been gone through.
    pub(super) fn finish(mut self, lidar: &LidarOptions) -> Result<(Manifest, Notes)> {
        let container = self.reader.container;
        self.reader.pieces.give_up();
        self.lost_pieces();
        if let Some(last) = self.parts.last_mut() {
            last.bytes.end = self.end;
        }
        let mut odd = Vec::new();
        self.counts.remark(self.reader.pieces.given_up, &mut odd);
        let without_time: u64 =
            self.topics.counted.iter().map(|counted| counted.without_time).sum();
        if without_time > 0 {
            let packets = if without_time == 1 { "packet has" } else { "packets have" };
            let text = format!("{without_time} {packets} no time");
            odd.push(Oddity::new(&codes::WITHOUT_TIME, text));
        }
        let zero = match container {
            Container::Bare => {
                let text = "times are what the packets tell, from the hour in which the \
                            first was sent";
                odd.push(Oddity::new(&codes::HOURS, text));
                ClockZero::Boot
            }
            _ => ClockZero::Unix,
        };
        let mut remarks: Vec<String> = odd.iter().map(|odd| odd.text.clone()).collect();
        let mut metadata = BTreeMap::new();
        metadata.insert("container".into(), Value::Text(container.name().into()));
        self.counts.metadata(&mut metadata);

        let counted = &mut self.topics.counted;
        let probes = counted.iter_mut().map(|one| mem::take(&mut one.probe));
        let mut lidars: Vec<_> = probes.map(|probe| probe.finish(lidar)).collect();
        let counted = &*counted;
        let offsets = counted.iter().flat_map(|one| one.clock.offsets()).copied();
        let to_unix = clock_fit::fit(offsets.collect(), "position packets");
        for (own, one) in lidars.iter_mut().zip(counted) {
            let Some(own) = own else { continue };
            let is_its = |other: &&Counted| other.sender.address == one.sender.address;
            let mut clocks = counted.iter().filter(is_its).map(|one| &one.clock);
            own.tells_utc |= clocks.any(Clock::tells_utc);
            if lidar.utc && zero == ClockZero::Unix {
                let offset = to_unix.as_ref().map_or(0, |fit| fit.offset_nanos);
                own.use_own_clock(offset, to_unix.is_some(), lidar.clock);
            }
        }
        let mut topics = Vec::new();
        for (index, one) in counted.iter().enumerate() {
            let like =
                |other: &&Counted| other.sender.is_position == one.sender.is_position;
            let instance = counted.iter().take(index).filter(like).count() as u32;
            topics.push(topic(one, instance, container));
        }
        let (mut points, mut reach) = (Vec::new(), BTreeMap::new());
        let several = lidars.iter().flatten().count() > 1;
        for (packets, lidar) in (0..).map(TopicId).zip(lidars) {
            let topic = topics.get(packets.index());
            let is_data = counted
                .get(packets.index())
                .is_some_and(|counted| !counted.sender.is_position);
            let (Some(lidar), Some(topic), true) = (lidar, topic, is_data) else {
                points.push(None);
                continue;
            };
            let id = TopicId(topics.len() as u32);
            let made = lidar.topic(topic);
            let said = lidar.remarks().map(|remark| match several {
                true => format!("{}: {remark}", made.label()),
                false => remark,
            });
            remarks.extend(said);
            topics.push(made);
            let parts = self.parts.iter_mut();
            parts
                .filter(|part| part.topics.contains(packets))
                .for_each(|part| part.topics.insert(id));
            reach.insert(id, lidar.reach());
            points.push(Some(Points { topic: id, lidar }));
        }
        let times = counted.iter().map(|c| c.time).filter(|time| !time.is_empty());
        let time = times.reduce(|all: TimeRange, next| all.cover(&next));
        self.parts.retain(|part| !part.bytes.is_empty());
        let notes = Notes {
            container,
            declarations: self.declarations,
            gaps: self.gaps.clone(),
            starts: self.starts,
            topics: counted.iter().map(|counted| counted.sender).collect(),
            points,
            oddities: odd,
        };
        let manifest = Manifest {
            format: topics::FORMAT_NAME.into(),
            bytes: self.end,
            topics,
            streams: Vec::new(),
            parts: self.parts,
            reach,
            clock: logtool_core::Clock { zero, to_unix },
            time,
            metadata,
            damage: self.gaps,
            remarks,
            notes: Manifest::note(&notes)?,
        };
        Ok((manifest, notes))
    }
}

fn topic(counted: &Counted, instance: u32, container: Container) -> Topic {
    let sender = &counted.sender;
    let mut metadata = BTreeMap::new();
    if container != Container::Bare {
        metadata.insert("address".into(), sender.address.to_string());
        metadata.insert("port".into(), sender.port.to_string());
    }
    if sender.is_position {
        metadata.insert("clock".into(), counted.clock.verdict());
    }
    let is_timed = counted.without_time == 0 && !counted.time.is_empty();
    Topic {
        instance,
        encoding: topics::ENCODING.into(),
        type_name: topics::type_name(sender.is_position).into(),
        definition: topics::definition(sender.is_position).into(),
        records: Some(counted.records),
        bytes: Some(counted.bytes),
        time: is_timed.then_some(counted.time),
        metadata,
        ..Topic::new(
            topics::name(sender.is_position),
            topics::schema(sender.is_position),
        )
    }
}
