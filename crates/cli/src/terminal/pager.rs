//! The pager for text that is longer than the terminal.

use std::{
    env,
    io::{self, Write},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// The text of the command, if a pager may show it.
static TEXT: Mutex<Option<PagedText>> = Mutex::new(None);

/// Whether a pager shows the text.
static IS_RUNNING: AtomicBool = AtomicBool::new(false);

/// Shows the following text with a pager if it does not fit on the terminal. `option` is the
/// command of the pager; without it, `PAGER` names it, and `less` is the default if it is installed.
pub(crate) fn enable(option: Option<&str>) {
    let Some((columns, rows)) = terminal_size::terminal_size() else { return };
    let variable = env::var("PAGER").ok();
    let command = match option.or(variable.as_deref()) {
        // A pager that does not exist would lose the text.
        Some(command) if !can_start(command) => return,
        Some(command) => command.trim(),
        // Without this check, the text would be lost on small systems, such as containers.
        None if is_installed("less") => "less",
        None => return,
    };
    if !command.is_empty() && command != "cat" {
        let screen = Screen { columns: columns.0.into(), rows: rows.0.into() };
        *text() = Some(PagedText::new(command, screen));
    }
}

/// Returns whether the shell can probably start `command`: its first word is a program. Words such
/// as `LESS=R` are settings for the program after them.
fn can_start(command: &str) -> bool {
    let is_setting = |word: &&str| word.contains('=');
    let program = command.split_whitespace().find(|word| !is_setting(word));
    program.is_none_or(|program| {
        let is_quoted = program.contains(['"', '\'']);
        is_quoted || Path::new(program).is_file() || is_installed(program)
    })
}

/// Returns whether a folder of `PATH` has the program `name`.
fn is_installed(name: &str) -> bool {
    let file = format!("{name}{}", env::consts::EXE_SUFFIX);
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(&file).is_file())
}

/// Returns whether a pager shows the text, so that nothing else may write to the terminal.
pub(crate) fn is_running() -> bool {
    IS_RUNNING.load(Ordering::Relaxed)
}

/// Writes `bytes` to the pager, or returns `None` if none is enabled.
pub(crate) fn write(bytes: &[u8]) -> Option<io::Result<()>> {
    text().as_mut().map(|text| text.write(bytes))
}

/// Prints text that fits on the terminal, or waits until the user leaves the pager.
pub(crate) fn finish() {
    let finished = text().take();
    if let Some(text) = finished {
        text.finish();
    }
}

fn text() -> MutexGuard<'static, Option<PagedText>> {
    TEXT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The size of the terminal.
#[derive(Clone, Copy, Debug)]
struct Screen {
    columns: usize,
    rows: usize,
}

/// Text that is kept until it is known whether it fits on the screen.
struct PagedText {
    command: String,
    screen: Screen,
    /// The text that fits on the screen so far.
    buffered: Vec<u8>,
    /// How many rows of the screen `buffered` needs.
    rows: usize,
    pager: Option<(Child, ChildStdin)>,
}

impl PagedText {
    fn new(command: &str, screen: Screen) -> Self {
        let command = command.to_owned();
        Self { command, screen, buffered: Vec::new(), rows: 0, pager: None }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some((_, input)) = &mut self.pager {
            return input.write_all(bytes);
        }
        self.rows += rows(bytes, self.screen.columns);
        self.buffered.extend_from_slice(bytes);
        // The last row is for the prompt of the shell.
        if self.rows < self.screen.rows {
            return Ok(());
        }
        let buffered = std::mem::take(&mut self.buffered);
        match start(&self.command) {
            Some((child, mut input)) => {
                IS_RUNNING.store(true, Ordering::Relaxed);
                let written = input.write_all(&buffered);
                self.pager = Some((child, input));
                written
            }
            // Without a pager, the text is printed at the end, or when it is too long again.
            None => io::stdout().write_all(&buffered),
        }
    }

    fn finish(self) {
        match self.pager {
            Some((mut child, input)) => {
                drop(input);
                let _ = child.wait();
            }
            // The program ends, so an error cannot be reported.
            None => {
                let _ = io::stdout().write_all(&self.buffered);
            }
        }
    }
}

/// Returns how many rows of `columns` the lines in `bytes` need.
fn rows(bytes: &[u8], columns: usize) -> usize {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let row_count = |line: &[u8]| {
        let chars = String::from_utf8_lossy(line).chars().count();
        chars.saturating_sub(1) / columns.max(1) + 1
    };
    lines.map(row_count).sum()
}

/// Starts the pager `command`.
fn start(command: &str) -> Option<(Child, ChildStdin)> {
    let mut shell =
        if cfg!(windows) { Command::new("cmd") } else { Command::new("sh") };
    shell.arg(if cfg!(windows) { "/C" } else { "-c" }).arg(command);
    if cfg!(windows) {
        // Without this, `cmd` looks for the program in the current folder first.
        shell.env("NoDefaultCurrentDirectoryInExePath", "1");
    }
    if env::var_os("LESS").is_none() {
        // End if all fits on the screen, show colours, and do not clear the screen.
        shell.env("LESS", "FRX");
    }
    let mut child = shell.stdin(Stdio::piped()).spawn().ok()?;
    let input = child.stdin.take()?;
    Some((child, input))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn only_programs_in_the_path_are_installed() {
        assert!(is_installed("sh"));
        assert!(!is_installed("no-such-pager"));
        assert!(can_start("LESS=R sh -c cat") && can_start("/bin/sh") && can_start(""));
        assert!(!can_start("no-such-pager -R") && !can_start("/no/such/pager"));
    }

    #[test]
    fn long_lines_need_several_rows() {
        assert_eq!(rows(b"", 80), 0);
        assert_eq!(rows(b"a\nb\n", 80), 2);
        assert_eq!(rows("é".repeat(80).as_bytes(), 80), 1);
        assert_eq!(rows("é".repeat(81).as_bytes(), 80), 2);
    }
}
