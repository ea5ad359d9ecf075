//! The adapters of shells, whose completions are read by the shell as single words.
//!
//! Names in a log and names of files are foreign text, and bash inserts completions into the command
//! line as they are.

use std::{
    env,
    ffi::{OsStr, OsString},
    io::{self, Write},
    path::Path,
};

use clap::Command;
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Shells, Zsh};

/// How a shell treats the completions that it gets.
#[derive(Clone, Copy, Debug)]
enum Quoting {
    /// It inserts them as they are, and reads backslashes and quotes as POSIX shells do.
    Posix,
    /// It quotes them itself when it inserts them.
    ByShell,
    /// It inserts them as they are, with quotes of its own kind.
    Other,
}

/// The adapter of a shell.
struct SafeShell<S> {
    shell: S,
    quoting: Quoting,
    /// The end of the value of a completion, before its description.
    end_of_value: Option<char>,
}

/// The adapters of all shells with completions.
pub(super) const SHELLS: Shells<'static> = Shells(&[
    &SafeShell { shell: Bash, quoting: Quoting::Posix, end_of_value: None },
    &SafeShell { shell: Elvish, quoting: Quoting::Other, end_of_value: None },
    &SafeShell { shell: Fish, quoting: Quoting::ByShell, end_of_value: Some('\t') },
    &SafeShell { shell: Powershell, quoting: Quoting::Other, end_of_value: Some('\t') },
    &SafeShell { shell: Zsh, quoting: Quoting::ByShell, end_of_value: Some(':') },
]);

impl<S: EnvCompleter> EnvCompleter for SafeShell<S> {
    fn name(&self) -> &'static str {
        self.shell.name()
    }

    fn is(&self, name: &str) -> bool {
        self.shell.is(name)
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        bin: &str,
        completer: &str,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        self.shell.write_registration(var, name, bin, completer, buf)
    }

    fn write_complete(
        &self,
        cmd: &mut Command,
        args: Vec<OsString>,
        current_dir: Option<&Path>,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        let mut found = Vec::new();
        self.shell.write_complete(cmd, args, current_dir, &mut found)?;
        let separator = env::var("_CLAP_IFS").unwrap_or_else(|_| "\n".to_owned());
        let found = String::from_utf8_lossy(&found);
        let lines = found.split(&*separator);
        let lines = lines.filter_map(|line| self.quoting.line(line, self.end_of_value));
        write!(buf, "{}", lines.collect::<Vec<_>>().join(&separator))
    }
}

impl Quoting {
    /// Returns `line`, a completion with its description after `end_of_value`, as the shell reads its
    /// value as one word. Returns `None` if there is no such form.
    fn line(self, line: &str, end_of_value: Option<char>) -> Option<String> {
        let value = end_of_value.and_then(|end| line.split(end).next()).unwrap_or(line);
        let has_control =
            line.chars().any(|c| c.is_control() && Some(c) != end_of_value);
        match self {
            _ if has_control => None,
            Self::Posix => Some(posix_quote(value)),
            Self::ByShell => Some(line.to_owned()),
            Self::Other => value.chars().all(is_plain).then(|| line.to_owned()),
        }
    }
}

/// Returns whether no shell gives `c` a meaning, at any position of a word.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-./:+,".contains(c)
}

/// Returns `word` with backslashes before all characters that a POSIX shell may interpret, also
/// after an open quote.
fn posix_quote(word: &str) -> String {
    let mut quoted = String::with_capacity(word.len());
    for c in word.chars() {
        if c.is_ascii() && !is_plain(c) {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted
}

/// Returns the words of a command line of `shell` without their backslashes and quotes, if the
/// shell passes them as they are typed.
pub(super) fn unquote_words(shell: &OsStr, words: &[OsString]) -> Vec<OsString> {
    let shell = Path::new(shell).file_stem();
    let passes_quotes = shell.is_some_and(|shell| shell == "bash" || shell == "zsh");
    let unquote = |word: &OsString| match word.to_str() {
        Some(text) if passes_quotes => posix_unquote(text).into(),
        _ => word.clone(),
    };
    words.iter().map(unquote).collect()
}

/// Returns `word` without the backslashes and quotes of a POSIX shell. A quote may be open.
fn posix_unquote(word: &str) -> String {
    let mut plain = String::with_capacity(word.len());
    let mut quote = None;
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('\\', None) => plain.extend(chars.next()),
            ('\\', Some('"')) => match chars.next() {
                Some(c @ ('$' | '`' | '"' | '\\')) => plain.push(c),
                next => plain.extend(['\\'].into_iter().chain(next)),
            },
            (c, _) => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_quoted_or_left_out() {
        let name = "x$(touch${IFS}A)'b c";
        assert_eq!(
            Quoting::Posix.line(name, None).as_deref(),
            Some(r"x\$\(touch\$\{IFS\}A\)\'b\ c")
        );
        assert_eq!(Quoting::Other.line(name, None), None);
        assert_eq!(Quoting::ByShell.line(name, Some('\t')).as_deref(), Some(name));
        for quoting in [Quoting::Posix, Quoting::ByShell, Quoting::Other] {
            assert_eq!(quoting.line("a\x1bb", Some('\t')), None, "{quoting:?}");
            let plain = quoting.line("/imu/data.1", None);
            assert_eq!(plain.as_deref(), Some("/imu/data.1"), "{quoting:?}");
        }
        let described = "--start\tStart of the selected time, such as 12.5";
        assert_eq!(
            Quoting::Other.line(described, Some('\t')).as_deref(),
            Some(described)
        );
    }

    #[test]
    fn words_are_unquoted_as_posix_shells_do() {
        for (typed, want) in [
            (r"my\ log.ulg", "my log.ulg"),
            (r#""a b"\$c'd\e'"#, r"a b$cd\e"),
            (r#""a\$b\n"#, r"a$b\n"),
            ("'open $x", "open $x"),
            (r"end\", "end"),
        ] {
            assert_eq!(posix_unquote(typed), want, "{typed}");
            assert_eq!(posix_unquote(&posix_quote(want)), want);
        }
        let words = [OsString::from(r"a\ b")];
        assert_eq!(unquote_words(OsStr::new("/bin/zsh"), &words), ["a b"]);
        assert_eq!(unquote_words(OsStr::new("fish"), &words), words);
    }
}
