//! The plots of a flight of PX4, those of its Flight Review that need no analysis; and of
//! topics of known types in other logs.

mod recipes;
mod types;

use std::{ops::Range, sync::Arc};

use logtool::{
    Result,
    formats::LogFormat,
    signals::{self, Wanted},
    time::{clock::ShownClock, record_span},
    units::counted,
};
use logtool_core::{Log, TimeRange, Topic, TopicId, TopicOrigin};
use logtool_plot::{Band, Block, Chart, Line, Panel, TimeAxis};

use crate::{
    args::TimeChoice,
    commands::{
        plot,
        report::{
            Seen,
            plots::{
                recipes::{LIMITS, PLOTS, Recipe, Way},
                types::{TYPES, TypeLine},
            },
        },
    },
};

/// How many columns of time a plot has.
const COLUMNS: usize = 450;

/// More plots than these are not shown of one log, but for those of PX4.
const MOST: usize = 40;

/// The times that were asked for, the clock of the axis, and what is behind the lines.
pub(super) struct Shown<'s> {
    pub(super) time: TimeRange,
    pub(super) choice: TimeChoice,
    pub(super) clock: &'s ShownClock,
    pub(super) bands: &'s [Band],
}

/// A plot: its title, its unit, and which of the lines that are read are in it.
type Plot = (String, String, Range<usize>);

/// The plots of `log`: of PX4 with its flight modes behind.
pub(super) fn all(
    log: &dyn Log,
    shown: &Shown<'_>,
    seen: &mut Seen,
) -> Result<Vec<Block>> {
    let (wanted, plots, more) = match LogFormat::of(log.manifest()) {
        Some(LogFormat::Ulog) => of_px4(log),
        _ => of_types(log),
    };
    if plots.is_empty() {
        return Ok(Vec::new());
    }
    let mut blocks = drawn(log, &wanted, plots, shown, seen)?;
    if more > 0 {
        let more = counted(more, "more plot");
        let what = format!("and {more}, which `logtool plot` draws, of other topics");
        blocks.push(Block::Note(what));
    }
    Ok(blocks)
}

/// Those of PX4; none are left out.
fn of_px4(log: &dyn Log) -> (Vec<Wanted>, Vec<Plot>, u64) {
    let mut wanted: Vec<Wanted> = Vec::new();
    let mut plots = Vec::new();
    for (title, unit, recipes) in PLOTS {
        let first = wanted.len();
        for recipe in *recipes {
            let is_there = |w: &Wanted| w.name == recipe.0;
            if wanted.get(first..).is_some_and(|own| own.iter().any(is_there)) {
                continue;
            }
            wanted.extend(made(log, recipe));
        }
        if wanted.len() > first {
            let (title, unit) = ((*title).to_owned(), (*unit).to_owned());
            plots.push((title, unit, first..wanted.len()));
        }
    }
    (wanted, plots, 0)
}

/// Those of topics of known types, and how many more there would be.
fn of_types(log: &dyn Log) -> (Vec<Wanted>, Vec<Plot>, u64) {
    let (mut wanted, mut plots): (Vec<Wanted>, Vec<Plot>) = (Vec::new(), Vec::new());
    let mut more = 0;
    let logged = |(_, topic): &(TopicId, &Topic)| {
        topic.origin == TopicOrigin::Logged && topic.records != Some(0)
    };
    for (id, topic) in log.manifest().topics().filter(logged) {
        // ROS 2 calls `sensor_msgs/Imu` `sensor_msgs/msg/Imu`.
        let name = topic.type_name.replace("/msg/", "/");
        let known = TYPES.iter().find(|(known, _)| name == *known);
        for (what, unit, lines) in known.map_or(&[][..], |(_, plots)| *plots) {
            let first = wanted.len();
            wanted.extend(lines.iter().filter_map(|line| of_type(log, id, line)));
            let Some(own) = wanted.get(first) else { continue };
            if plots.len() >= MOST {
                wanted.truncate(first);
                more += 1;
                continue;
            }
            let unit =
                if unit.is_empty() { own.unit.clone() } else { (*unit).to_owned() };
            let title = format!("{} {what}", topic.label());
            plots.push((title.trim_end().to_owned(), unit, first..wanted.len()));
        }
    }
    (wanted, plots, more)
}

/// The line of the topic `id`, if it has what that takes.
fn of_type(log: &dyn Log, id: TopicId, line: &TypeLine) -> Option<Wanted> {
    let (name, columns, way) = line;
    let mut made: Option<Wanted> = None;
    for column in *columns {
        let found = signals::of_topic(log, id, column)?;
        match &mut made {
            Some(made) => made.inputs.extend(found.inputs),
            none => *none = Some(found),
        }
    }
    let mut made = made?;
    made.name = (*name).to_owned();
    let way = *way;
    made.of = Arc::new(move |numbers| way.of(numbers));
    made.is_held = false;
    Some(made)
}

/// The plots, of what is `wanted`.
fn drawn(
    log: &dyn Log,
    wanted: &[Wanted],
    plots: Vec<Plot>,
    shown: &Shown<'_>,
    seen: &mut Seen,
) -> Result<Vec<Block>> {
    let read = signals::read(log, wanted, shown.time, COLUMNS, &|_| {})?;
    seen.damage.extend(read.damage);
    let manifest = log.manifest();
    let all = match read.span.stray {
        Some(_) => read.span.usual,
        None => manifest.time.unwrap_or(read.span.usual),
    };
    // Of a whole log the axis shows when there is something in the plots.
    let is_part = shown.time != TimeRange::ALL;
    let asked = plot::ends(record_span::within(shown.time, all));
    let mut time = TimeAxis { range: is_part.then_some(asked), ..TimeAxis::default() };
    time.cover(read.signals.iter());
    let (first, _) = time.range.unwrap_or(asked);
    let axis = plot::axis(shown.choice, shown.clock, manifest, first);
    let time = TimeAxis { range: time.range, ..axis };
    let mut blocks = Vec::new();
    for (title, unit, range) in plots {
        let own = wanted.iter().zip(&read.signals).skip(range.start).take(range.len());
        let lines =
            own.filter(|(_, signal)| signal.values > 0).map(|(wanted, signal)| {
                let (name, is_held) = (wanted.name.clone(), wanted.is_held);
                Line { name, signal: signal.clone(), is_held }
            });
        let lines: Vec<Line> = lines.collect();
        if lines.is_empty() {
            continue;
        }
        let limits = LIMITS.iter().find(|(of, _)| *of == title);
        let limits = limits.map(|(_, limits)| *limits);
        let chart = Chart {
            panels: vec![Panel { unit, limits, lines }],
            bands: shown.bands.to_vec(),
            time: time.clone(),
            ..Chart::default()
        };
        blocks.push(Block::Plot(title, chart));
    }
    blocks.extend(
        plot::stray(read.signals.iter(), &read.span, shown.clock).map(Block::Note),
    );
    Ok(blocks)
}

/// The line that `recipe` makes, if the log has what it takes.
fn made(log: &dyn Log, (name, topic, columns, way): &Recipe) -> Option<Wanted> {
    let topic = log.manifest().topic(topic).ok()?;
    let mut made: Option<Wanted> = None;
    for column in *columns {
        let found = signals::of_topic(log, topic, column)?;
        match &mut made {
            Some(made) => made.inputs.extend(found.inputs),
            none => *none = Some(found),
        }
    }
    let mut made = made?;
    made.name = (*name).to_owned();
    let way = *way;
    made.of = Arc::new(move |numbers| way.of(numbers));
    Some(made)
}

impl Way {
    fn of(self, numbers: &[f64]) -> f64 {
        let first = numbers.first().copied().unwrap_or(f64::NAN);
        match (self, numbers) {
            (Self::Degrees, _) => first.to_degrees(),
            (Self::Negative, _) => -first,
            (Self::Percent, _) => first * 100.0,
            (Self::Thousandth, _) => first / 1000.0,
            (Self::Where { least, factor }, [_, told, ..]) => match *told >= least {
                true => first * factor,
                false => f64::NAN,
            },
            (Self::Norm, _) => {
                numbers.iter().map(|part| part * part).sum::<f64>().sqrt()
            }
            // Tait-Bryan angles, z-y'-x'', of the quaternion w, x, y, z.
            (Self::Roll, [w, x, y, z]) => {
                (2.0 * (w * x + y * z)).atan2(1.0 - 2.0 * (x * x + y * y)).to_degrees()
            }
            (Self::Pitch, [w, x, y, z]) => {
                (2.0 * (w * y - z * x)).clamp(-1.0, 1.0).asin().to_degrees()
            }
            (Self::Yaw, [w, x, y, z]) => {
                (2.0 * (w * z + x * y)).atan2(1.0 - 2.0 * (y * y + z * z)).to_degrees()
            }
            _ => first,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::commands::report::plots::recipes::Way::{Norm, Pitch, Roll, Where, Yaw};

    #[test]
    fn quaternions_are_turned_into_angles() {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        // A quarter turn around each axis.
        assert!(close(Roll.of(&[half, half, 0.0, 0.0]), 90.0));
        assert!(close(Yaw.of(&[half, 0.0, 0.0, half]), 90.0));
        assert!(close(
            Pitch.of(&[0.5_f64.cos(), 0.0, 0.5_f64.sin(), 0.0]),
            1_f64.to_degrees()
        ));
        assert_eq!(Norm.of(&[3.0, 4.0]), 5.0);
    }

    #[test]
    fn what_is_told_without_a_fix_is_nothing() {
        let height = Where { least: 3.0, factor: 1e-3 };
        assert_eq!(height.of(&[488_000.0, 3.0]), 488.0);
        assert_eq!(height.of(&[488_000.0, 6.0]), 488.0);
        assert!(height.of(&[-17.0, 0.0]).is_nan());
        assert!(height.of(&[488_000.0, f64::NAN]).is_nan());
    }
}
