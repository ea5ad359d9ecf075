//! Paths of the files of one log in a data set of many logs.
//!
//! | name chosen by the sink | path in the data set |
//! |---|---|
//! | `imu.parquet` | `imu/log=<name>/part-0.parquet` |
//! | `camera/index.csv` | `camera/log=<name>/index.csv` |
//!
//! If all files of a log belong together, the path is `log=<name>/` and the name.
//!
//! Hive, Spark, DuckDB, Polars and others treat folders called `key=value` as partitions: a reader
//! of a whole table gets the column `log` in addition to those of the files.

use std::path::{Path, PathBuf};

/// The location of one log in a data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    log: String,
    staging_dir: PathBuf,
    layout: PartitionLayout,
}

/// How files are grouped into folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartitionLayout {
    /// A folder for each table, which contains a folder for each log.
    PerTable,
    /// A folder for each log.
    PerLog,
    /// No folders: files are directly in the data set.
    Unpartitioned,
}

impl Partition {
    /// Creates the partition of the log called `log`, which must be a valid folder name. Files are
    /// written in the folder `staging_dir` until they are complete.
    pub fn new(log: impl Into<String>, staging_dir: impl Into<PathBuf>) -> Self {
        Self {
            log: log.into(),
            staging_dir: staging_dir.into(),
            layout: PartitionLayout::PerTable,
        }
    }

    /// Places files directly in the data set, for logs that are converted to one file.
    #[must_use]
    pub fn without_partition(mut self) -> Self {
        self.layout = PartitionLayout::Unpartitioned;
        self
    }

    /// Places all files in the folder `log=<name>`, for files that are only useful together.
    #[must_use]
    pub fn in_log_folder(mut self) -> Self {
        self.layout = PartitionLayout::PerLog;
        self
    }

    /// Returns the folder in which unfinished files are written.
    pub(crate) fn staging_dir(&self) -> &Path {
        &self.staging_dir
    }

    /// Returns the path in the data set of the file that a sink calls `name`.
    pub(crate) fn path(&self, name: &str) -> String {
        let log = &self.log;
        match self.layout {
            PartitionLayout::Unpartitioned => name.to_owned(),
            PartitionLayout::PerLog => format!("log={log}/{name}"),
            PartitionLayout::PerTable => {
                if let Some((table, file)) = name.split_once('/') {
                    format!("{table}/log={log}/{file}")
                } else if let Some((table, extension)) = name.rsplit_once('.') {
                    format!("{table}/log={log}/part-0.{extension}")
                } else {
                    format!("{name}/log={log}/part-0")
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Partition;

    #[test]
    fn files_of_a_log_share_one_folder() {
        let partition = Partition::new("flight_7", "x").in_log_folder();
        assert_eq!(partition.path("gps.parquet"), "log=flight_7/gps.parquet");
        assert_eq!(
            Partition::new("a", "x").without_partition().path("a.mcap"),
            "a.mcap"
        );
    }

    #[test]
    fn files_of_a_table_share_the_folder_of_the_log() {
        let partition = Partition::new("flight_7", "x");
        let path_of = |name: &str| partition.path(name);
        assert_eq!(path_of("imu.parquet"), "imu/log=flight_7/part-0.parquet");
        assert_eq!(path_of("gps_1.5.csv"), "gps_1.5/log=flight_7/part-0.csv");
        assert_eq!(path_of("camera/index.csv"), "camera/log=flight_7/index.csv");
        assert_eq!(path_of("camera/1.png"), "camera/log=flight_7/1.png");
        assert_eq!(partition.clone().without_partition().path("a.mcap"), "a.mcap");
    }
}
