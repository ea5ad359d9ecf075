//! The command and its options, as they were typed, for outputs that tell how they were
//! made.
//!
//! Names of inputs and outputs are left out, and so is what changes no output; of other
//! files the names are told without their folders. So an output tells nothing of the
//! machine that it was made on, and is the same on all.

use std::{any::TypeId, ffi::OsStr, path::Path};

use clap::{Arg, ArgMatches, Command, parser::ValueSource};

/// What changes no output, or is a place or a secret.
const LEFT_OUT: [&str; 12] = [
    "out",
    "force",
    "quiet",
    "strict",
    "no_mmap",
    "threads",
    "key",
    "json",
    "remote_timeout",
    "memory",
    "shard",
    "catalog",
];

/// What was typed, in the order in which `program` has its options: `matches` are what it
/// found, which gave the options of all commands to the one that was typed.
pub(crate) fn text(program: &Command, matches: &ArgMatches) -> String {
    let Some((name, matches)) = matches.subcommand() else { return String::new() };
    let Some(command) = program.find_subcommand(name) else { return String::new() };
    let mut words = vec![name.to_owned()];
    for arg in command.get_arguments() {
        let id = arg.get_id().as_str();
        let is_typed = matches.try_contains_id(id).is_ok()
            && matches.value_source(id) == Some(ValueSource::CommandLine);
        let is_input = arg.is_positional() && is_path(arg);
        if is_typed && !is_input && !LEFT_OUT.contains(&id) {
            add(&mut words, arg, matches);
        }
    }
    words.join(" ")
}

/// Adds `arg`, as often as it was typed.
fn add(words: &mut Vec<String>, arg: &Arg, matches: &ArgMatches) {
    let option = arg.get_long().map(|long| format!("--{long}"));
    if !arg.get_action().takes_values() {
        words.extend(option);
        return;
    }
    let is_path = is_path(arg);
    for value in matches.get_raw(arg.get_id().as_str()).into_iter().flatten() {
        let value = match is_path {
            true => Path::new(value).file_name().unwrap_or(value),
            false => value,
        };
        match &option {
            Some(option) if arg.is_require_equals_set() => {
                words.push(format!("{option}={}", quoted(value)));
            }
            option => {
                words.extend(option.clone());
                words.push(quoted(value));
            }
        }
    }
}

fn is_path(arg: &Arg) -> bool {
    arg.get_value_parser().type_id() == TypeId::of::<std::path::PathBuf>()
}

/// `word` as a shell takes it.
pub(crate) fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Args;

    fn given(typed: &[&str]) -> String {
        let mut program = Args::command();
        let matches = program.try_get_matches_from_mut(typed).unwrap();
        text(&program, &matches)
    }

    #[test]
    fn options_are_told_and_places_are_not() {
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
        assert_eq!(given(&typed), want);
        assert_eq!(given(&["logtool", "convert", "a.bag"]), "convert");
    }

    #[test]
    fn what_is_drawn_is_told_and_values_are_behind_equals_signs_where_they_have_to() {
        let typed = ["logtool", "plot", "a.ulg", "b.c", "d.e[0]", "-o", "x.svg"];
        assert_eq!(given(&typed), "plot b.c 'd.e[0]'");
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
        assert_eq!(given(&typed), "batch --flat");
        let typed =
            ["logtool", "filter", "a.bag", "-o", "b.bag", "--restamp", "--read-anyway"];
        assert_eq!(given(&typed), "filter --restamp=header.stamp --read-anyway");
    }
}
