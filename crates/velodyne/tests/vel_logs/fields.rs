//! Every field of the format's document has a distinct value, in messages assembled from
//! that document and in messages of the writer.

use std::io::Cursor;

use Field::{Double, Float, Int};
use arrow_array::{
    cast::AsArray as _,
    types::{Float32Type, Float64Type, Int32Type},
};
use logtool_core::{Columns, View};
use logtool_velodyne::vel::{Gps, Header, ImageHeader, Obd, VALID};

use super::*;

/// A field of a message: the name of its column and its value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Field {
    Int(&'static str, i32),
    Float(&'static str, f32),
    Double(&'static str, f64),
}

const OBD: [Field; 7] = [
    Int("speed", 101),
    Int("engine_speed", 2_102),
    Float("unused_3", 103.25),
    Int("unused_4", 104),
    Int("unused_5", 105),
    Float("throttle_position", 106.5),
    Int("unused_7", 107),
];

const GPS: [Field; 18] = [
    Int("hour", 13),
    Int("minute", 11),
    Int("second", 7),
    Int("warning", 1),
    Double("latitude", 50.363_611),
    Double("longitude", 7.558_611),
    Float("speed", 207.5),
    Float("course", 208.25),
    Int("day", 30),
    Int("month", 9),
    Int("year", 2010),
    Int("quality", 6),
    Int("satellites", 12),
    Float("hdop", 1.25),
    Float("altitude", 112.5),
    Float("geoid_height", 47.75),
    Float("vdop", 1.75),
    Float("pdop", 2.125),
];

const POSE: [Field; 7] = [
    Float("q0", 0.5),
    Float("q1", -0.25),
    Float("q2", 0.75),
    Float("q3", 0.125),
    Float("acceleration_x", 301.5),
    Float("acceleration_y", -302.5),
    Float("acceleration_z", 9.75),
];

/// Returns a message with the layout of the document.
fn message(kind: u32, millis: f64, data: &[u8]) -> Vec<u8> {
    let mut bytes = (17 + data.len() as u32).to_le_bytes().to_vec();
    bytes.push(0x49);
    bytes.extend(kind.to_le_bytes());
    bytes.extend(100_u32.to_le_bytes());
    bytes.extend(millis.to_le_bytes());
    bytes.extend(data);
    bytes
}

/// Returns the data of a message with these fields.
fn data(fields: &[Field]) -> Vec<u8> {
    let bytes = |field: &Field| match field {
        Int(_, value) => value.to_le_bytes().to_vec(),
        Float(_, value) => value.to_le_bytes().to_vec(),
        Double(_, value) => value.to_le_bytes().to_vec(),
    };
    fields.iter().flat_map(bytes).collect()
}

/// Returns the data of an image with distinct values for camera, compression, width,
/// height and length.
fn image() -> Vec<u8> {
    let header = [3, 1, 640, 480, 4].map(u32::to_le_bytes).concat();
    [header, b"\xff\xd8\xff\xd9".to_vec()].concat()
}

/// Returns two packets whose bytes differ.
fn packets() -> [[u8; 1206]; 2] {
    let mut packets = [[0; 1206]; 2];
    for (number, packet) in (0..).zip(&mut packets) {
        for (index, byte) in packet.iter_mut().enumerate() {
            *byte = (index % 251) as u8 ^ number;
        }
        packet.chunks_exact_mut(100).for_each(|b| b[..2].copy_from_slice(&[255, 238]));
    }
    packets
}

/// Returns a log assembled from the document: header, index and one message of each type.
fn assembled_log() -> Vec<u8> {
    let packets = [&2_u32.to_le_bytes()[..], packets().as_flattened()].concat();
    let mut bytes = b"\xa4VEL\x01\x00\x01\x00\x01\x00\x00\x00".to_vec();
    bytes.extend(20_u64.to_le_bytes());
    bytes.extend(message(0x0001_4043, 10.5, &data(&OBD)));
    bytes.extend(message(0x0001_4a32, 11.5, &data(&GPS)));
    bytes.extend(message(0x0001_09c9, 12.5, &image()));
    bytes.extend(message(0x0001_e342, 13.5, &data(&POSE)));
    bytes.extend(message(0x0003_112b, 14.5, &packets));
    bytes
}

/// Returns the values of `fields` in the only message of the topic `name`.
fn decode_fields(log: &VelLog, name: &str, fields: &[Field]) -> Vec<Field> {
    let topic = log.manifest().topic_id(name).unwrap();
    let mut decoder = log.decoder(topic, &Columns::new(View::Flat)).unwrap();
    let selection =
        Selection { topics: [topic].into_iter().collect(), ..Selection::default() };
    let (mut block, mut damage) = (Block::default(), vec![]);
    for part in log.manifest().plan(&selection, 0) {
        let mut cursor = log.read(&part, &selection).unwrap();
        while cursor.fill(&mut block).unwrap() {
            block.runs().for_each(|run| decoder.append(run, &mut damage));
        }
    }
    assert_eq!(damage, []);
    let batch = decoder.take().unwrap();
    assert_eq!(batch.num_rows(), 1);
    let value = |field: &Field| match *field {
        Int(name, _) => Int(name, batch[name].as_primitive::<Int32Type>().value(0)),
        Float(name, _) => {
            Float(name, batch[name].as_primitive::<Float32Type>().value(0))
        }
        Double(name, _) => {
            Double(name, batch[name].as_primitive::<Float64Type>().value(0))
        }
    };
    fields.iter().map(value).collect()
}

#[test]
fn every_field_of_the_document_is_read_at_its_position() {
    let log = open(&assembled_log().into());
    assert_eq!(decode_fields(&log, "obd", &OBD), OBD);
    assert_eq!(decode_fields(&log, "gps", &GPS), GPS);
    assert_eq!(decode_fields(&log, "pose", &POSE), POSE);
    let image_fields = [Int("camera", 3), Int("width", 640), Int("height", 480)];
    assert_eq!(decode_fields(&log, "image", &image_fields), image_fields);
    let (read_messages, damage) = messages(&log);
    assert_eq!((read_messages.len(), damage), (5, vec![]));
    assert_eq!(read_messages[4].1[21..], *packets().as_flattened());
    // date -u -d "2010-09-30 13:11:07" +%s
    let fit = log.manifest().clock.to_unix.as_ref().unwrap();
    assert_eq!(fit.offset_nanos, 1_285_852_267_000_000_000 - 11_500_000);
}

#[test]
fn every_field_of_the_document_is_written_at_its_position() {
    let mut options = WriterOptions::default();
    options.seconds = 1;
    let mut log = Writer::new(Cursor::new(Vec::new()), options).unwrap();
    let obd = Obd {
        speed: 101,
        engine_speed: 2_102,
        unused_3: 103.25,
        unused_4: 104,
        unused_5: 105,
        throttle_position: 106.5,
        unused_7: 107,
    };
    let gps = Gps {
        time: [13, 11, 7],
        warning: 1,
        latitude: 50.363_611,
        longitude: 7.558_611,
        speed: 207.5,
        course: 208.25,
        date: [30, 9, 2010],
        quality: 6,
        satellites: 12,
        hdop: 1.25,
        altitude: 112.5,
        geoid_height: 47.75,
        vdop: 1.75,
        pdop: 2.125,
    };
    let pose = Pose {
        quaternion: [0.5, -0.25, 0.75, 0.125],
        acceleration: [301.5, -302.5, 9.75],
    };
    let header = ImageHeader { camera: 3, is_compressed: 1, width: 640, height: 480 };
    log.obd(10.5, obd).unwrap();
    log.gps(11.5, gps).unwrap();
    log.image(12.5, header, b"\xff\xd8\xff\xd9").unwrap();
    log.pose(13.5, pose).unwrap();
    log.packets(14.5, &packets()).unwrap();
    assert_eq!(log.finish().unwrap().into_inner(), assembled_log());
    assert_eq!(Gps::from_data(&data(&GPS)), Some(gps));
    assert_eq!(Pose::from_data(&data(&POSE)), Some(pose));
}

#[test]
fn warning_that_is_neither_0_nor_1_is_reported() {
    let remark_on = |warnings: &[i32]| {
        let mut log =
            Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
        for (warning, millis) in warnings.iter().zip([0.0, 1_000.0, 2_000.0]) {
            log.gps(millis, Gps { warning: *warning, ..Gps::default() }).unwrap();
        }
        let log = open(&log.finish().unwrap().into_inner().into());
        let remarks = log.manifest().remarks.clone();
        remarks.into_iter().find(|text| text.contains("neither 0 nor 1"))
    };
    assert_eq!(remark_on(&[0, 1, 0]), None);
    let remark = "1 GPS message has a warning that is neither 0 nor 1";
    assert_eq!(remark_on(&[0, 703, 1]).as_deref(), Some(remark));
    assert!(remark_on(&[-1, 2, 999]).unwrap().starts_with("3 GPS messages have"));
}

#[test]
fn unknown_major_version_is_reported_and_a_minor_one_is_not() {
    let is_reported = |major: u16, minor: u16| {
        let mut bytes = assembled_log();
        bytes[4..6].copy_from_slice(&major.to_le_bytes());
        bytes[6..8].copy_from_slice(&minor.to_le_bytes());
        let log = open(&bytes.into());
        assert_eq!(messages(&log).0.len(), 5);
        let text = format!("the file has version {major}.{minor} of the format");
        log.manifest().remarks.iter().any(|remark| remark.starts_with(&text))
    };
    assert!(!is_reported(1, 1) && !is_reported(1, 7));
    assert!(is_reported(0, 1) && is_reported(2, 0) && is_reported(0x0100, 0x0100));
}

#[test]
fn message_of_another_version_keeps_its_fields() {
    let mut options = WriterOptions::default();
    options.seconds = 1;
    let mut log = Writer::new(Cursor::new(Vec::new()), options).unwrap();
    let header = Header { validity: VALID, kind: 0x0001_4043, version: 7, millis: 1.0 };
    log.message(header, &[&data(&OBD)]).unwrap();
    let log = open(&log.finish().unwrap().into_inner().into());
    assert_eq!(decode_fields(&log, "obd", &OBD), OBD);
}
