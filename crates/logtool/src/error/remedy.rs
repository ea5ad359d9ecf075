//! Settings that help against an error or a warning, as data.

use std::path::PathBuf;

/// A setting of a request or of the session that helps against an [`Error`](crate::Error) or a
/// warning. Programs describe it in the words of their own options.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Select one of these topics.
    SelectTopic {
        /// The labels of the topics.
        topics: Vec<String>,
    },
    /// Select one of these topics, or write all of them to a folder.
    SelectTopicOrFolder {
        /// The labels of the topics.
        topics: Vec<String>,
        /// The path of a possible folder.
        folder: PathBuf,
        /// The name of the output format.
        format: &'static str,
    },
    /// Select the topic of one of the lidars that the calibration is for.
    SelectMatchingLidar {
        /// The labels of their topics.
        topics: Vec<String>,
    },
    /// Set the model of the lidar.
    SetLidarModel,
    /// Set the model of a lidar that was not recognised, or write tables, which can have any
    /// topic.
    SetLidarModelOrWriteTables,
    /// Set the calibration file of the lidar.
    SetCalibration,
    /// Set which clock the points of a lidar have.
    SetLidarClock,
    /// Write the output without the inputs that failed.
    WriteWithoutFailedInputs,
    /// Treat clocks that may differ as the same.
    AssumeSameClock,
    /// Set the offset of the log `second` to the log `first`.
    SetOffset {
        /// The name of the log with the clock of the output.
        first: String,
        /// The name of the log whose offset is unknown.
        second: String,
        /// The name of the log `second` without its folders.
        second_file: String,
    },
    /// Add these seconds to the offset of the log, at least.
    IncreaseOffset {
        /// The seconds.
        seconds: u64,
    },
    /// Add these seconds to the offset of each log, or omit one of the offsets.
    IncreaseAllOffsets {
        /// The seconds.
        seconds: u64,
    },
    /// Set offsets that are closer to 0.
    DecreaseOffsets,
    /// Set the offset of the log, if its clock is wrong.
    CorrectClock,
    /// Write a column for each number in the column `column`.
    FlattenColumns {
        /// The name of the column.
        column: String,
    },
    /// Write infinities as numbers that are too large, in place of `null`.
    KeepInfinities,
    /// Select a part of the log by its times.
    SelectTimes,
    /// Set when the log starts in UTC, or use times that need no UTC: those since its start, and
    /// those on its own clock.
    SetUtcStart,
    /// Type a selected time in another form: a number counts from the start of the log.
    TypeOtherTime {
        /// The typed time in seconds.
        seconds: String,
        /// The date in UTC, if the number is a plausible Unix time.
        date: Option<String>,
    },
    /// Accept losses: records that cannot be decoded are then kept unchanged.
    KeepUndecodable,
    /// The MCAP file has messages of ROS 1, which some programs do not read: translate them to
    /// messages of ROS 2.
    WriteRos2Messages,
}
