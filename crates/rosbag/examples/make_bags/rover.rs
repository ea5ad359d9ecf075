//! The recording of a rover that drives a circle with a radius of 5 m in 10 s.

use std::{f64::consts::TAU, io::Cursor};

use logtool_core::{Output, Result, Timestamp};
use logtool_rosbag::{
    Compression, ConnectionHandle, ConnectionHeader, Writer, WriterOptions,
};
use logtool_rosmsg::resolve_definition;

use super::message::{Message, Stamp};

/// 2024-06-01 10:00:00 UTC.
const START: i64 = 1_717_236_000_000_000_000;
/// The delay between the stamp of a message and its time in the bag, in nanoseconds.
const LATENCY: i64 = 2_345_678;
/// The duration of a step of the simulation in nanoseconds: a hundredth of a second.
const STEP_NANOS: i64 = 10_000_000;
/// The number of steps of the whole drive.
const STEPS: i64 = 1_000;

/// Returns the bag of the whole drive, compressed with LZ4.
pub(crate) fn bag() -> Result<Vec<u8>> {
    let options = WriterOptions::default()
        .with_compression(Compression::Lz4)
        .with_chunk_bytes(32 << 10);
    let mut drive = Drive::start(Writer::new(Cursor::new(Vec::new()), options)?)?;
    (0..STEPS).try_for_each(|step| drive.simulate_step(step))?;
    Ok(drive.bag.finish()?.into_inner())
}

/// Returns the bag of a recorder that was killed after 4 s: it has no index, and the end of the
/// last chunk is missing.
pub(crate) fn bag_of_a_killed_recorder() -> Result<Vec<u8>> {
    let mut file = Cursor::new(Vec::new());
    let options = WriterOptions::default().with_chunk_bytes(16 << 10);
    let mut drive = Drive::start(Writer::new(&mut file, options)?)?;
    (0..STEPS * 2 / 5).try_for_each(|step| drive.simulate_step(step))?;
    drop(drive);
    let mut bytes = file.into_inner();
    bytes.truncate(bytes.len() - 4_321);
    Ok(bytes)
}

/// The recorder, and its connections.
struct Drive<W> {
    bag: Writer<W>,
    imu: ConnectionHandle,
    fix: ConnectionHandle,
    scan: ConnectionHandle,
    points: ConnectionHandle,
    image: ConnectionHandle,
    diagnostics: ConnectionHandle,
    map: ConnectionHandle,
    /// Two nodes publish on one topic.
    tf: [ConnectionHandle; 2],
}

impl<W: Output> Drive<W> {
    fn start(mut bag: Writer<W>) -> Result<Self> {
        let header = |topic: &str, type_name: &str, caller: &str| -> Result<_> {
            let common = resolve_definition(type_name, "*", "")?.definition.text();
            Ok(ConnectionHeader::new(topic, type_name, &common).with_caller(caller))
        };
        let tf = |caller| header("/tf", "tf2_msgs/TFMessage", caller);
        Ok(Self {
            imu: bag.connect(&header("/imu/data", "sensor_msgs/Imu", "/imu")?)?,
            fix: bag.connect(&header("/gps/fix", "sensor_msgs/NavSatFix", "/gps")?)?,
            scan: bag.connect(&header("/scan", "sensor_msgs/LaserScan", "/laser")?)?,
            points: bag.connect(&header(
                "/points",
                "sensor_msgs/PointCloud2",
                "/lidar",
            )?)?,
            image: bag.connect(&header(
                "/camera/image_raw",
                "sensor_msgs/Image",
                "/camera",
            )?)?,
            diagnostics: bag.connect(&header(
                "/diagnostics",
                "diagnostic_msgs/DiagnosticArray",
                "/monitor",
            )?)?,
            map: bag.connect(
                &header("/map", "nav_msgs/OccupancyGrid", "/map_server")?
                    .with_latching(),
            )?,
            tf: [bag.connect(&tf("/odometry")?)?, bag.connect(&tf("/localizer")?)?],
            bag,
        })
    }

    /// Simulates a step, and records its messages.
    fn simulate_step(&mut self, step: i64) -> Result<()> {
        let stamp = Stamp(START + step * STEP_NANOS);
        let turn = step as f64 / STEPS as f64 * TAU;
        let every = |n: i64| (step % n == 0).then_some((step / n) as u32);
        let mut write = |connection: ConnectionHandle, message: Message| {
            let time = Timestamp::from_nanos(stamp.0 + LATENCY);
            self.bag.write(connection, time, &message.0)
        };
        if step == 0 {
            write(self.map, map(stamp))?;
        }
        if let Some(number) = every(4) {
            write(self.imu, imu(number, stamp, turn))?;
        }
        if let Some(number) = every(10) {
            write(self.tf[number as usize % 2], transform(number, stamp, turn))?;
        }
        if let Some(number) = every(20) {
            write(self.fix, fix(number, stamp, turn))?;
            write(self.scan, scan(number, stamp, turn))?;
        }
        if let Some(number) = every(50) {
            write(self.points, points(number, stamp, turn))?;
        }
        if let Some(number) = every(100) {
            write(self.image, image(number, stamp))?;
            write(self.diagnostics, diagnostics(number, stamp))?;
        }
        Ok(())
    }
}

/// Returns a rotation about the vertical axis as a quaternion.
fn heading(turn: f64) -> [f64; 4] {
    [0.0, 0.0, (turn / 2.0).sin(), (turn / 2.0).cos()]
}

fn imu(number: u32, stamp: Stamp, turn: f64) -> Message {
    let speed = TAU / 10.0;
    let shake = (f64::from(number) * 0.7).sin() * 0.02;
    Message::with_stamp(number, stamp, "imu_link")
        .f64s(&heading(turn))
        .f64s(&[0.0; 9])
        .f64s(&[shake / 10.0, -shake / 10.0, speed])
        .f64s(&[0.0; 9])
        .f64s(&[shake, 5.0 * speed * speed, 9.81 + shake])
        .f64s(&[0.0; 9])
}

fn fix(number: u32, stamp: Stamp, turn: f64) -> Message {
    let (north, east) = (5.0 * turn.sin(), 5.0 * turn.cos());
    let degrees_per_meter = 1.0 / 111_320.0;
    Message::with_stamp(number, stamp, "gps")
        .u8(0)
        .u16(1)
        .f64s(&[
            49.45 + north * degrees_per_meter,
            11.08 + east * degrees_per_meter / 0.65,
            312.5,
        ])
        .f64s(&[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 4.0])
        .u8(2)
}

/// A scan of a square room from inside. The beam through the door has no echo.
fn scan(number: u32, stamp: Stamp, turn: f64) -> Message {
    let beams = 36;
    let step = TAU / f64::from(beams);
    let range = |beam: i32| {
        let angle = turn + f64::from(beam) * step;
        let wall = 8.0 / angle.cos().abs().max(angle.sin().abs());
        if beam == 7 { f32::INFINITY } else { wall as f32 }
    };
    let ranges: Vec<f32> = (0..beams).map(range).collect();
    let increment = step as f32;
    let parameters = [0.0, increment * 35.0, increment, 0.2 / 36.0, 0.2, 0.1, 30.0];
    Message::with_stamp(number, stamp, "laser")
        .f32s(&parameters)
        .u32(beams as u32)
        .f32s(&ranges)
        .u32(0)
}

/// A ring of 24 points around the rover.
fn points(number: u32, stamp: Stamp, turn: f64) -> Message {
    const FLOAT32: u8 = 7;
    const UINT16: u8 = 4;
    const FIELDS: [(&str, u32, u8); 5] = [
        ("x", 0, FLOAT32),
        ("y", 4, FLOAT32),
        ("z", 8, FLOAT32),
        ("intensity", 12, FLOAT32),
        ("ring", 16, UINT16),
    ];
    let (count, step) = (24_u32, 18);
    let mut cloud =
        Message::with_stamp(number, stamp, "lidar").u32(1).u32(count).u32(5);
    for (name, offset, datatype) in FIELDS {
        cloud = cloud.text(name).u32(offset).u8(datatype).u32(1);
    }
    let mut data = Message::default();
    for point in 0..count {
        let angle = turn + f64::from(point) / f64::from(count) * TAU;
        let position = [6.0 * angle.cos() as f32, 6.0 * angle.sin() as f32, 0.5];
        data = data.f32s(&position).f32s(&[point as f32]).u16(point as u16 % 4);
    }
    cloud.u8(0).u32(step).u32(step * count).list(&data.0).u8(1)
}

/// A color image of 32 × 24 pixels with a moving stripe.
fn image(number: u32, stamp: Stamp) -> Message {
    let (width, height) = (32, 24);
    let pixel = |x: u32| if x / 4 == number % 8 { [255, 160, 0] } else { [20, 40, 80] };
    let row: Vec<u8> = (0..width).flat_map(pixel).collect();
    Message::with_stamp(number, stamp, "camera")
        .u32(height)
        .u32(width)
        .text("rgb8")
        .u8(0)
        .u32(3 * width)
        .list(&row.repeat(height as usize))
}

/// Diagnostics of a battery that gets low during the drive.
fn diagnostics(number: u32, stamp: Stamp) -> Message {
    let (level, text) = if number < 7 { (0, "good") } else { (1, "low") };
    Message::with_stamp(number, stamp, "")
        .u32(1)
        .u8(level)
        .text("battery")
        .text(text)
        .text("BAT-1")
        .u32(1)
        .text("charge")
        .text(&format!("{} %", 40 - 3 * number))
}

fn map(stamp: Stamp) -> Message {
    let cells: Vec<u8> =
        (0..100).map(|cell| if cell % 9 == 0 { 100 } else { 0 }).collect();
    Message::with_stamp(0, stamp, "map")
        .time(stamp)
        .f32s(&[0.5])
        .u32(10)
        .u32(10)
        .f64s(&[-2.5, -2.5, 0.0, 0.0, 0.0, 0.0, 1.0])
        .list(&cells)
}

fn transform(number: u32, stamp: Stamp, turn: f64) -> Message {
    let (parent, child) =
        if number.is_multiple_of(2) { ("odom", "base_link") } else { ("map", "odom") };
    let position = [5.0 * turn.cos(), 5.0 * turn.sin(), 0.0];
    let header = Message::with_stamp(number, stamp, parent).0;
    Message::default()
        .u32(1)
        .bytes(&header)
        .text(child)
        .f64s(&position)
        .f64s(&heading(turn))
}
