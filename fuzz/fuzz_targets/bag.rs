//! Any bytes as a bag: opened, read in all ways, decoded.
//!
//! Input that starts with `#` is the file. Other input is appended to the head of a bag without an
//! index and to connections of some types. `LOGTOOL_FUZZ_FILE=x.bag` writes the file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use logtool_fuzz::bag::{laws, make, types::TYPES};

fuzz_target!(|input: &[u8]| {
    let file = match input.first() {
        None | Some(b'#') => input.to_vec(),
        Some(first) => {
            let mut file = make::head(0, 0, 0);
            for id in 0..u32::from(first % 4) {
                let (name, text) = TYPES[id as usize + 7];
                file.extend(make::connection(id, &format!("/{id}"), name, "*", text));
            }
            file.extend(&input[1..]);
            file
        }
    };
    if let Some(path) = std::env::var_os("LOGTOOL_FUZZ_FILE") {
        std::fs::write(path, &file).expect("the file is written");
    }
    laws::check(&file);
});
