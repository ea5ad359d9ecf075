//! An example of a log format: NMEA 0183 sentences, as GPS receivers write them.
//!
//! Each type of sentence (`GPGGA`, `GPRMC`, ...) is a topic. Times are UTC, in nanoseconds.
//!
//! ```
//! use std::sync::Arc;
//!
//! use bytes::Bytes;
//! use logtool_core::{Format, OpenOptions};
//!
//! let bytes = Bytes::from_static(b"$GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W*6A\r\n");
//! let log = format_nmea::FORMAT.open(Arc::new(bytes), OpenOptions::default())?;
//! assert_eq!(log.manifest().topics[0].name, "GPRMC");
//! # Ok::<(), logtool_core::Error>(())
//! ```

mod sentence;

mod decode;

mod log;

mod manifest;

use std::sync::Arc;

use logtool_core::{
    Error, ErrorKind, Format, Log, Manifest, MatchConfidence, OpenOptions, Result,
    Source,
};

use crate::{log::NmeaLog, sentence::Line};

/// The format, for lists of formats.
pub const FORMAT: Nmea = Nmea;

/// NMEA 0183.
#[derive(Clone, Copy, Debug)]
pub struct Nmea;

const NAME: &str = "nmea";

impl Format for Nmea {
    fn name(&self) -> &'static str {
        NAME
    }

    fn probe(&self, _name: &str, head: &[u8]) -> MatchConfidence {
        match Line::parse(head) {
            Line::Sentence { .. } => MatchConfidence::Certain,
            Line::Garbled { .. } | Line::Partial => MatchConfidence::No,
        }
    }

    fn requires_full_scan(&self) -> bool {
        true
    }

    fn open(
        &self,
        source: Arc<dyn Source>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        let manifest = manifest::build(&source, options)?;
        self.open_with_manifest(source, Arc::new(manifest), options)
    }

    fn open_with_manifest(
        &self,
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        if manifest.format != NAME {
            let message = format!("the manifest is of a {} log", manifest.format);
            return Err(Error::new(ErrorKind::Malformed, message));
        }
        Ok(Box::new(NmeaLog { source, manifest, options }))
    }
}
