//! Reads logs of Velodyne lidars and decodes their packets to points.
//!
//! ```text
//! data packet    12 x (flag u16 | azimuth u16, 0.01 deg | 32 x (distance u16 | intensity u8))
//!                time u32, us past the hour | u8 | u8                          1206 bytes
//! flag           eeff lasers 0-31, ddff 32-63, ccff 64-95, bbff 96-127
//! last two       HDL-64E: type and value of a status; others: return mode and product ID
//! .vel           magic a4 56 45 4c | versions 2 x u16 | index u32, n x i64
//!                n x (size u32 | validity u8 | type u32 | version i32 | ms f64 | data)
//! ```
//!
//! [`packet`] parses packets, [`model`] detects which lidar sent them, [`calibration`]
//! describes its lasers, and [`points`] decodes packets to columns of points with one of
//! several formulas. These four modules do not read files. [`vel`] and [`capture`] read
//! logs, and [`lidar`] is the part that they share.
//!
//! # Example
//!
//! ```
//! use bytes::Bytes;
//! use logtool_core::{Block, Columns, Decoder as _, Timestamp, TopicId};
//! use logtool_velodyne::{
//!     calibration::Calibration,
//!     model::{Model, ReturnMode, Sensor},
//!     points::{PointDecoder, PointOptions},
//! };
//!
//! // A packet of a VLP-16 in which one laser measured a distance of 5 m.
//! let mut packet = [0; 1206];
//! packet.chunks_exact_mut(100).for_each(|block| block[..2].copy_from_slice(&[0xff, 0xee]));
//! packet[4..7].copy_from_slice(&[0xc4, 0x09, 100]);
//!
//! let sensor = Sensor { model: Model::Vlp16, returns: ReturnMode::Strongest };
//! let calibration = Calibration::for_model(sensor.model);
//! let (options, columns) = (PointOptions::default(), Columns::default());
//! let mut points = PointDecoder::new(sensor, &calibration, options, &columns)?;
//!
//! let mut block = Block::default();
//! block.reset(Bytes::copy_from_slice(&packet), 0);
//! block.push(TopicId(0), Timestamp::from_nanos(0), 0..1206);
//! block.runs().for_each(|run| points.append(run, &mut vec![]));
//! let batch = points.take()?;
//! assert_eq!(batch.num_rows(), 1);
//! println!("{batch:?}");
//! # Ok::<(), logtool_core::Error>(())
//! ```

// In reading order: each module uses only those above it.
mod changed_file;
mod hour;

pub mod packet;

pub mod model;

pub mod calibration;

pub mod points;

pub mod lidar;

/// The name of the topics of data packets.
pub const PACKETS_TOPIC: &str = "velodyne_packets";

/// The name of the topics of the points that are computed from data packets.
pub const POINTS_TOPIC: &str = "points";

mod anomaly;
mod clock_fit;
mod packet_columns;
mod ros_scans;
mod rows;

pub mod vel;

pub mod capture;

/// The example of the README, compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
