//! Any bytes as a CSV file: opened, read in all ways, decoded.
//!
//! Input that starts with `#` is the file without it. Other input is the rows after a first line with a
//! time column.

#![no_main]

use libfuzzer_sys::fuzz_target;
use logtool_tables::csv::FORMAT;

fuzz_target!(|input: &[u8]| match input.strip_prefix(b"#") {
    Some(file) => logtool_fuzz::table::check(&FORMAT, file),
    None => {
        let file = [b"time,x[0],x[1],note\n", input].concat();
        logtool_fuzz::table::check(&FORMAT, &file);
    }
});
