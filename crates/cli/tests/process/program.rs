//! Running the program in a folder of its own.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// An empty folder to run in.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A folder with `log` in it, called `flight.ulg`.
    pub(crate) fn with_log(log: &[u8]) -> Self {
        let folder = Self::new();
        folder.write("flight.ulg", log);
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        String::from_utf8(fs::read(self.path().join(name)).unwrap()).unwrap()
    }

    /// The names of the files in the folder `name` of this folder, sorted.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path().join(name)) else { return vec![] };
        let name = |entry: std::io::Result<fs::DirEntry>| {
            entry.unwrap().file_name().into_string()
        };
        let mut names: Vec<String> =
            entries.map(|entry| name(entry).unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_logtool"));
        command.args(args).current_dir(self.path()).env_remove("RUST_BACKTRACE");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        self.run_with(args, &[])
    }

    /// Runs with `input` on standard input.
    pub(crate) fn run_with(&self, args: &[&str], input: &[u8]) -> Run {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that does not read its input closes it.
        let _ = child.stdin.take().unwrap().write_all(input);
        let output = child.wait_with_output().unwrap();
        Run {
            status: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Run {
    /// Checks that the run succeeded without messages.
    #[track_caller]
    pub(crate) fn assert_success(self) -> Self {
        assert_eq!((self.status, &*self.stderr), (0, ""), "{self:?}");
        self
    }

    /// Checks that the run ended with `status`, and that standard error contains each of
    /// `words`.
    #[track_caller]
    pub(crate) fn assert_status(self, status: i32, words: &[&str]) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in {self:?}");
        }
        self
    }

    /// Returns standard output, which has one JSON value per line.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<serde_json::Value> {
        let json = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))
        };
        self.stdout.lines().map(json).collect()
    }
}
