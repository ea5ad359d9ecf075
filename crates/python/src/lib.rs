//! The native part of the Python module `logtool`.
//!
//! The classes are thin: they hold values of the library, translate arguments and errors, and
//! release the GIL while the library works. What needs no Rust is in Python, next to it.

// Python calls the items of this module, not Rust.
#![allow(missing_debug_implementations, unreachable_pub)]

mod arguments;
mod command;
mod damage;
mod error;
mod jobs;
mod log;
mod merged_table;
mod runtime;
mod split;
mod table;
mod writer;

use pyo3::prelude::*;

/// The native part of the module `logtool`.
#[pymodule(gil_used = false)]
mod _logtool {
    #[pymodule_export]
    use crate::{
        command::run_command,
        damage::Damage,
        jobs::{
            Alignment, BatchReport, Report, start_align, start_batch, start_convert,
            start_filter, start_index, start_merge, start_repair,
            start_table_assignment, start_table_survey,
        },
        log::{
            Log,
            messages::{Message, Messages},
            open,
            plot::Plot,
            topic::Topic,
        },
        merged_table::{MergedTable, merge_asof},
        runtime::job::Job,
        split::{Split, plan, read},
        table::{Batch, Batches, Table, numpy::NumberBuffer, schema::Schema},
        writer::Writer,
    };

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::runtime::allocator::shorten_purge_delay();
        logtool_cli::leave_out_caught_panics();
        crate::runtime::call::remember_main_thread(module.py())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
