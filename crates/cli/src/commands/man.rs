//! `logtool man`: the manual pages.

use std::{fs, io::Write as _};

use anyhow::{Context as _, Result};
use clap::CommandFactory as _;
use clap_mangen::Man;

use crate::{
    args::{Args, ManArgs},
    outcome::Outcome,
    terminal,
};

pub(super) fn run(args: &ManArgs) -> Result<Outcome> {
    match &args.dir {
        Some(dir) => {
            fs::create_dir_all(dir)
                .and_then(|()| clap_mangen::generate_to(Args::command(), dir))
                .with_context(|| dir.display().to_string())?;
        }
        None => {
            let mut page = Vec::new();
            Man::new(Args::command()).render(&mut page)?;
            let mut out = terminal::stdout();
            out.write_all(&page)?;
            out.flush()?;
        }
    }
    Ok(Outcome::Done)
}
