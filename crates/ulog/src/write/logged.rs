//! What is logged besides records: the messages `L`, `C`, `O` and `S`.

use std::io::Write;

use logtool_core::{Error, ErrorKind, Result};

use crate::{
    level::Level,
    wire::{SYNC, kind},
    write::{Writer, message},
};

/// How far marks are apart: PX4 writes them at 2 Hz.
const SYNC_INTERVAL_MICROS: u64 = 500_000;

impl<W: Write> Writer<W> {
    /// Writes a line that somebody printed.
    ///
    /// # Errors
    ///
    /// `Unsupported` if the level is not one of 0 to 7, `Limit` if the text is too
    /// long, `Io` if writing fails.
    pub fn string(&mut self, level: Level, time_micros: u64, text: &str) -> Result<()> {
        let level = level_digit(level)?;
        self.put_text(kind::STRING, &[level], time_micros, text)
    }

    /// Writes a line that somebody printed, and whose it is.
    ///
    /// # Errors
    ///
    /// As [`string`](Self::string).
    pub fn tagged_string(
        &mut self,
        level: Level,
        tag: u16,
        time_micros: u64,
        text: &str,
    ) -> Result<()> {
        let [tag_low, tag_high] = tag.to_le_bytes();
        let head = [level_digit(level)?, tag_low, tag_high];
        self.put_text(kind::TAGGED_STRING, &head, time_micros, text)
    }

    /// Says that nothing was logged for this long, because writing was too slow.
    ///
    /// # Errors
    ///
    /// `Io` if writing fails.
    pub fn dropout(&mut self, millis: u16) -> Result<()> {
        self.put(kind::DROPOUT, &[&millis.to_le_bytes()])
    }

    /// Writes a mark by which a reader finds its way after damage.
    ///
    /// Records and lines bring one along twice a second anyway.
    ///
    /// # Errors
    ///
    /// `Io` if writing fails.
    pub fn sync(&mut self) -> Result<()> {
        self.put(kind::SYNC, &[&SYNC])
    }

    /// Writes a mark if the last one is half a second away, in either direction.
    pub(super) fn sync_if_due(&mut self, time_micros: u64) -> Result<()> {
        let near = |last: u64| time_micros.abs_diff(last) < SYNC_INTERVAL_MICROS;
        if self.last_sync_micros.is_some_and(near) {
            return Ok(());
        }
        self.last_sync_micros = Some(time_micros);
        self.sync()
    }

    fn put_text(
        &mut self,
        kind: u8,
        head: &[u8],
        time_micros: u64,
        text: &str,
    ) -> Result<()> {
        let parts = [head, &time_micros.to_le_bytes(), text.as_bytes()];
        message::checked_len(kind, &parts)?;
        self.sync_if_due(time_micros)?;
        self.put(kind, &parts)
    }
}

fn level_digit(level: Level) -> Result<u8> {
    match level.number() {
        number @ 0..=7 => Ok(b'0' + number),
        number => {
            let what = format!("a line of level {number}; a log has 0 to 7");
            Err(Error::new(ErrorKind::Unsupported, what))
        }
    }
}
