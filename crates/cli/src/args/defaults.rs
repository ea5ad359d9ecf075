//! The defaults of options: variables, the `logtool.toml` of the folder, and that of the user.

mod settings_file;

use std::{collections::BTreeSet, env, error::Error as _, path::Path};

use clap::{Arg, ArgAction, Command, error::ErrorKind};
use logtool::{Error, Result};
use toml::Value;

use self::settings_file::SettingsFile;

/// The start of the names of the variables.
const PREFIX: &str = "LOGTOOL_";

/// Options that have no defaults: they select inputs, outputs, topics and times, or replace files.
const FIXED: [&str; 16] = [
    "codes",
    "count",
    "end",
    "force",
    "help",
    "latch",
    "log",
    "out",
    "restamp",
    "shard",
    "signal",
    "split",
    "start",
    "topic",
    "utc-start",
    "version",
];

/// Options of this id have no defaults either: the format of a file whose extension states it.
const FILE_FORMAT: &str = "file_format";

/// The places where defaults are stated, the strongest first.
pub(crate) struct Defaults {
    files: Vec<SettingsFile>,
}

/// A stated default of an option.
struct StatedDefault {
    value: String,
    /// The file or the variable that states it.
    origin: String,
}

impl Defaults {
    /// Reads the files.
    ///
    /// # Errors
    /// If a file cannot be read, is not TOML, or names options that do not exist in the program
    /// that `program` returns.
    pub(crate) fn read(program: fn() -> Command) -> Result<Self> {
        Ok(Self { files: SettingsFile::read_all(program)? })
    }

    /// Returns the files with keys that they may not set, each with messages about these keys.
    pub(crate) fn ignored(&self) -> impl Iterator<Item = (&Path, &[String])> {
        self.files.iter().map(|file| (&*file.path, &*file.ignored))
    }

    /// Gives the options of the command `name` in `program` their defaults. Returns the program
    /// and the names of these options.
    ///
    /// # Errors
    /// If a value does not suit its option.
    pub(crate) fn apply(
        &self,
        program: Command,
        name: &str,
    ) -> Result<(Command, BTreeSet<String>)> {
        let mut found = BTreeSet::new();
        // Looking up each option would take as long as parsing the command line.
        if self.files.is_empty() && !has_variables() {
            return Ok((program, found));
        }
        let program = self.apply_to(program, name, &mut found)?;
        let Some(command) = program.find_subcommand(name).cloned() else {
            return Ok((program, found));
        };
        let command = self.apply_to(command, name, &mut found)?;
        Ok((program.mut_subcommand(name, |_| command), found))
    }

    /// Gives the options in `command` their defaults for the command `name`.
    fn apply_to(
        &self,
        mut command: Command,
        name: &str,
        found: &mut BTreeSet<String>,
    ) -> Result<Command> {
        let args: Vec<Arg> =
            command.get_arguments().filter(|arg| has_default(arg)).cloned().collect();
        for arg in args {
            let Some(option) = arg.get_long() else { continue };
            let Some(default) = self.find(name, option)? else { continue };
            check_value(&command, &arg, option, &default)?;
            found.insert(arg.get_id().to_string());
            // Owned strings in clap (its feature `string`) would make each start slower.
            let value: &'static str = default.value.leak();
            command = command.mut_arg(arg.get_id(), |arg| arg.default_value(value));
        }
        Ok(command)
    }

    /// Returns the strongest default of `option` for the command `name`.
    fn find(&self, name: &str, option: &str) -> Result<Option<StatedDefault>> {
        for variable in [format!("{name}_{option}"), option.to_owned()] {
            let variable =
                format!("{PREFIX}{variable}").to_uppercase().replace('-', "_");
            if let Some(value) =
                env::var(&variable).ok().filter(|value| !value.is_empty())
            {
                return Ok(Some(StatedDefault { value, origin: variable }));
            }
        }
        for SettingsFile { path, table, .. } in &self.files {
            let of_command = table.get(name).and_then(Value::as_table);
            let value = of_command.and_then(|table| table.get(option));
            if let Some(value) = value.or_else(|| table.get(option)) {
                let origin = path.display().to_string();
                let value = match value {
                    Value::String(text) => text.clone(),
                    Value::Integer(number) => number.to_string(),
                    Value::Float(number) => number.to_string(),
                    Value::Boolean(value) => value.to_string(),
                    Value::Datetime(_) | Value::Array(_) | Value::Table(_) => {
                        let what = format!("{origin}: `{option}` has no single value");
                        return Err(Error::invalid_request(what));
                    }
                };
                return Ok(Some(StatedDefault { value, origin }));
            }
        }
        Ok(None)
    }
}

/// Returns whether a variable may state a default.
fn has_variables() -> bool {
    env::vars_os()
        .any(|(name, _)| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()))
}

/// Returns whether `arg` can have a default: flags, and options of one value.
fn has_default(arg: &Arg) -> bool {
    let is_single = matches!(arg.get_action(), ArgAction::Set | ArgAction::SetTrue);
    let is_fixed = arg.get_id() == FILE_FORMAT;
    is_single && !is_fixed && arg.get_long().is_some_and(|long| !FIXED.contains(&long))
}

/// Refuses a default that `arg` of `command` cannot have.
fn check_value(
    command: &Command,
    arg: &Arg,
    option: &str,
    default: &StatedDefault,
) -> Result<()> {
    let value = &default.value;
    let wrong = |reason: &str| {
        let origin = &default.origin;
        let separator = if reason.is_empty() { "" } else { ": " };
        Error::invalid_request(format!(
            "{origin}: invalid value `{value}` for `{option}`{separator}{reason}"
        ))
    };
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        return value
            .parse::<bool>()
            .map(drop)
            .map_err(|_| wrong("").with_hint("true or false"));
    }
    // Other errors, such as missing arguments, are found after the values are parsed.
    let command = command.clone().no_binary_name(true);
    match command.try_get_matches_from([format!("--{option}={value}")]) {
        Err(err)
            if matches!(
                err.kind(),
                ErrorKind::InvalidValue | ErrorKind::ValueValidation
            ) =>
        {
            let names = arg.get_possible_values();
            let names: Vec<&str> = names.iter().map(|value| value.get_name()).collect();
            let reason = err.source();
            let hint = reason.and_then(|reason| reason.downcast_ref::<Error>());
            let hint = hint.and_then(Error::hint).map(str::to_owned);
            let error = wrong(&reason.map(ToString::to_string).unwrap_or_default());
            let possible = || {
                (!names.is_empty())
                    .then(|| format!("possible values: {}", names.join(", ")))
            };
            Err(match hint.or_else(possible) {
                Some(hint) => error.with_hint(hint),
                None => error,
            })
        }
        _ => Ok(()),
    }
}
