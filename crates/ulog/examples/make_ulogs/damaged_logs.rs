//! Damaged logs.

use std::io::Cursor;

use logtool_core::Result;
use logtool_ulog::write::Writer;

/// The size of a block that a memory card may lose.
const SECTOR: usize = 512;

const HARDFAULT: &str = "\
[hardfault_log] HARD FAULT 2024-06-01-10:00:15
fault: hard fault, forced (HFSR 0x40000000, CFSR 0x00008200, BFAR 0xdeadbeef)
task: wq:rate_ctrl, stack base 0x20020a38, size 1896
r0 0x00000000 r1 0x20021f80 r2 0x00000001 r3 0xdeadbeef
r4 0x2002f3c0 r5 0x00000000 r6 0x20021f98 r7 0x20020fd8
r8 0x00000000 r9 0x00000000 r10 0x00000000 r11 0x00000000
ip 0x00000000 sp 0x20020fd8 lr 0x080a51cf pc 0x080a4c1e xpsr 0x21000000
";

/// Truncates the log within its last message, and appends the crash dump in three
/// parts.
pub(crate) fn append_crash_dump(mut log: Vec<u8>) -> Result<Vec<u8>> {
    log.truncate(log.len() - 10);
    let mut text = String::from(HARDFAULT);
    for address in (0x2002_0fd8_u32..).step_by(32).take(24) {
        let words = [address / 3, address, address / 7, 0x080a_4c1e];
        text += &format!("stack {address:#010x}:");
        for word in words {
            text += &format!(" {word:08x} {:08x}", word.wrapping_mul(2_654_435_761));
        }
        text.push('\n');
    }
    let mut log = Writer::append(Cursor::new(log))?;
    log.info_multiple_text("hardfault_plain", &text)?;
    Ok(log.finish()?.into_inner())
}

/// Zeros a sector in the middle.
pub(crate) fn without_a_sector(mut log: Vec<u8>) -> Vec<u8> {
    let sectors = log.len() / SECTOR;
    if let Some(sector) = log.chunks_mut(SECTOR).nth(sectors / 2) {
        sector.fill(0);
    }
    log
}
