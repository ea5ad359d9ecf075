//! The plots of a flight of PX4: those of its Flight Review that need no analysis.

mod recipes;

use std::sync::Arc;

use anyhow::Result;
use logtool_core::{Log, TimeRange};
use logtool_plot::{Band, Block, Chart, Line, Panel, TimeAxis};

use crate::{
    commands::report::{
        Seen,
        plots::recipes::{PLOTS, Recipe, Way},
    },
    signals::{self, Wanted},
};

/// How many columns of time a plot has.
const COLUMNS: usize = 450;

/// The plots of `log`, if it is one of PX4, with its flight modes behind.
pub(super) fn of_px4(
    log: &dyn Log,
    time: TimeRange,
    bands: &[Band],
    seen: &mut Seen,
) -> Result<Vec<Block>> {
    if log.manifest().format != "ulog" {
        return Ok(Vec::new());
    }
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
            plots.push((*title, *unit, first..wanted.len()));
        }
    }
    let read = signals::read(log, &wanted, time, COLUMNS, &|_| {})?;
    seen.damage.extend(read.damage);
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
        let chart = Chart {
            panels: vec![Panel { unit: unit.to_owned(), lines }],
            bands: bands.to_vec(),
            time: axis(time),
            ..Chart::default()
        };
        blocks.push(Block::Plot(title.to_owned(), chart));
    }
    Ok(blocks)
}

/// Seconds since the log begins, all of them.
fn axis(time: TimeRange) -> TimeAxis {
    let (start, end) = (time.start.as_nanos(), time.end.as_nanos());
    TimeAxis {
        zero: start,
        name: "s".to_owned(),
        range: Some((start, end.saturating_sub(1))),
        ..TimeAxis::default()
    }
}

/// The line that `recipe` makes, if the log has what it takes.
fn made(log: &dyn Log, (name, topic, columns, way): &Recipe) -> Option<Wanted> {
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
    use crate::commands::report::plots::recipes::Way::{Norm, Pitch, Roll, Yaw};

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
}
