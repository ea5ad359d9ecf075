//! Any bytes as an MCAP file: opened, read in all ways, decoded.
//!
//! Input that does not start like one is appended to the first records of a valid file, which
//! declare the types of messages.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use logtool_mcap::Compression;

const MAGIC: &[u8] = b"\x89MCAP0\r\n";

/// The start of a file: its header, and the records of its first chunk.
static HEAD: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let file =
        logtool_fuzz::mcap::sample(Compression::None).expect("a file is written");
    let len = |at: usize| {
        let len = file[at + 1..at + 9].try_into().expect("8 bytes");
        9 + u64::from_le_bytes(len) as usize
    };
    let chunk = MAGIC.len() + len(MAGIC.len());
    [&file[..chunk], &file[chunk + 9 + 40..chunk + len(chunk)]].concat()
});

fuzz_target!(|input: &[u8]| {
    match input.starts_with(MAGIC) {
        true => logtool_fuzz::mcap::check(input),
        false => logtool_fuzz::mcap::check(&[&HEAD, input].concat()),
    }
});
