//! The files `logtool.toml`: that of the user, and that of a folder, which may come with data of other
//! people.

use std::{
    env,
    path::{Path, PathBuf},
};

use clap::Command;
use logtool::{Error, Result, input::side_file, suggest};
use toml::{Table, Value, de::DeTable};

use super::has_default;

/// The name of the files.
const FILE: &str = "logtool.toml";

/// The maximum size of a file in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The options that the file of a folder may set: those that choose how values are shown, read as
/// points, or stored. Options that start programs, name files, folders or servers, raise limits of
/// memory, hide warnings or select data are not among them.
const FOLDER_OPTIONS: [&str; 37] = [
    "analysis",
    "assign-tables",
    "axes",
    "clock",
    "color",
    "color-by",
    "compression",
    "csv-safe",
    "cut",
    "digest",
    "encoding",
    "flat",
    "format",
    "formula",
    "foxglove",
    "freq",
    "health",
    "json",
    "keep-infinities",
    "labels",
    "layout",
    "lidar-clock",
    "model",
    "no-marks",
    "no-mmap",
    "no-modes",
    "no-pager",
    "order",
    "per",
    "ros2",
    "scale",
    "signals",
    "size",
    "spark",
    "strict",
    "threads",
    "time-column",
];

/// A file with defaults.
#[derive(Debug)]
pub(super) struct SettingsFile {
    pub(super) path: PathBuf,
    pub(super) table: Table,
    /// Messages about keys that the file may not set.
    pub(super) ignored: Vec<String>,
}

impl SettingsFile {
    /// Reads the files, the strongest first: that of the nearest folder, and that of the user.
    ///
    /// # Errors
    /// If a file cannot be read, or is not TOML. If the user's file names options that do not exist
    /// in the program that `program` returns, or the file of a folder those that the command
    /// of their table does not have.
    pub(super) fn read_all(program: fn() -> Command) -> Result<Vec<Self>> {
        let user_path = user_path();
        // In the folder of the user's file, it is not the file of a folder.
        let folder_path = folder_path().filter(|path| Some(path) != user_path.as_ref());
        let mut files = Vec::new();
        if let Some(path) = folder_path {
            let (text, table) = read(&path)?;
            let mut file = Self { path, table, ignored: Vec::new() };
            let program = program();
            file.retain_folder_options(&text, &program);
            check(&file.table, &program, &file.path)?;
            files.push(file);
        }
        if let Some(path) = user_path.filter(|path| path.is_file()) {
            let (_, table) = read(&path)?;
            check(&table, &program(), &path)?;
            files.push(Self { path, table, ignored: Vec::new() });
        }
        Ok(files)
    }

    /// Removes all keys except [`FOLDER_OPTIONS`], and reports them. `text` is that of the file.
    fn retain_folder_options(&mut self, text: &str, program: &Command) {
        let parsed = DeTable::parse(text).ok();
        let lines = parsed.as_ref().map(|table| table.get_ref());
        let mut ignored = Vec::new();
        self.table.retain(|name, value| {
            let lines = lines.and_then(|lines| lines.get_key_value(name));
            if let (Value::Table(table), Some(_)) =
                (&mut *value, program.find_subcommand(name))
            {
                let lines = lines.and_then(|(_, value)| value.get_ref().as_table());
                table.retain(|key, _| {
                    let key_value = lines.and_then(|lines| lines.get_key_value(key));
                    let start = key_value.map(|(key, _)| key.span().start);
                    is_for_folders(key, start, text, program, &mut ignored)
                });
                return true;
            }
            let start = lines.map(|(key, _)| key.span().start);
            is_for_folders(name, start, text, program, &mut ignored)
        });
        ignored.sort_unstable();
        self.ignored = ignored.into_iter().map(|(_, message)| message).collect();
    }
}

/// Returns whether the file of a folder may set `key`, which starts at the byte `start` of `text`.
/// If not, adds a message to `ignored`.
fn is_for_folders(
    key: &str,
    start: Option<usize>,
    text: &str,
    program: &Command,
    ignored: &mut Vec<(usize, String)>,
) -> bool {
    if FOLDER_OPTIONS.contains(&key) {
        return true;
    }
    let before = start.and_then(|start| text.get(..start));
    let line = before.map_or(0, |before| before.matches('\n').count()) + 1;
    let options = all_options(program);
    let reason = if options.iter().any(|option| option == key) {
        "the file of a folder cannot set it, only an option, a variable or your own file can"
            .to_owned()
    } else {
        let hint = "`logtool help config` lists the options of such a file";
        let hint = suggest::hint(key, FOLDER_OPTIONS.iter().copied(), hint);
        format!("there is no such option ({hint})")
    };
    ignored.push((line, format!("line {line}: `{key}` is ignored: {reason}")));
    false
}

/// Reads the file at `path`. Returns its text and the table in it.
fn read(path: &Path) -> Result<(String, Table)> {
    let wrong = |what: &str| Error::other(format!("{}: {what}", path.display()));
    let bytes = side_file::read(path, "the defaults in", MAX_FILE_BYTES)?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8"))?;
    // Without the excerpt of the file, which has several lines.
    let table = toml::from_str(&text).map_err(|err| wrong(err.message()))?;
    Ok((text, table))
}

/// Returns the path of the nearest file in the current folder or above it.
fn folder_path() -> Option<PathBuf> {
    let current = env::current_dir().ok()?;
    current.ancestors().map(|folder| folder.join(FILE)).find(|path| path.is_file())
}

/// Returns the path of the user's file, which need not exist.
fn user_path() -> Option<PathBuf> {
    let folder = |name: &str, below: &str| {
        let folder = PathBuf::from(env::var_os(name)?);
        // A relative path would make a file of the current folder the user's file. The XDG Base
        // Directory Specification requires to ignore such paths.
        folder.is_absolute().then(|| folder.join(below))
    };
    let folder = folder("XDG_CONFIG_HOME", "logtool")
        .or_else(|| if cfg!(windows) { folder("APPDATA", "logtool") } else { None })
        .or_else(|| folder("HOME", ".config/logtool"))?;
    Some(folder.join(FILE))
}

/// Returns the options of `command` that can have defaults, without those of its commands.
fn options(command: &Command) -> Vec<String> {
    let args = command.get_arguments().filter(|arg| has_default(arg));
    args.filter_map(|arg| Some(arg.get_long()?.to_owned())).collect()
}

/// Returns the options of `program` and its commands that can have defaults.
fn all_options(program: &Command) -> Vec<String> {
    let mut all = options(program);
    all.extend(program.get_subcommands().flat_map(options));
    all
}

/// Refuses names in `table`, the contents of the file at `path`, that are neither options nor
/// commands of `program`.
fn check(table: &Table, program: &Command, path: &Path) -> Result<()> {
    let (global, all) = (options(program), all_options(program));
    let refuse = |name: &str, names: &[String]| {
        let hint = "`logtool help config` explains the file";
        let hint = suggest::hint(name, names.iter().map(String::as_str), hint);
        let what = format!("{}: there is no option `{name}`", path.display());
        Err(Error::invalid_request(what).with_hint(hint))
    };
    for (name, value) in table {
        match (value.as_table(), program.find_subcommand(name)) {
            (Some(table), Some(command)) => {
                let names = [global.clone(), options(command)].concat();
                if let Some(name) = table.keys().find(|name| !names.contains(*name)) {
                    return refuse(name, &names);
                }
            }
            _ if all.contains(name) => {}
            _ => return refuse(name, &all),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::deferred_args::with_all_options;

    /// Returns the keys that a file of a folder keeps, and the messages about the others.
    fn retained(text: &str) -> (Vec<String>, Vec<String>) {
        let table = toml::from_str(text).unwrap();
        let mut file =
            SettingsFile { path: PathBuf::from(FILE), table, ignored: Vec::new() };
        file.retain_folder_options(text, &with_all_options());
        (file.table.keys().cloned().collect(), file.ignored)
    }

    #[test]
    fn options_of_folders_exist() {
        let all = all_options(&with_all_options());
        for name in FOLDER_OPTIONS {
            assert!(all.iter().any(|option| option == name), "{name}");
        }
    }

    #[test]
    fn help_and_guide_list_the_options_of_folders() {
        let help = include_str!("../../commands/help/config.txt");
        assert!(
            help.split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .contains(&FOLDER_OPTIONS.join(" "))
        );
        let guide = include_str!("../../../../../docs/guides/command_line.md");
        let list = FOLDER_OPTIONS.map(|name| format!("`{name}`")).join(", ");
        assert!(guide.split_whitespace().collect::<Vec<_>>().join(" ").contains(&list));
    }

    #[test]
    fn options_that_name_files_are_not_for_folders() {
        let program = with_all_options();
        let path = std::any::TypeId::of::<PathBuf>();
        let commands = program.get_subcommands().chain([&program]);
        let args = commands.flat_map(Command::get_arguments);
        let of_files = args.filter(|arg| arg.get_value_parser().type_id() == path);
        let names: Vec<&str> = of_files.filter_map(|arg| arg.get_long()).collect();
        assert!(names.contains(&"key-file") && names.contains(&"msg-dir"), "{names:?}");
        let of_folders = names.iter().find(|name| FOLDER_OPTIONS.contains(name));
        assert_eq!(of_folders, None);
    }

    #[test]
    fn other_keys_are_reported_with_their_lines() {
        let text = "threads = 2\npager = 'less'\n\n[convert]\nmsg-dir = 'x'\nflat = true\n\
                    [info]\nkey-file = 'k'\n[nonsense]\na = 1\n";
        let (kept, ignored) = retained(text);
        assert_eq!(kept, ["convert", "info", "threads"]);
        let lines: Vec<&str> =
            ignored.iter().map(|text| text.split(" is").next().unwrap()).collect();
        let want = [
            "line 2: `pager`",
            "line 5: `msg-dir`",
            "line 8: `key-file`",
            "line 9: `nonsense`",
        ];
        assert_eq!(lines, want);
    }
}
