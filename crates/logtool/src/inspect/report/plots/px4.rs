//! The plots of logs of PX4: those of Flight Review (`configured_plots.py`), and flags.

mod controls;
mod flags;
mod motion;
mod sensors;
mod system;

use logtool_plot::{Level, Rgb};

use crate::inspect::report::plots::transform::Transform;

pub(super) use self::flags::{FLAG_TOPICS, FlagTopic};

/// A line: its name, its topic, the columns that it is computed from, and how. A column with `[*]` makes
/// a line of each element of a list, whose index replaces the `*` in the name.
pub(super) type Px4Line =
    (&'static str, &'static str, &'static [&'static str], Transform);

/// A range of values that the plot shows by its colour: its name, the lowest and the highest value,
/// and the colour.
#[derive(Clone, Copy)]
pub(super) struct ValueLevel(&'static str, f64, f64, Rgb);

impl ValueLevel {
    pub(super) fn level(&self) -> Level {
        let Self(name, low, high, color) = *self;
        Level { name: name.to_owned(), low, high, color }
    }
}

/// A plot of lines. Of several lines of the same name, the first that the log has is shown.
#[derive(Clone, Copy)]
pub(super) struct Px4Plot {
    pub(super) title: &'static str,
    pub(super) unit: &'static str,
    pub(super) lines: &'static [Px4Line],
    /// The limits of the value axis. Values outside are not visible.
    pub(super) limits: Option<(f64, f64)>,
    /// The unit, the limits and the lines of the axis on the right.
    pub(super) right: Option<(&'static str, (f64, f64), &'static [Px4Line])>,
    /// The coloured ranges of the values.
    pub(super) levels: &'static [ValueLevel],
    /// The unit in logs of PX4 before 1.13, in which the levels do not hold, if it is another.
    pub(super) former_unit: Option<&'static str>,
    /// The plot is shown only if the log has one of these topics. Empty if it needs none.
    pub(super) needs: &'static [&'static str],
    /// The plot is shown only if the log does not have this topic, which has the same values more accurately.
    pub(super) superseded_by: Option<&'static str>,
    /// Whether lines that are always 0 are left out: those of outputs without a motor.
    pub(super) omits_zero: bool,
    /// Whether the lines are drawn as flags.
    pub(super) is_flags: bool,
}

impl Px4Plot {
    const fn new(
        title: &'static str,
        unit: &'static str,
        lines: &'static [Px4Line],
    ) -> Self {
        Self {
            title,
            unit,
            lines,
            limits: None,
            right: None,
            levels: &[],
            former_unit: None,
            needs: &[],
            superseded_by: None,
            omits_zero: false,
            is_flags: false,
        }
    }

    const fn with_limits(self, low: f64, high: f64) -> Self {
        Self { limits: Some((low, high)), ..self }
    }

    const fn with_right_axis(
        self,
        unit: &'static str,
        limits: (f64, f64),
        lines: &'static [Px4Line],
    ) -> Self {
        Self { right: Some((unit, limits, lines)), ..self }
    }

    const fn with_levels(self, levels: &'static [ValueLevel]) -> Self {
        Self { levels, ..self }
    }

    const fn with_former_unit(self, unit: &'static str) -> Self {
        Self { former_unit: Some(unit), ..self }
    }

    const fn with_needed_topics(self, needs: &'static [&'static str]) -> Self {
        Self { needs, ..self }
    }

    const fn unless_superseded_by(self, topic: &'static str) -> Self {
        Self { superseded_by: Some(topic), ..self }
    }

    const fn without_zero_lines(self) -> Self {
        Self { omits_zero: true, ..self }
    }

    const fn as_flags(self) -> Self {
        Self { is_flags: true, ..self }
    }
}

/// Returns the plots, in the order of the page.
pub(super) fn plots() -> impl Iterator<Item = &'static Px4Plot> {
    [motion::PLOTS, controls::PLOTS, sensors::PLOTS, system::PLOTS]
        .into_iter()
        .flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use logtool_flight::{flight_topics, signal_topics};
    use logtool_ulog::px4_field_releases;

    use super::*;

    /// Returns each field that an analysis or a plot reads, with its topic. The flags of a plot are named
    /// by their start and `*`.
    fn read_fields() -> Vec<(&'static str, String)> {
        let lines = plots().flat_map(|plot| {
            let right = plot.right.iter().flat_map(|(_, _, lines)| *lines);
            plot.lines.iter().chain(right)
        });
        let lines = lines.flat_map(|(_, topic, fields, _)| {
            let topic = topic.split('.').next().unwrap_or(topic);
            fields.iter().map(move |field| (topic, (*field).to_owned()))
        });
        let needed = flight_topics().iter().chain(signal_topics());
        let needed = needed.flat_map(|needed| {
            let fields = needed.fields.iter();
            fields.map(move |field| (needed.name, (*field).to_owned()))
        });
        let flags = FLAG_TOPICS.iter().flat_map(|plot| plot.topics);
        let flags = flags.flat_map(|(topic, starts)| {
            starts.iter().map(move |start| (*topic, format!("{start}*")))
        });
        lines.chain(needed).chain(flags).collect()
    }

    const FORMER_FIELDS: &str = include_str!("px4/former_fields.txt");

    /// The development branch of PX4 after 1.18.
    const NEWEST: u16 = 0x0113;

    #[test]
    fn fields_that_newer_releases_renamed_are_read_by_their_new_names() {
        let fields = read_fields();
        let is_read = |name: &str| {
            fields.iter().any(|(topic, field)| format!("{topic}.{field}") == name)
        };
        let is_new = |topic: &str, field: &str| {
            let mut ranges = px4_field_releases(topic, field).into_iter();
            ranges.any(|range| range.contains(&NEWEST))
        };
        let lines = FORMER_FIELDS.lines().filter(|line| !line.starts_with('#'));
        let former: BTreeMap<&str, &str> =
            lines.map(|line| line.split_once(' ').unwrap_or((line, ""))).collect();
        for (topic, field) in &fields {
            let name = format!("{topic}.{field}");
            let is_former = former.contains_key(name.as_str());
            assert_ne!(is_new(topic, field), is_former, "{name}: does PX4 have it?");
        }
        for (name, new_name) in &former {
            assert!(is_read(name), "{name}");
            if let Some((topic, field)) = new_name.split_once('.') {
                assert!(is_new(topic, field) && is_read(new_name), "{new_name}");
            }
        }
    }

    #[test]
    fn each_title_is_that_of_one_plot() {
        let titles = plots().map(|plot| plot.title);
        let titles = titles.chain(FLAG_TOPICS.iter().map(|plot| plot.title));
        let mut all = BTreeSet::new();
        for title in titles {
            assert!(all.insert(title), "{title}");
        }
        assert!(all.len() > 40);
    }
}
