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
            sender::{state_position_clock, state_sender},
        },
    },
    lidar::{ClockChoice, Lidar, LidarOptions},
};

/// The product IDs of the LSLidar C16 and C32, in packets like those of a VLP-16.
const LSLIDAR_PRODUCTS: [u8; 2] = [0x10, 0x20];

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
        self.reader.fragments.drop_incomplete();
        self.lost_fragments();
        if let Some(last) = self.parts.last_mut() {
            last.bytes.end = self.end;
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
        self.counts.metadata(&mut metadata);
        let mut anomalies = self.anomalies();
        let to_unix = self.to_unix(lidar.clock, &mut anomalies);
        let lidars = self.lidars(lidar, zero, to_unix.as_ref(), &mut anomalies);

        let counted = &self.topics.counted;
        let times = counted.iter().map(|c| c.time).filter(|time| !time.is_empty());
        let time = times.reduce(|range: TimeRange, next| range.cover(&next));
        let senders = counted.iter().map(|counted| counted.sender).collect();
        let mut manifest = Manifest {
            format: topics::FORMAT_NAME.into(),
            bytes: self.end,
            access: LogAccess::Scanned,
            topics: topics_of(counted, container),
            streams: Vec::new(),
            parts: self.parts,
            time_margins: BTreeMap::new(),
            oldest: None,
            clock: logtool_core::Clock { zero, to_unix },
            time,
            metadata,
            damage: self.gaps.clone(),
            remarks: anomalies.iter().map(|anomalies| anomalies.text.clone()).collect(),
            format_state: String::new(),
        };
        let format_state = FormatState {
            container,
            declarations: self.declarations,
            gaps: self.gaps,
            starts: self.starts,
            topics: senders,
            points: add_points(lidars, &mut manifest),
            verifies_checksums: self.reader.verifies_checksums,
            anomalies,
        };
        manifest.format_state = Manifest::encode_state(&format_state)?;
        Ok((manifest, format_state))
    }

    /// Returns the anomalies of the capture.
    fn anomalies(&self) -> Vec<Anomaly> {
        let mut anomalies = Vec::new();
        self.counts.report(self.reader.fragments.dropped, &mut anomalies);
        let without_time: u64 =
            self.topics.counted.iter().map(|counted| counted.without_time).sum();
        if without_time > 0 {
            let packets = if without_time == 1 { "packet has" } else { "packets have" };
            let text = format!("{without_time} {packets} no time");
            anomalies.push(Anomaly::new(&codes::WITHOUT_TIME, text));
        }
        if !self.reader.verifies_checksums {
            let text = "most UDP checksums are wrong, as after a change of addresses: they \
                        are not verified";
            anomalies.push(Anomaly::new(&codes::CHECKSUMS, text));
        }
        if self.reader.container == Container::Bare {
            let text = "times are those in the packets, from the hour in which the first \
                        was sent";
            anomalies.push(Anomaly::new(&codes::HOURS, text));
        }
        anomalies
    }

    /// Returns the manufacturer of the lidars of a capture without any packet of a Velodyne
    /// lidar. The packets of some LSLidar models differ from those of Velodyne by their
    /// product ID only, which the user can overrule.
    fn other_manufacturer(&self, options: &LidarOptions) -> Option<Manufacturer> {
        let mut data =
            self.topics.counted.iter().filter(|stats| !stats.sender.is_position);
        let is_lslidar = options.model.is_none()
            && data.clone().next().is_some()
            && data.all(|stats| {
                stats
                    .probe
                    .product_id()
                    .is_some_and(|id| LSLIDAR_PRODUCTS.contains(&id))
            });
        let is_lslidar = is_lslidar.then_some(Manufacturer::LsLidar);
        self.counts.other_manufacturer().or(is_lslidar)
    }

    /// Returns the offset of UTC that position packets state, for this choice of clock, and
    /// adds each contradiction to `anomalies`.
    fn to_unix(
        &self,
        choice: ClockChoice,
        anomalies: &mut Vec<Anomaly>,
    ) -> Option<ClockFit> {
        let is_sure = choice == ClockChoice::Log;
        let clocks = self.topics.counted.iter().map(|one| &one.clock);
        clocks.clone().for_each(|clock| anomalies.extend(clock.contradiction()));
        let fit = PositionClock::fit(clocks, is_sure)?;
        Some(position_clock::correct(fit, anomalies))
    }

    /// Returns the lidar that sent the packets of each topic, `None` for position
    /// packets.
    fn lidars(
        &mut self,
        options: &LidarOptions,
        zero: ClockZero,
        to_unix: Option<&ClockFit>,
        anomalies: &mut Vec<Anomaly>,
    ) -> Vec<Option<Lidar>> {
        let counted = &mut self.topics.counted;
        let lidars = counted.iter_mut().map(|stats| if stats.sender.is_position { None } else {
                let probe = mem::take(&mut stats.probe);
                let product_id = probe.product_id();
                let lidar = probe.finish(options);
                if let (None, Some(id)) = (&lidar, product_id) {
                    let text = format!(
                        "the product ID {id:#04x} of {} data packets is unknown: they are \
                         not decoded to points, unless their model is set",
                        stats.records
                    );
                    anomalies.push(Anomaly::new(&codes::PRODUCT, text));
                }
                lidar
            });
        let mut lidars: Vec<_> = lidars.collect();
        let counted = &*counted;
        for (own, stats) in lidars.iter_mut().zip(counted) {
            let Some(own) = own else { continue };
            let is_same_device =
                |other: &&TopicStats| other.sender.device == stats.sender.device;
            let mut clocks =
                counted.iter().filter(is_same_device).map(|one| &one.clock);
            own.is_utc |= clocks.any(PositionClock::is_utc);
            let offset = to_unix.map_or(0, |fit| fit.offset_nanos);
            own.compare_clocks((zero == ClockZero::Unix).then_some(offset));
            if options.utc && zero == ClockZero::Unix {
                own.use_own_clock(offset, to_unix.is_some(), options.clock);
            }
        }
        lidars
    }
}

/// Adds the topics of the points of `lidars`, one for each topic of packets, to
/// `manifest`.
fn add_points(
    lidars: Vec<Option<Lidar>>,
    manifest: &mut Manifest,
) -> Vec<Option<PointsTopic>> {
    let several = lidars.iter().flatten().count() > 1;
    let add = |(packets, lidar): (TopicId, Option<Lidar>)| {
        let lidar = lidar?;
        let id = TopicId(manifest.topics.len() as u32);
        let points_topic = lidar.topic(manifest.topics.get(packets.index())?);
        let warnings = lidar.warnings().map(|remark| {
            if several { format!("{}: {remark}", points_topic.label()) } else { remark }
        });
        manifest.remarks.extend(warnings);
        manifest.topics.push(points_topic);
        let parts = manifest.parts.iter_mut();
        let with_packets = parts.filter(|part| part.topics.contains(packets));
        with_packets.for_each(|part| part.topics.insert(id));
        manifest.time_margins.insert(id, lidar.time_margin());
        Some(PointsTopic { topic: id, lidar, scans: None })
    };
    (0..).map(TopicId).zip(lidars).map(add).collect()
}

/// Returns the topics of packets.
fn topics_of(counted: &[TopicStats], container: Container) -> Vec<Topic> {
    let all = counted.iter().enumerate().map(|(index, stats)| {
        let like =
            |other: &&TopicStats| other.sender.is_position == stats.sender.is_position;
        let instance = counted.iter().take(index).filter(like).count() as u32;
        topic(stats, instance, container)
    });
    all.collect()
}

fn topic(counted: &TopicStats, instance: u32, container: Container) -> Topic {
    let sender = &counted.sender;
    let is_timed = counted.without_time == 0 && !counted.time.is_empty();
    let mut topic = Topic {
        instance,
        encoding: topics::ENCODING.into(),
        type_name: topics::type_name(sender.is_position).into(),
        definition: topics::definition(sender.is_position).into(),
        records: Some(counted.records),
        bytes: Some(counted.bytes),
        time: is_timed.then_some(counted.time),
        ..Topic::new(
            topics::name(sender.is_position),
            topics::schema(sender.is_position),
        )
    };
    if container != Container::Bare {
        let interface = sender.device.interface;
        let interface = (container == Container::PcapNg).then_some(interface);
        state_sender(sender, interface, &mut topic);
    }
    if sender.is_position {
        let clock = &counted.clock;
        state_position_clock(clock.state(), clock.evidence(), &mut topic);
    }
    topic
}
