//! The command and its options, which outputs state in their provenance.
//!
//! Inputs, outputs and options that do not change outputs are left out. Other files are named
//! without their folders. So provenance reveals nothing about the machine, and is the same on
//! all machines.

use std::{any::TypeId, collections::BTreeSet, ffi::OsStr, path::Path};

use clap::{Arg, ArgMatches, Command, parser::ValueSource};

/// The options that do not change outputs, and those that are places or secrets.
const LEFT_OUT: [&str; 16] = [
    "out",
    "force",
    "quiet",
    "strict",
    "no_mmap",
    "threads",
    "key_file",
    "json",
    "remote_timeout",
    "remote_min_rate",
    "memory",
    "shard",
    "catalog",
    "color",
    "pager",
    "no_pager",
];

/// Returns the command and its options, in the order in which `program` defines them.
/// `matches` is the parsed command line, and `defaults` has the options that variables and
/// files set.
pub(crate) fn text(
    program: &Command,
    matches: &ArgMatches,
    defaults: &BTreeSet<String>,
) -> String {
    let Some((name, matches)) = matches.subcommand() else { return String::new() };
    let Some(command) = program.find_subcommand(name) else { return String::new() };
    let mut words = vec![name.to_owned()];
    for arg in command.get_arguments() {
        let id = arg.get_id().as_str();
        let is_set = matches.try_contains_id(id).is_ok()
            && match matches.value_source(id) {
                Some(ValueSource::CommandLine) => true,
                Some(_) => defaults.contains(id),
                None => false,
            };
        let is_input = arg.is_positional() && is_path(arg);
        if is_set && !is_input && !LEFT_OUT.contains(&id) {
            add(&mut words, arg, matches);
        }
    }
    words.join(" ")
}

/// Adds each occurrence of `arg` to `words`.
fn add(words: &mut Vec<String>, arg: &Arg, matches: &ArgMatches) {
    let option = arg.get_long().map(|long| format!("--{long}"));
    if !arg.get_action().takes_values() {
        if matches.get_flag(arg.get_id().as_str()) {
            words.extend(option);
        }
        return;
    }
    let is_path = is_path(arg);
    for value in matches.get_raw(arg.get_id().as_str()).into_iter().flatten() {
        let value =
            if is_path { Path::new(value).file_name().unwrap_or(value) } else { value };
        match &option {
            Some(option) if arg.is_require_equals_set() => {
                words.push(format!("{option}={}", shell_quote(value)));
            }
            option => {
                words.extend(option.clone());
                words.push(shell_quote(value));
            }
        }
    }
}

fn is_path(arg: &Arg) -> bool {
    arg.get_value_parser().type_id() == TypeId::of::<std::path::PathBuf>()
}

/// Returns `word` with quotes for a shell, if it needs some.
pub(crate) fn shell_quote(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;

    fn command_line_of(typed: &[&str]) -> String {
        let mut program = args::program();
        let matches = program.try_get_matches_from_mut(typed).unwrap();
        text(&program, &matches, &BTreeSet::new())
    }

    #[test]
    fn text_has_options_without_places() {
        let typed = [
            "logtool",
            "convert",
            "/home/me/a.bag",
            "--quiet",
            "-o",
            "/home/me/out",
            "-f",
            "--format",
            "csv",
            "-t",
            "/imu/*",
            "--topic",
            "a b",
            "--threads",
            "2",
            "--msg-dir",
            "/home/me/msg",
            "--flat",
        ];
        let want =
            "convert --format csv --topic '/imu/*' --topic 'a b' --flat --msg-dir msg";
        assert_eq!(command_line_of(&typed), want);
        assert_eq!(command_line_of(&["logtool", "convert", "a.bag"]), "convert");
    }

    #[test]
    fn text_has_fields_and_equals_signs_where_required() {
        let typed = ["logtool", "plot", "a.ulg", "b.c", "d.e[0]", "-o", "x.svg"];
        assert_eq!(command_line_of(&typed), "plot b.c 'd.e[0]'");
        let typed = [
            "logtool",
            "batch",
            "a",
            "-o",
            "b",
            "--memory",
            "1G",
            "--shard",
            "0/2",
            "--catalog",
            "jsonl",
            "--flat",
        ];
        assert_eq!(command_line_of(&typed), "batch --flat");
        let typed =
            ["logtool", "filter", "a.bag", "-o", "b.bag", "--restamp", "--read-anyway"];
        assert_eq!(
            command_line_of(&typed),
            "filter --restamp=header.stamp --read-anyway"
        );
    }
}
