//! Any bytes as a ULog: opened, read in all ways, decoded, and rewritten if it is undamaged.
//!
//! Input that starts with `U` is the file. The first byte of other input selects valid definitions,
//! and the rest is data. `LOGTOOL_FUZZ_FILE=x.ulg` writes that file.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let file = logtool_fuzz::file(input);
    if let Some(path) = std::env::var_os("LOGTOOL_FUZZ_FILE") {
        std::fs::write(path, &file).expect("the file is written");
    }
    logtool_fuzz::check(&file);
});
