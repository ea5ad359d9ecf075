//! `logtool man`: the manual pages.

use std::{fs, io::Write as _};

use clap_mangen::Man;
use logtool::{Error, Result, error::Context as _, input::STDIN, suggest};

use crate::{
    args::{self, ManArgs},
    exit_status::Outcome,
    terminal,
};

pub(super) fn run(args: &ManArgs) -> Result<Outcome> {
    match &args.out {
        Some(dir) if dir.as_os_str() == STDIN => {
            let what = "the pages of all commands are files in a folder";
            let hint = "name a folder with -o, or leave out -o to print one page";
            return Err(Error::invalid_request(what).with_hint(hint));
        }
        Some(dir) => {
            fs::create_dir_all(dir)
                .and_then(|()| clap_mangen::generate_to(args::program(), dir))
                .with_context(|| {
                    format!("cannot write manual pages to {}", dir.display())
                })?;
        }
        None => {
            let mut page = Vec::new();
            Man::new(command(args.command.as_deref())?).render(&mut page)?;
            let mut out = terminal::stdout();
            out.write_all(&page)?;
            out.flush()?;
        }
    }
    Ok(Outcome::Done)
}

/// Returns the command `name`, or the program itself.
fn command(name: Option<&str>) -> Result<clap::Command> {
    let mut program = args::program();
    let Some(name) = name else { return Ok(program) };
    program.build();
    if let Some(command) = program.find_subcommand(name) {
        return Ok(command.clone());
    }
    let names = program.get_subcommands().map(clap::Command::get_name);
    let hint = suggest::hint(name, names, "-o DIR writes the pages of all commands");
    let what = format!("there is no command `{name}`");
    Err(Error::invalid_request(what).with_hint(hint))
}
