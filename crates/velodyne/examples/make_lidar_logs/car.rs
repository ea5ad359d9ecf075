//! Generates a `.vel` log: two seconds of a car with an HDL-64E S2.

use std::io::Cursor;

use logtool_core::Result;
use logtool_velodyne::vel::{
    Gps, Header, ImageHeader, Obd, Pose, VALID, VERSION, Writer, WriterOptions, kind,
};

use crate::files::packet::{Packet, packet};

/// The microseconds past the hour on the clock of the lidar when the clock of the program was
/// zero.
const MICROS_AT_START: u32 = 3_599_000_000;

/// An image of 8 x 8 pixels.
const IMAGE: &[u8] = include_bytes!("picture.jpg");

/// Returns the log.
pub(crate) fn log() -> Result<Vec<u8>> {
    let mut options = WriterOptions::default();
    options.seconds = 2;
    let mut log = Writer::new(Cursor::new(Vec::new()), options)?;
    for step in 0..20_u32 {
        let millis = 500.0 + 100.0 * f64::from(step);
        let angle = 0.01 * step as f32;
        log.pose(
            millis,
            Pose {
                quaternion: [1.0 - angle * angle / 2.0, 0.001, 0.002, angle],
                acceleration: [0.1, 0.0, 9.81],
            },
        )?;
        if step % 10 == 1 {
            let second = 7 + step as i32 / 10;
            log.obd(
                millis + 3.0,
                Obd { speed: 42, engine_speed: 1900, ..Obd::default() },
            )?;
            log.gps(
                millis + 13.0,
                Gps {
                    time: [13, 11, second],
                    date: [30, 9, 2010],
                    latitude: 50.363_611,
                    longitude: 7.558_611,
                    speed: 42.0,
                    quality: 1,
                    satellites: 8,
                    altitude: 112.5,
                    ..Gps::default()
                },
            )?;
        }
        if step % 5 == 2 {
            let header =
                ImageHeader { camera: 1, is_compressed: 1, width: 8, height: 8 };
            log.image(millis + 20.0, header, IMAGE)?;
        }
        if step % 4 == 3 {
            log.packets(millis + 50.0, &packets(millis + 50.0))?;
        }
    }
    let unknown_type =
        Header { validity: VALID, kind: 0x0001_2345, version: 3, millis: 2_410.0 };
    log.message(unknown_type, &[b"nobody knows"])?;
    let invalid_pose =
        Header { validity: 0, kind: kind::POSE, version: VERSION, millis: 2_420.0 };
    log.message(invalid_pose, &[&[0; 28]])?;
    log.packets(2_450.0, &packets(2_450.0))?;
    Ok(log.finish()?.into_inner())
}

/// Returns the six packets that arrived last before this time.
fn packets(millis: f64) -> [Packet; 6] {
    let last = MICROS_AT_START + (millis * 1_000.0) as u32;
    [5, 4, 3, 2, 1, 0].map(|packets_after| {
        let micros = last - 288 * packets_after;
        // Ten rotations per second: 0.36 hundredths of a degree per microsecond.
        let angle = (u64::from(micros) * 36 / 100) as u32;
        let mut blocks = [(0xeeff, 0); 12];
        for (index, block) in (0..).zip(&mut blocks) {
            let flag = if index % 2 == 0 { 0xeeff } else { 0xddff };
            *block = (flag, angle + 17 * (index / 2));
        }
        let status_type = b"HMSDNYGTV1234567"[micros as usize / 288 % 16];
        packet(blocks, micros % 3_600_000_000, [status_type, 13])
    })
}
