//! Reads samples without the code under test, and decodes them with it.

#![allow(dead_code, clippy::unwrap_used)] // each test file uses some of it

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use arrow_array::RecordBatch;
use bytes::Bytes;
use logtool_core::{
    Block, Columns, Decoder as _, Log, Selection, Timestamp, TopicId, View, conformance,
};
use logtool_velodyne::{
    calibration::Calibration,
    model::{Evidence, Sensor},
    packet::DATA_BYTES,
    points::{PointDecoder, PointOptions},
};

/// Returns the folder with samples of Velodyne lidars, if it exists.
pub(crate) fn samples() -> Option<PathBuf> {
    conformance::sample_path("velodyne")
}

/// A UDP payload and its capture time in nanoseconds of Unix time.
pub(crate) type Payload = (i64, Vec<u8>);

/// Returns the UDP payloads to `port` in the complete frames of a plain pcap file
/// (little-endian, microseconds, Ethernet, IPv4).
pub(crate) fn payloads(path: &Path, port: u16) -> Vec<Payload> {
    let bytes = std::fs::read(path).unwrap();
    let u32_at = |offset: usize| {
        u32::from_le_bytes(bytes[offset..offset + 4].try_into().unwrap())
    };
    assert_eq!(u32_at(0), 0xa1b2_c3d4, "{path:?}");
    let (mut offset, mut payloads) = (24, vec![]);
    while offset + 16 <= bytes.len() {
        let seconds = i64::from(u32_at(offset));
        let micros = i64::from(u32_at(offset + 4));
        let len = u32_at(offset + 8) as usize;
        let Some(frame) = bytes.get(offset + 16..offset + 16 + len) else { break };
        offset += 16 + len;
        let destination_port = u16::from_be_bytes([frame[36], frame[37]]);
        let udp_len = usize::from(u16::from_be_bytes([frame[38], frame[39]]));
        if frame[12..14] == [8, 0] && frame[23] == 17 && destination_port == port {
            let payload = frame[42..42 + udp_len - 8].to_vec();
            payloads.push((seconds * 1_000_000_000 + micros * 1_000, payload));
        }
    }
    payloads
}

/// Returns the data packets of a plain pcap file.
pub(crate) fn packets(path: &Path) -> Vec<Payload> {
    let mut packets = payloads(path, 2368);
    packets.retain(|(_, payload)| payload.len() == DATA_BYTES);
    packets
}

/// Returns the sensor that the packets indicate.
pub(crate) fn sensor(packets: &[Payload]) -> Sensor {
    let mut evidence = Evidence::default();
    packets.iter().for_each(|(_, payload)| evidence.add(payload));
    evidence.detect().sensor.unwrap()
}

/// Returns a block with a record for each packet. The offset of each is 1206 times its
/// index.
pub(crate) fn block(packets: &[Payload]) -> Block {
    let bytes: Vec<u8> = packets.iter().flat_map(|(_, bytes)| bytes).copied().collect();
    let mut block = Block::default();
    block.reset(Bytes::from(bytes), 0);
    for (index, (nanos, _)) in packets.iter().enumerate() {
        let range = index * DATA_BYTES..(index + 1) * DATA_BYTES;
        block.push(TopicId(0), Timestamp::from_nanos(*nanos), range);
    }
    block
}

/// The columns of points, with types that are wide enough for calculations.
#[derive(Default, Debug)]
pub(crate) struct Points {
    pub(crate) time: Vec<i64>,
    pub(crate) xyz: Vec<[f64; 3]>,
    pub(crate) intensity: Vec<u8>,
    pub(crate) calibrated: Vec<f64>,
    pub(crate) laser: Vec<u8>,
    pub(crate) ring: Vec<u8>,
    pub(crate) azimuth: Vec<f64>,
    pub(crate) distance: Vec<f64>,
    pub(crate) return_type: Vec<u8>,
    pub(crate) scan: Vec<u32>,
}

/// Returns the points of all packets, decoded with the code under test.
pub(crate) fn decode(
    packets: &[Payload],
    sensor: Sensor,
    calibration: &Calibration,
    options: PointOptions,
) -> Points {
    use arrow_array::{cast::AsArray as _, types::*};
    let columns = Columns::default();
    let mut decoder =
        PointDecoder::new(sensor, calibration, options, &columns).unwrap();
    let (block, mut damage) = (block(packets), vec![]);
    block.runs().for_each(|run| decoder.append(run, &mut damage));
    assert_eq!(damage, []);
    let batch = decoder.take().unwrap();
    let floats = |name: &str| -> Vec<f64> {
        let column = batch.column_by_name(name).unwrap().as_primitive::<Float32Type>();
        column.values().iter().map(|value| f64::from(*value)).collect()
    };
    let bytes = |name: &str| -> Vec<u8> {
        let column = batch.column_by_name(name).unwrap().as_primitive::<UInt8Type>();
        column.values().to_vec()
    };
    let (x, y, z) = (floats("x"), floats("y"), floats("z"));
    let time = batch.column_by_name("time").unwrap();
    let scan = batch.column_by_name("scan").unwrap();
    Points {
        time: time.as_primitive::<TimestampNanosecondType>().values().to_vec(),
        xyz: (0..x.len()).map(|row| [x[row], y[row], z[row]]).collect(),
        intensity: bytes("intensity"),
        calibrated: floats("intensity_calibrated"),
        laser: bytes("laser"),
        ring: bytes("ring"),
        azimuth: floats("azimuth"),
        distance: floats("distance"),
        return_type: bytes("return_type"),
        scan: scan.as_primitive::<UInt32Type>().values().to_vec(),
    }
}

/// Returns the file called `name` in a zip archive, found by its central directory.
pub(crate) fn unzip(path: &Path, name: &str) -> Vec<u8> {
    let zip = std::fs::read(path).unwrap();
    let u16_at =
        |offset: usize| usize::from(u16::from_le_bytes([zip[offset], zip[offset + 1]]));
    let u32_at = |offset: usize| u16_at(offset) | u16_at(offset + 2) << 16;
    let is_directory_end = |offset: &usize| zip[*offset..].starts_with(b"PK\x05\x06");
    let directory_end = (0..=zip.len() - 22).rev().find(is_directory_end).unwrap();
    let mut entry = u32_at(directory_end + 16);
    loop {
        assert_eq!(&zip[entry..entry + 4], b"PK\x01\x02", "{path:?} has no {name}");
        let name_len = u16_at(entry + 28);
        if &zip[entry + 46..entry + 46 + name_len] == name.as_bytes() {
            break;
        }
        entry += 46 + name_len + u16_at(entry + 30) + u16_at(entry + 32);
    }
    let (compressed_len, header) = (u32_at(entry + 20), u32_at(entry + 42));
    let start = header + 30 + u16_at(header + 26) + u16_at(header + 28);
    let compressed = &zip[start..start + compressed_len];
    match u16_at(entry + 10) {
        0 => compressed.to_vec(),
        _ => {
            let mut out = vec![];
            let mut decoder = flate2::read::DeflateDecoder::new(compressed);
            decoder.read_to_end(&mut out).unwrap();
            out
        }
    }
}

/// Returns the bytes of the numbers of this type in a NumPy array, and its shape.
fn npy(bytes: &[u8], dtype: &str) -> (Vec<u8>, Vec<usize>) {
    assert_eq!(&bytes[..6], b"\x93NUMPY");
    let len = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..10 + len]).unwrap();
    assert!(header.contains(&format!("'descr': '{dtype}'")), "{header}");
    assert!(header.contains("'fortran_order': False"), "{header}");
    let shape = header.split_once("'shape': (").unwrap().1.split_once(')').unwrap().0;
    let shape = shape.split(',').filter_map(|n| n.trim().parse().ok()).collect();
    (bytes[10 + len..].to_vec(), shape)
}

/// Returns the rows of an `f32` array in a NumPy archive.
pub(crate) fn floats(path: &Path, name: &str) -> Vec<Vec<f32>> {
    let (bytes, shape) = npy(&unzip(path, &format!("{name}.npy")), "<f4");
    let values =
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()));
    let values: Vec<f32> = values.collect();
    values.chunks_exact(shape[1]).map(<[f32]>::to_vec).collect()
}

/// Returns an `i32` array in a NumPy archive.
pub(crate) fn ints(path: &Path, name: &str) -> Vec<i32> {
    let (bytes, _) = npy(&unzip(path, &format!("{name}.npy")), "<i4");
    bytes.chunks_exact(4).map(|b| i32::from_le_bytes(b.try_into().unwrap())).collect()
}

/// Returns the points of a log, which is read in parts of about `part_bytes` bytes. Each
/// part has its own decoder.
pub(crate) fn points(log: &dyn Log, part_bytes: u64) -> RecordBatch {
    let topic = log.manifest().topic_id("points").unwrap();
    let topics = [topic].into_iter().collect();
    let selection = Selection { topics, ..Selection::default() };
    let (mut block, mut damage, mut batches) = (Block::default(), vec![], vec![]);
    for part in log.manifest().plan(&selection, part_bytes) {
        let mut decoder = log.decoder(topic, &Columns::new(View::Nested)).unwrap();
        let mut cursor = log.read(&part, &selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            block.runs().for_each(|run| decoder.append(run, &mut damage));
        }
        batches.push(decoder.take().unwrap());
    }
    assert_eq!(damage, []);
    let schema = batches[0].schema();
    arrow_select::concat::concat_batches(&schema, &batches).unwrap()
}
