//! The process of the command: its memory, open and mapped files, and signals.

pub(crate) mod file_size;
pub(crate) mod files;
pub(crate) mod interrupt;
pub(crate) mod malloc;
pub(crate) mod open_files;
pub(crate) mod panic_hook;
