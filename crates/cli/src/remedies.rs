//! Hints: what helps against errors and warnings, by the names of options.

use logtool::{ErrorKind, Remedy};

/// The maximum number of topics that a hint lists.
const MAX_TOPICS: usize = 4;

/// Returns what may help against errors of this kind.
pub(crate) fn for_kind(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::NeedsKey => {
            Some("--key-file names the file with the key, or LOGTOOL_KEY_FILE does")
        }
        ErrorKind::IncompatibleFlag => {
            Some("--read-anyway reads it as far as possible")
        }
        ErrorKind::UnsuitableEncoding => {
            Some("`logtool convert` makes a bag of it, with messages of ROS 1")
        }
        ErrorKind::AlreadyExists => Some("--force replaces what is there"),
        ErrorKind::Damaged => Some("without --strict, everything else is read"),
        _ => None,
    }
}

/// Returns the option for `remedy`, as a hint; `None` if no option does it.
pub(crate) fn text(remedy: &Remedy) -> Option<String> {
    Some(match remedy {
        Remedy::SelectTopic { topics } => one_topic(topics),
        Remedy::SelectTopicOrFolder { topics, folder, format } => format!(
            "{}; -o {} --format {format} makes a folder of them",
            one_topic(topics),
            folder.display()
        ),
        Remedy::SelectMatchingLidar { topics } => {
            let first = topics.first().map_or("", String::as_str);
            let all = topics.join(", ");
            format!("it matches {all}: --topic {first} selects that one")
        }
        Remedy::SetLidarModel => "name it with --model".to_owned(),
        Remedy::SetLidarModelOrWriteTables => {
            "points are made of clouds, scans and packets, as `logtool info` shows; --model \
             names a lidar that is not recognised, and --format csv writes every topic"
                .to_owned()
        }
        Remedy::SetCalibration => {
            "--calibration names the file of a lidar's own calibration".to_owned()
        }
        Remedy::SetLidarClock => {
            "--lidar-clock log or --lidar-clock lidar chooses the clock of points"
                .to_owned()
        }
        Remedy::WriteWithoutFailedInputs => {
            "--force writes it without this input".to_owned()
        }
        Remedy::AssumeSameClock => {
            "--same-clock merges them as if they counted from the same instant".to_owned()
        }
        Remedy::SetOffset { first, second, second_file } => format!(
            "--offset {second_file}=SECONDS states what to add to the times of {second}; \
             `logtool align {first} {second} --signal A_TOPIC.FIELD B_TOPIC.FIELD` finds it, \
             from what both measured"
        ),
        Remedy::IncreaseOffset { seconds } => {
            format!("add {seconds} or more to its --offset")
        }
        Remedy::IncreaseAllOffsets { seconds } => {
            format!("add {seconds} to each --offset, or leave one out")
        }
        Remedy::DecreaseOffsets => "--offset takes seconds".to_owned(),
        Remedy::CorrectClock => {
            "if that is wrong, --offset states what to add to its times".to_owned()
        }
        Remedy::FlattenColumns { column } => {
            format!("here `{column}` is one column; --flat makes one of each scalar")
        }
        Remedy::KeepInfinities => "--keep-infinities writes them as 1e999".to_owned(),
        Remedy::SelectTimes => {
            "`logtool filter` with --start and --end copies a part of a log".to_owned()
        }
        Remedy::SetUtcStart => {
            "--utc-start states when the log starts, such as 2024-05-01T12:00:00Z; times since \
             its start and on its own clock need none"
                .to_owned()
        }
        Remedy::TypeOtherTime { seconds, date } => {
            let date = date.as_deref().unwrap_or("2024-05-01T12:00:00Z");
            format!(
                "a number counts from the start of the log; boot:{seconds} is a time on its own \
                 clock, and {date} a date"
            )
        }
        Remedy::WriteRos2Messages => {
            "Rerun and PlotJuggler 4 do not read messages of ROS 1; --ros2 writes those of ROS 2"
                .to_owned()
        }
        Remedy::KeepUndecodable => "without --strict, they are kept unchanged".to_owned(),
        _ => return None,
    })
}

/// Returns that `--topic` selects one of `topics`.
fn one_topic(topics: &[String]) -> String {
    let some: Vec<&str> = topics.iter().take(MAX_TOPICS).map(String::as_str).collect();
    let more = if topics.len() > MAX_TOPICS { ", …" } else { "" };
    format!("--topic names one: {}{more}", some.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hint_of_topics_lists_at_most_four() {
        let topics = |count| (0..count).map(|index| format!("t{index}")).collect();
        let hint =
            |count| text(&Remedy::SelectTopic { topics: topics(count) }).unwrap();
        assert_eq!(hint(4), "--topic names one: t0, t1, t2, t3");
        assert_eq!(hint(5), "--topic names one: t0, t1, t2, t3, …");
    }

    #[test]
    fn hint_of_a_folder_names_the_options_that_write_it() {
        let remedy = Remedy::SelectTopicOrFolder {
            topics: vec!["a".to_owned()],
            folder: "out/x".into(),
            format: "csv",
        };
        let hint = "--topic names one: a; -o out/x --format csv makes a folder of them";
        assert_eq!(text(&remedy).as_deref(), Some(hint));
    }
}
