//! Any bytes as a Parquet file: opened, read in all ways, decoded.

#![no_main]

use libfuzzer_sys::fuzz_target;
use logtool_tables::parquet::FORMAT;

fuzz_target!(|input: &[u8]| logtool_fuzz::table::check(&FORMAT, input));
