//! Bzip2 streams, one or several in a chunk.

#![deny(clippy::indexing_slicing)]

use bzip2::{Decompress, Status};

use crate::chunk::{Output, Unpacked};

/// How much room is made at a time.
const ROOM: usize = 256 << 10;

/// Unpacks all streams of `packed`.
pub(super) fn unpack(mut packed: &[u8], limit: usize, out: &mut Output) -> Unpacked {
    loop {
        let start = out.used;
        let (how, used) = stream(packed, limit, out);
        if how == Unpacked::Broken {
            // Bytes are given out before their checksum is looked at: none of this
            // stream is sure.
            out.used = start;
        }
        packed = packed.get(used..).unwrap_or_default();
        if how != Unpacked::Whole || !packed.starts_with(b"BZh") {
            return how;
        }
    }
}

/// Unpacks one stream; also says how long it is.
fn stream(packed: &[u8], limit: usize, out: &mut Output) -> (Unpacked, usize) {
    let mut state = Decompress::new(false);
    loop {
        let before = (state.total_in(), state.total_out());
        let input = packed.get(before.0 as usize..).unwrap_or_default();
        if out.used == out.buffer.len() {
            out.make_room(ROOM);
        }
        let room = out.buffer.get_mut(out.used..).unwrap_or_default();
        let status = state.decompress(input, room);
        out.used += (state.total_out() - before.1) as usize;
        let read = state.total_in() as usize;
        if out.used > limit {
            out.used = limit;
            return (Unpacked::OverLimit, read);
        }
        match status {
            Ok(Status::StreamEnd) => return (Unpacked::Whole, read),
            Ok(_) if before != (state.total_in(), state.total_out()) => {}
            Ok(_) => return (Unpacked::Cut, read),
            Err(_) => return (Unpacked::Broken, read),
        }
    }
}
