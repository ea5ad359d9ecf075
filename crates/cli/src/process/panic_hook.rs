//! The message of a panic.

use std::panic;

use logtool_tables::parquet::catches_panics;

/// Leaves out the messages of panics that are caught. The crate `parquet` may panic on a damaged
/// file, which is reported as damage.
pub fn leave_out_caught_panics() {
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !catches_panics() {
            default(info);
        }
    }));
}
