//! Where in a data set of many logs the files of one log are.
//!
//! | the file that a sink begins | its place |
//! |---|---|
//! | `imu.parquet` | `imu/log=<name>/part-0.parquet` |
//! | `camera/index.csv` | `camera/log=<name>/index.csv` |
//!
//! Where all files of a log belong together, it is `log=<name>/` and what the sink calls it.
//!
//! Folders called `key=value` are partitions to Hive, Spark, DuckDB, Polars and others:
//! who reads all of a table has a column `log` beside those of the files.

use std::path::{Path, PathBuf};

/// The place of one log in a data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    log: String,
    begun_in: PathBuf,
    kind: Kind,
}

/// What files belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Those of a table.
    Table,
    /// Those of a log.
    Log,
    /// None.
    File,
}

impl Partition {
    /// The partition of the log called `log`, whose files are begun in the folder
    /// `begun_in`. The name has to be one that a folder can have.
    pub fn new(log: impl Into<String>, begun_in: impl Into<PathBuf>) -> Self {
        Self { log: log.into(), begun_in: begun_in.into(), kind: Kind::Table }
    }

    /// Files of the data set itself, as a log that is one file: they have no partition.
    #[must_use]
    pub fn whole(mut self) -> Self {
        self.kind = Kind::File;
        self
    }

    /// Files that only mean something together: they are all in the folder `log=<name>`.
    #[must_use]
    pub fn together(mut self) -> Self {
        self.kind = Kind::Log;
        self
    }

    /// The folder in which files are begun.
    pub(crate) fn begun_in(&self) -> &Path {
        &self.begun_in
    }

    /// Where in the data set the file is that a sink calls `name`.
    pub(crate) fn place(&self, name: &str) -> String {
        let log = &self.log;
        match (name.split_once('/'), name.rsplit_once('.')) {
            _ if self.kind == Kind::File => name.to_owned(),
            _ if self.kind == Kind::Log => format!("log={log}/{name}"),
            (Some((table, file)), _) => format!("{table}/log={log}/{file}"),
            (None, Some((table, end))) => format!("{table}/log={log}/part-0.{end}"),
            (None, None) => format!("{name}/log={log}/part-0"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Partition;

    #[test]
    fn files_that_belong_together_are_in_one_folder() {
        let partition = Partition::new("flight_7", "x").together();
        assert_eq!(partition.place("gps.parquet"), "log=flight_7/gps.parquet");
        assert_eq!(Partition::new("a", "x").whole().place("a.mcap"), "a.mcap");
    }

    #[test]
    fn files_are_in_the_partition_of_their_table() {
        let partition = Partition::new("flight_7", "x");
        let place = |name: &str| partition.place(name);
        assert_eq!(place("imu.parquet"), "imu/log=flight_7/part-0.parquet");
        assert_eq!(place("gps_1.5.csv"), "gps_1.5/log=flight_7/part-0.csv");
        assert_eq!(place("camera/index.csv"), "camera/log=flight_7/index.csv");
        assert_eq!(place("camera/1.png"), "camera/log=flight_7/1.png");
        assert_eq!(partition.clone().whole().place("a.mcap"), "a.mcap");
    }
}
