//! Decompresses every chunk of a bag without reading its records: `unpack_bare BAG`. No single-threaded
//! reader can be faster.

use std::{error::Error, fs, io::Read as _};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: unpack_bare BAG")?;
    let bag = fs::read(path)?;
    let (mut at, mut total, mut buffer) = (13, 0, Vec::new());
    while let Some((fields, data, end)) = record(&bag, at) {
        at = end;
        if contains(fields, b"op=\x05") {
            buffer.clear();
            if contains(fields, b"compression=bz2") {
                bzip2::read::BzDecoder::new(data).read_to_end(&mut buffer)?;
            } else if contains(fields, b"compression=lz4") {
                lz4_flex::frame::FrameDecoder::new(data).read_to_end(&mut buffer)?;
            }
            total += buffer.len();
        }
    }
    println!("{total} bytes");
    Ok(())
}

fn contains(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}

/// Returns the fields and the data of the record at `at`, and its end.
fn record(bag: &[u8], at: usize) -> Option<(&[u8], &[u8], usize)> {
    let part = |at: usize| {
        let len = u32::from_le_bytes(*bag.get(at..)?.first_chunk()?) as usize;
        Some((bag.get(at + 4..at + 4 + len)?, at + 4 + len))
    };
    let (fields, at) = part(at)?;
    let (data, at) = part(at)?;
    Some((fields, data, at))
}
