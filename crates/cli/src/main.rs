//! The program `logtool`.

use std::{env, process};

fn main() {
    process::exit(logtool_cli::run(env::args_os()))
}
