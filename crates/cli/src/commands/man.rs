//! `logtool man`: the manual pages.

use std::{io::Write as _, path::Path};

use clap::Command;
use clap_mangen::Man;
use logtool::{
    Error, Result,
    input::STDIN,
    output::guarded_outputs::{self, GuardedOutputs},
    suggest,
};
use logtool_sinks::ExistingFiles;

use crate::{
    args::{self, GlobalArgs, ManArgs},
    exit_status::Outcome,
    terminal,
};

pub(super) fn run(args: &ManArgs, global: &GlobalArgs) -> Result<Outcome> {
    match &args.out {
        Some(dir) if dir.as_os_str() == STDIN => {
            let what = "the pages of all commands are files in a folder";
            let hint = "name a folder with -o, or leave out -o to print one page";
            return Err(Error::invalid_request(what).with_hint(hint));
        }
        Some(dir) => write_all(dir, args.force, global)?,
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

/// Writes the pages of all commands into the folder `dir`.
fn write_all(dir: &Path, replaces: bool, global: &GlobalArgs) -> Result<()> {
    let existing =
        if replaces { ExistingFiles::Replace } else { ExistingFiles::Refuse };
    let outputs = guarded_outputs::for_folder(dir, existing, &global.session)?;
    let mut program = args::program().disable_help_subcommand(true);
    program.build();
    write_pages(&program, &outputs)?;
    outputs.commit()?;
    Ok(())
}

/// Writes the page of `command`, and those of its subcommands.
fn write_pages(command: &Command, outputs: &GuardedOutputs) -> Result<()> {
    let page = Man::new(command.clone());
    let mut file = outputs.create(&page.get_filename())?;
    page.render(&mut file)?;
    file.finish()?;
    let subcommands = command.get_subcommands();
    subcommands
        .filter(|subcommand| !subcommand.is_hide_set())
        .try_for_each(|subcommand| write_pages(subcommand, outputs))
}

/// Returns the command `name`, or the program itself.
fn command(name: Option<&str>) -> Result<Command> {
    let mut program = args::program();
    let Some(name) = name else { return Ok(program) };
    program.build();
    if let Some(command) = program.find_subcommand(name) {
        return Ok(command.clone());
    }
    let names = program.get_subcommands().map(Command::get_name);
    let hint = suggest::hint(name, names, "-o DIR writes the pages of all commands");
    let what = format!("there is no command `{name}`");
    Err(Error::invalid_request(what).with_hint(hint))
}
