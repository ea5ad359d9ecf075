//! Strings, dropouts and sync messages: the messages `L`, `C`, `O` and `S`.

use std::io::Write;

use logtool_core::{Error, ErrorKind, Result};

use crate::{
    level::Level,
    wire::{SYNC, kind},
    write::{Writer, message},
};

/// The interval of sync messages. PX4 writes them at 2 Hz.
const SYNC_INTERVAL_MICROS: u64 = 500_000;

impl<W: Write> Writer<W> {
    /// Writes a logged string.
    ///
    /// # Errors
    ///
    /// `Unsupported` if the level is not between 0 and 7, `Limit` if the string is too
    /// long, `Io` if writing fails.
    pub fn string(&mut self, level: Level, time_micros: u64, text: &str) -> Result<()> {
        let level = level_digit(level)?;
        self.write_text(kind::STRING, &[level], time_micros, text)
    }

    /// Writes a logged string with a tag that identifies its origin.
    ///
    /// # Errors
    ///
    /// Like [`string`](Self::string).
    pub fn tagged_string(
        &mut self,
        level: Level,
        tag: u16,
        time_micros: u64,
        text: &str,
    ) -> Result<()> {
        let [tag_low, tag_high] = tag.to_le_bytes();
        let prefix = [level_digit(level)?, tag_low, tag_high];
        self.write_text(kind::TAGGED_STRING, &prefix, time_micros, text)
    }

    /// Writes a dropout: nothing was logged for `millis` milliseconds, because writing
    /// was too slow.
    ///
    /// # Errors
    ///
    /// `Io` if writing fails.
    pub fn dropout(&mut self, millis: u16) -> Result<()> {
        self.write_message(kind::DROPOUT, &[&millis.to_le_bytes()])
    }

    /// Writes a sync message, from which readers can continue after damage.
    ///
    /// Records and strings already add one twice per second.
    ///
    /// # Errors
    ///
    /// `Io` if writing fails.
    pub fn sync(&mut self) -> Result<()> {
        self.write_message(kind::SYNC, &[&SYNC])
    }

    /// Writes a sync message if the time of the last one is half a second away, in
    /// either direction.
    pub(super) fn sync_if_due(&mut self, time_micros: u64) -> Result<()> {
        let is_recent = |last: u64| time_micros.abs_diff(last) < SYNC_INTERVAL_MICROS;
        if self.last_sync_micros.is_some_and(is_recent) {
            return Ok(());
        }
        self.last_sync_micros = Some(time_micros);
        self.sync()
    }

    fn write_text(
        &mut self,
        kind: u8,
        prefix: &[u8],
        time_micros: u64,
        text: &str,
    ) -> Result<()> {
        let parts = [prefix, &time_micros.to_le_bytes(), text.as_bytes()];
        message::checked_len(kind, &parts)?;
        self.sync_if_due(time_micros)?;
        self.write_message(kind, &parts)
    }
}

fn level_digit(level: Level) -> Result<u8> {
    match level.number() {
        number @ 0..=7 => Ok(b'0' + number),
        number => {
            let message = format!(
                "a string cannot have the level {number}; the levels are 0 to 7"
            );
            Err(Error::new(ErrorKind::Unsupported, message))
        }
    }
}
