//! The trait of outputs that log writers write to.

use std::{
    fs::File,
    io::{self, Cursor, Seek, Write},
};

/// An output to which the bytes of a new log are written.
pub trait Output: Write + Seek + Send {
    /// Writes all of `bytes`, and leaves an empty buffer there. An output that writes in
    /// the background can take the buffer and put an empty one in its place, which avoids
    /// a copy. The default writes the bytes and clears the buffer.
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
