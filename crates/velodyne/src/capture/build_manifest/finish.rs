//! Creates the manifest from the results of the index pass.

use std::{collections::BTreeMap, mem};

use logtool_core::{
    ClockFit, ClockZero, Error, ErrorKind, LogAccess, Manifest, MetadataKey, Result,
    TimeRange, Topic, TopicId, Value,
};

use crate::{
    anomaly::Anomaly,
    capture::{
        build_manifest::{
            ManifestBuilder,
            position_clock::{self, PositionClock},
            topic_stats::TopicStats,
        },
        codes,
        container::Container,
        decode::topics,
        format_state::{FormatState, PointsTopic},
        packets::{
            manufacturer::Manufacturer,
            sender::{add_position_clock_metadata, add_sender_metadata},
        },
    },
    lidar::{ClockChoice, Lidar, LidarOptions},
};

/// The product IDs of the LSLidar C16 and C32. Their packets are like those of a VLP-16.
const LSLIDAR_PRODUCT_IDS: [u8; 2] = [0x10, 0x20];

impl ManifestBuilder {
    /// Returns the manifest of the capture and its private state.
    pub(super) fn finish(
        mut self,
        lidar: &LidarOptions,
    ) -> Result<(Manifest, FormatState)> {
        let container = self.reader.container;
        if let Some(manufacturer) = self.other_manufacturer(lidar) {
            let message =
                format!("it looks like {manufacturer}; only Velodyne is supported");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        self.reader.reassembler.drop_incomplete();
        self.record_lost_fragments();
        if let Some(last) = self.parts.last_mut() {
            last.bytes.end = self.file_len;
        }
        self.parts.retain(|part| !part.bytes.is_empty());
        let zero = match container {
            Container::Bare => ClockZero::Boot,
            _ => ClockZero::Unix,
        };
        let mut metadata = BTreeMap::new();
        metadata.insert(
            MetadataKey::Container.into(),
            Value::Text(container.name().into()),
        );
        self.counts.add_to_metadata(&mut metadata);
        let mut anomalies = self.anomalies();
        let to_unix = self.to_unix(lidar.clock, &mut anomalies);
        let lidars = self.lidars(lidar, zero, to_unix.as_ref(), &mut anomalies);

        let stats = &self.topics.stats;
        let time = stats
            .iter()
            .map(|stats| stats.time)
            .filter(|time| !time.is_empty())
            .reduce(|range: TimeRange, next| range.cover(&next));
        let senders = stats.iter().map(|stats| stats.sender).collect();
        let mut damage = self.damage.clone();
        damage.append(&mut self.doubtful);
        damage.sort_by_key(|damage| damage.bytes.start);
        let mut manifest = Manifest {
            format: topics::FORMAT_NAME.into(),
            bytes: self.file_len,
            access: LogAccess::Scanned,
            topics: packet_topics(stats, container),
            streams: Vec::new(),
            parts: self.parts,
            time_margins: BTreeMap::new(),
            oldest: None,
            clock: logtool_core::Clock { zero, to_unix },
            time,
            metadata,
            damage,
            remarks: anomalies.iter().map(|anomaly| anomaly.text.clone()).collect(),
            format_state: String::new(),
        };
        let format_state = FormatState {
            container,
            declarations: self.declarations,
            damage: self.damage,
            starts: self.starts,
            senders,
            points: add_points_topics(lidars, &mut manifest),
            verifies_checksums: self.reader.verifies_checksums,
            corrections: self.reader.corrections,
            anomalies,
        };
        manifest.format_state = Manifest::encode_state(&format_state)?;
        Ok((manifest, format_state))
    }

    /// Returns the anomalies of the capture, except those of clocks and lidars.
    fn anomalies(&self) -> Vec<Anomaly> {
        let mut anomalies = Vec::new();
        self.counts.add_anomalies(&self.reader.reassembler, &mut anomalies);
        let without_time: u64 =
            self.topics.stats.iter().map(|stats| stats.without_time).sum();
        if without_time > 0 {
            let packets = if without_time == 1 { "packet has" } else { "packets have" };
            let text = format!("{without_time} {packets} no time");
            anomalies.push(Anomaly::new(&codes::WITHOUT_TIME, text));
        }
        let mut unverified = Vec::new();
        if !self.reader.verifies_checksums {
            unverified.push(
                "most UDP checksums are wrong, as after a change of addresses: they are not \
                 verified",
            );
        }
        unverified.extend(self.reader.corrections.unverified_checksums());
        if !unverified.is_empty() {
            // Findings with one code are joined, and have the text of the first.
            anomalies.push(Anomaly::new(&codes::CHECKSUMS, unverified.join("; ")));
        }
        self.reader.corrections.add_anomalies(&mut anomalies);
        if self.reader.container.has_undeclared_nanos() {
            let text = "the header of the capture declares times in microseconds, but they are \
                        in nanoseconds: they are read as nanoseconds";
            anomalies.push(Anomaly::new(&codes::UNDECLARED_NANOS, text));
        }
        if self.reader.container == Container::Bare {
            let text = "times are those in the packets, from the hour in which the first \
                        was sent";
            anomalies.push(Anomaly::new(&codes::HOURS, text));
        }
        anomalies
    }

    /// Returns the manufacturer of the lidars, if the capture has packets of lidars of
    /// another manufacturer, and none of Velodyne. The packets of some LSLidar models differ
    /// from those of Velodyne by their product ID only. If the user sets the model, they are
    /// accepted.
    fn other_manufacturer(&self, options: &LidarOptions) -> Option<Manufacturer> {
        let mut product_ids = self
            .topics
            .stats
            .iter()
            .filter(|stats| !stats.sender.is_position)
            .map(|stats| stats.probe.product_id())
            .peekable();
        let is_lslidar = options.model.is_none()
            && product_ids.peek().is_some()
            && product_ids
                .all(|id| id.is_some_and(|id| LSLIDAR_PRODUCT_IDS.contains(&id)));
        let is_lslidar = is_lslidar.then_some(Manufacturer::LsLidar);
        self.counts.other_manufacturer().or(is_lslidar)
    }

    /// Returns the offset between UTC and the clock of the capture, according to position
    /// packets, and adds contradictions to `anomalies`. If the user chose the clock of the
    /// log, packets that agree with their sentence are only used if they are locked.
    fn to_unix(
        &self,
        choice: ClockChoice,
        anomalies: &mut Vec<Anomaly>,
    ) -> Option<ClockFit> {
        let requires_lock = choice == ClockChoice::Log;
        let clocks = self.topics.stats.iter().map(|stats| &stats.clock);
        clocks.clone().for_each(|clock| anomalies.extend(clock.contradiction()));
        let fit = PositionClock::fit(clocks, requires_lock)?;
        Some(position_clock::correct(fit, anomalies))
    }

    /// Returns the lidar that sent the packets of each topic. It is `None` for position
    /// packets, and for data packets whose model is unknown.
    fn lidars(
        &mut self,
        options: &LidarOptions,
        zero: ClockZero,
        to_unix: Option<&ClockFit>,
        anomalies: &mut Vec<Anomaly>,
    ) -> Vec<Option<Lidar>> {
        let mut lidars = Vec::new();
        for stats in &mut self.topics.stats {
            if stats.sender.is_position {
                lidars.push(None);
                continue;
            }
            let probe = mem::take(&mut stats.probe);
            let product_id = probe.product_id();
            let is_incomplete = probe.is_incomplete();
            let lidar = probe.finish(options);
            if lidar.is_none() && (is_incomplete || product_id.is_some()) {
                let packets = match stats.records {
                    1 => "1 data packet".to_owned(),
                    records => format!("{records} data packets"),
                };
                let reason = match product_id {
                    Some(id) => {
                        format!("the product ID {id:#04x} of {packets} is unknown")
                    }
                    None => {
                        format!("the product ID at the end of {packets} is missing")
                    }
                };
                let text = format!(
                    "{reason}: they are not decoded to points, unless their model is set"
                );
                anomalies.push(Anomaly::new(&codes::PRODUCT, text));
            }
            lidars.push(lidar);
        }
        let all_stats = &self.topics.stats;
        for (lidar, stats) in lidars.iter_mut().zip(all_stats) {
            let Some(lidar) = lidar else { continue };
            lidar.is_utc |= all_stats
                .iter()
                .filter(|other| other.sender.device == stats.sender.device)
                .any(|other| other.clock.is_utc());
            let offset = to_unix.map_or(0, |fit| fit.offset_nanos);
            lidar.compare_clocks((zero == ClockZero::Unix).then_some(offset));
            if options.utc && zero == ClockZero::Unix {
                lidar.use_own_clock(offset, to_unix.is_some(), options.clock);
            }
        }
        lidars
    }
}

/// Adds the topics of the points of `lidars` to `manifest`. There is one entry in `lidars`
/// for each topic of packets.
fn add_points_topics(
    lidars: Vec<Option<Lidar>>,
    manifest: &mut Manifest,
) -> Vec<Option<PointsTopic>> {
    let has_several = lidars.iter().flatten().count() > 1;
    let add = |(packets, lidar): (TopicId, Option<Lidar>)| {
        let lidar = lidar?;
        let id = TopicId(manifest.topics.len() as u32);
        let topic = lidar.topic(manifest.topics.get(packets.index())?);
        let warnings = lidar.warnings().map(|warning| {
            if has_several { format!("{}: {warning}", topic.label()) } else { warning }
        });
        manifest.remarks.extend(warnings);
        manifest.topics.push(topic);
        let parts = manifest.parts.iter_mut();
        let with_packets = parts.filter(|part| part.topics.contains(packets));
        with_packets.for_each(|part| part.topics.insert(id));
        manifest.time_margins.insert(id, lidar.time_margin());
        Some(PointsTopic { topic: id, lidar, scans: None })
    };
    (0..).map(TopicId).zip(lidars).map(add).collect()
}

/// Returns the topics of packets.
fn packet_topics(all_stats: &[TopicStats], container: Container) -> Vec<Topic> {
    let topics = all_stats.iter().enumerate().map(|(index, stats)| {
        let has_same_name =
            |other: &&TopicStats| other.sender.is_position == stats.sender.is_position;
        let instance = all_stats[..index].iter().filter(has_same_name).count() as u32;
        packet_topic(stats, instance, container)
    });
    topics.collect()
}

fn packet_topic(stats: &TopicStats, instance: u32, container: Container) -> Topic {
    let sender = &stats.sender;
    let is_timed = stats.without_time == 0 && !stats.time.is_empty();
    let mut topic = Topic {
        instance,
        encoding: topics::ENCODING.into(),
        type_name: topics::type_name(sender.is_position).into(),
        definition: topics::definition(sender.is_position).into(),
        records: Some(stats.records),
        bytes: Some(stats.bytes),
        time: is_timed.then_some(stats.time),
        ..Topic::new(
            topics::name(sender.is_position),
            topics::schema(sender.is_position),
        )
    };
    if container != Container::Bare {
        let interface = sender.device.interface;
        let interface = (container == Container::PcapNg).then_some(interface);
        add_sender_metadata(sender, interface, &mut topic);
    }
    if sender.is_position {
        let clock = &stats.clock;
        add_position_clock_metadata(clock.state(), clock.evidence(), &mut topic);
    }
    topic
}
