//! The trait of outputs that log writers write to.

use std::{
    fs::File,
    io::{self, Cursor, Seek, Write},
};

/// Where the bytes of a new log go.
pub trait Output: Write + Seek + Send {
    /// Writes all of `bytes`, and leaves them empty: who writes later what it is given may keep
    /// their memory until then, and gives other in its place. By itself, it writes and clears
    /// them.
    fn write_owned(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        self.write_all(bytes)?;
        bytes.clear();
        Ok(())
    }
}

impl Output for File {}

impl Output for Cursor<Vec<u8>> {}

impl Output for Cursor<&mut Vec<u8>> {}

impl<O: Output + ?Sized> Output for &mut O {
    fn write_owned(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        (**self).write_owned(bytes)
    }
}

impl<O: Output + ?Sized> Output for Box<O> {
    fn write_owned(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        (**self).write_owned(bytes)
    }
}
