//! Reads PX4's ULog files, including damaged ones, and writes them.
//!
//! ```text
//! file      magic 55 4c 6f 67 01 12 35 | version u8 | start u64 (µs)      16 bytes
//! message   size u16 | type u8 | size bytes                                little-endian
//!
//! definitions                                    data
//! B  flag bits     8 + 8 bytes, 3 offsets u64    A  subscription   instance u8, id u16, name
//! F  format        name:type field;type field;   R  unsubscription id u16
//! I  information   key length u8, key, value     D  data           id u16, record
//! M  multi info    continued u8, then as I       L  string         level u8, time u64, text
//! P  parameter     as I; int32_t or float        C  tagged string  level u8, tag u16, time, text
//! Q  default       which u8, then as I           S  sync           2f 73 13 20 25 0c bb 12
//!                                                O  dropout        duration u16 (ms)
//! ```
//! (PX4 User Guide, "ULog File Format". I, M, P and Q occur in the data section, too.)
//!
//! # Example
//!
//! ```no_run
//! use std::{fs::File, sync::Arc};
//! use logtool_core::{FileSource, Log as _, OpenOptions, Result};
//! use logtool_ulog::UlogLog;
//!
//! fn main() -> Result<()> {
//!     let source = FileSource::new(File::open("flight.ulg")?)?;
//!     let log = UlogLog::open(Arc::new(source), OpenOptions::default())?;
//!     for topic in &log.manifest().topics {
//!         println!("{:40} {:>8}", topic.label(), topic.records.unwrap_or(0));
//!     }
//!     Ok(())
//! }
//! ```

// In reading order: each module uses only those above it.
mod level;
mod wire;

mod encryption;

mod declarations;
mod events;
mod labels;
mod time;

mod topics;

mod format_state;

mod built_in_topics;
pub mod topic_names;

mod read;

mod excerpt;

mod index;

pub mod write;

mod check;

mod log;
mod options;
mod sink;

mod format;

pub use crate::{
    built_in_topics::EVENT_DEFINITIONS,
    declarations::info_values::release,
    declarations::metadata::{
        FileHeader, Metadata, Parameter, ParameterChange, ParameterValue,
    },
    encryption::{is_encrypted, needs_key},
    events::{Argument, Catalog, Event, RawEvent},
    format::{FORMAT, Ulog},
    labels::msg_dir::read_msg_dir,
    labels::px4::{
        px4_bit_names, px4_bits_of_flags, px4_field_releases, px4_labels,
        px4_value_names, px4_vibration_is_velocity,
    },
    level::Level,
    log::UlogLog,
    options::UlogOptions,
};

#[cfg(feature = "decrypt")]
pub use crate::encryption::{DecryptedSource, PrivateKey};

/// Compiles the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
