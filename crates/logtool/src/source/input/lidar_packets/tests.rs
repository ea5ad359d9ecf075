use bytes::Bytes;
use logtool_core::{Format, MatchConfidence, OpenOptions, Record, conformance};
use logtool_rosbag::{FORMAT, RosbagLog};
use logtool_velodyne::lidar::{CODES, Probe};

use super::{cursor::before_last, *};

/// The format of bags with the points of their lidars.
struct WithPoints;

impl Format for WithPoints {
    fn name(&self) -> &'static str {
        FORMAT.name()
    }

    fn probe(&self, name: &str, head: &[u8]) -> MatchConfidence {
        FORMAT.probe(name, head)
    }

    fn open(
        &self,
        source: Arc<dyn Source>,
        options: OpenOptions,
    ) -> logtool_core::Result<Box<dyn Log>> {
        let bag = Box::new(RosbagLog::open(source, options.into())?);
        Ok(with_points(bag, &LidarOptions::default()).unwrap())
    }

    /// Opens an excerpt, which has no streams. For a whole manifest, the lidars are detected
    /// again.
    fn open_with_manifest(
        &self,
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> logtool_core::Result<Box<dyn Log>> {
        if !manifest.streams.is_empty() {
            return self.open(source, options);
        }
        let open_bag = |manifest| {
            let bag = RosbagLog::open_with_manifest(source, manifest, options.into())?;
            Ok(Box::new(bag) as Box<dyn Log>)
        };
        Ok(open_excerpt(manifest, open_bag).unwrap())
    }
}

fn open(bytes: Bytes) -> Box<dyn Log> {
    WithPoints.open(Arc::new(bytes), OpenOptions::default()).unwrap()
}

#[test]
fn packets_without_stamps_are_earlier_by_the_time_of_their_firings() {
    // A VLP-16: 0x37 means the strongest return, 0x39 both returns, in half the time.
    let packet = |returns: u8| {
        let mut packet = [0; 1206];
        packet.chunks_exact_mut(100).take(12).for_each(|b| b[..2].fill(0xff));
        packet.chunks_exact_mut(100).take(12).for_each(|b| b[1] = 0xee);
        packet[1204..].copy_from_slice(&[returns, 0x22]);
        packet
    };
    let packets = [0x37, 0x39, 0x39, 0x37].map(packet);
    let mut options = LidarOptions::default();
    options.model = Some(logtool_velodyne::model::Model::Vlp16);
    let mut probe = Probe::default();
    packets.iter().for_each(|packet| probe.add(packet, Timestamp::default()));
    let lidar = probe.finish(&options).unwrap();
    let record = |payload| Record {
        topic: TopicId(0),
        stream: 0,
        time: Timestamp::default(),
        payload,
        offset: 0,
    };
    let records: Vec<Record<'_>> = packets.iter().map(|p| record(&p[..])).collect();
    // 24 firings of 55.296 us, and half of them.
    let early = before_last(&records, &lidar);
    assert_eq!(early, [1_327_104 + 2 * 663_552, 1_327_104 + 663_552, 1_327_104, 0]);
}

#[test]
fn bags_with_points_satisfy_the_laws() {
    for name in [
        "rosbag/synthetic-velodynescan-compressedimage.bag",
        "velodyne/hdl64e_s1_atwall.bag",
        "velodyne/vlp16_opendlv_lz4.bag",
    ] {
        let Some(bytes) = conformance::sample(name) else { continue };
        let log = open(bytes.clone());
        let points = |topic: &logtool_core::Topic| topic.content.is_points();
        assert!(log.manifest().topics.iter().any(points), "{name} has points");
        conformance::check_damaged(&WithPoints, bytes);
    }
}

#[test]
fn anomalies_of_a_lidar_are_found_in_its_bag() {
    let Some(bytes) = conformance::sample("velodyne/hdl64e_s1_atwall.bag") else {
        return;
    };
    let mut findings = Findings::default();
    open(bytes).check(&mut findings).unwrap();
    let names: Vec<&str> = findings.iter().map(|finding| finding.code.name).collect();
    assert_eq!(names, ["lidar.calibration.other"]);
    assert!(CODES.iter().any(|code| names.contains(&code.name)));
}
