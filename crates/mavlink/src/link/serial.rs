//! Serial ports of Unix.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    termios::{ControlModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr},
};

/// A serial port that passes bytes unchanged.
#[derive(Debug)]
pub(super) struct SerialPort(File);

impl SerialPort {
    /// Opens the port at `path` with a speed in bauds.
    pub(super) fn open(path: &Path, baud: u32) -> io::Result<Self> {
        // Without these flags, the call may wait for a modem, and Ctrl-C on the line would end the
        // program.
        let flags = OFlags::NOCTTY | OFlags::NONBLOCK;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(flags.bits().cast_signed())
            .open(path)?;
        let mut settings = tcgetattr(&file)?;
        settings.make_raw();
        settings.control_modes |= ControlModes::CLOCAL | ControlModes::CREAD;
        settings.set_speed(baud)?;
        // A read returns after 0.1 seconds without bytes.
        settings.special_codes[SpecialCodeIndex::VMIN] = 0;
        settings.special_codes[SpecialCodeIndex::VTIME] = 1;
        tcsetattr(&file, OptionalActions::Flush, &settings)?;
        fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
        Ok(Self(file))
    }

    /// Reads bytes. Returns 0 if no byte arrives within 0.1 seconds.
    pub(super) fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }

    /// Writes all bytes.
    pub(super) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }
}
