//! The plots of logs of PX4: those of Flight Review (`configured_plots.py`), and flags.

mod controls;
mod flags;
mod motion;
mod sensors;
mod system;

use logtool_plot::{Level, Rgb};

use crate::inspect::report::plots::transform::Transform;

pub(super) use self::flags::{FLAG_TOPICS, FlagTopic};

/// A line: its name, its topic, the columns that it is computed from, and how.
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
    use std::collections::BTreeSet;

    use super::*;

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
