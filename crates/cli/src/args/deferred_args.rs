//! Options that are built only for the command that is run: building those of all commands takes
//! longer than anything else at the start of the program.

use std::ops::{Deref, DerefMut};

use clap::{ArgMatches, Args, Command, CommandFactory as _, Error, FromArgMatches};

use crate::args::{
    AlignArgs, BatchArgs, CalibrationArgs, CatArgs, CheckArgs, CompletionsArgs,
    ConvertArgs, FilterArgs, FlightArgs, FormatsArgs, GeotagArgs, GpsDumpArgs,
    HelpArgs, IndexArgs, InfoArgs, ManArgs, MergeArgs, MessagesArgs, ParamsArgs,
    PlanArgs, PlotArgs, ReadArgs, RecordingArgs, RepairArgs, ReplayLogArgs, ReportArgs,
    SchemaArgs,
};

/// The arguments of a command that clap builds when it needs them.
#[derive(Debug)]
pub(crate) struct DeferredArgs<T>(T);

impl<T> Deref for DeferredArgs<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for DeferredArgs<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Args> Args for DeferredArgs<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(T::augment_args)
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(T::augment_args_for_update)
    }
}

impl<T: FromArgMatches> FromArgMatches for DeferredArgs<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

/// Returns the program with the options of all commands.
pub(crate) fn with_all_options() -> Command {
    super::Args::command().mut_subcommands(with_options)
}

/// Returns `command`, a command of the program, with its options.
pub(crate) fn with_options(command: Command) -> Command {
    let Some(add_options) = options_of(command.get_name()) else { return command };
    // Otherwise clap would add them again.
    add_options(command.defer(|command| command))
}

/// Returns the function that adds the options of the command `name`.
fn options_of(name: &str) -> Option<fn(Command) -> Command> {
    Some(match name {
        "align" => AlignArgs::augment_args,
        "batch" => BatchArgs::augment_args,
        "calibration" => CalibrationArgs::augment_args,
        "cat" => CatArgs::augment_args,
        "check" => CheckArgs::augment_args,
        "completions" => CompletionsArgs::augment_args,
        "convert" => ConvertArgs::augment_args,
        "filter" => FilterArgs::augment_args,
        "flight" => FlightArgs::augment_args,
        "geotag" => GeotagArgs::augment_args,
        "formats" => FormatsArgs::augment_args,
        "gps-dump" => GpsDumpArgs::augment_args,
        "help" => HelpArgs::augment_args,
        "index" => IndexArgs::augment_args,
        "info" => InfoArgs::augment_args,
        "man" => ManArgs::augment_args,
        "merge" => MergeArgs::augment_args,
        "messages" => MessagesArgs::augment_args,
        "params" => ParamsArgs::augment_args,
        "plan" => PlanArgs::augment_args,
        "plot" => PlotArgs::augment_args,
        "read" => ReadArgs::augment_args,
        "record" => RecordingArgs::augment_args,
        "repair" => RepairArgs::augment_args,
        "replay-log" => ReplayLogArgs::augment_args,
        "report" => ReportArgs::augment_args,
        "schema" => SchemaArgs::augment_args,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_commands_have_options() {
        let program = super::super::Args::command();
        let names: Vec<&str> =
            program.get_subcommands().map(Command::get_name).collect();
        assert!(names.contains(&"info"), "{names:?}");
        for name in names {
            assert!(options_of(name).is_some(), "{name}");
        }
        with_all_options().debug_assert();
    }
}
