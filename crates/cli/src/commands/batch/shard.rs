//! Which part of the work one of several runs does.

use std::{cmp::Reverse, collections::BTreeMap, fmt};

use logtool::{Error, Result};

use crate::{args::ShardChoice, commands::batch::inputs::Found};

/// One of several parts of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shard {
    /// Counted from 0.
    pub(super) index: u32,
    /// More than 1.
    pub(super) count: u32,
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-of-{}", self.index, self.count)
    }
}

/// The part that was asked for, or that the variables of the environment tell; nothing if
/// all is to be done, and by which variable if it was one.
pub(super) fn wanted(
    choice: Option<ShardChoice>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<(Shard, &'static str)>> {
    let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
    let told = told(&number);
    // Who says which part it is needs no number.
    let is_asked = matches!(choice, Some(ShardChoice::One(..)));
    if let (false, Some(Told { has_gaps: true, by, .. })) = (is_asked, &told) {
        let what = format!("{by} is of an array in which numbers are missing");
        let hint = "--array=0-7 has none; --shard 3/8 says which part this is";
        return Err(Error::invalid(what).with_hint(hint));
    }
    let (index, count, by) = match (choice, told) {
        (Some(ShardChoice::One(index, count)), _) => (index, count, "--shard"),
        (Some(ShardChoice::Auto(count)), Some(Told { index, by, .. })) => {
            (index, count, by)
        }
        (Some(ShardChoice::Auto(_)), None) => {
            let what = "no variable says which part of the work this is";
            let hint = "JOB_COMPLETION_INDEX, SLURM_ARRAY_TASK_ID or \
                        AWS_BATCH_JOB_ARRAY_INDEX would; --shard 0/4 names one";
            return Err(Error::invalid(what).with_hint(hint));
        }
        (None, Some(Told { index, count: Some(count), by, .. })) => (index, count, by),
        (None, Some(Told { by, .. })) => {
            let what = format!(
                "{by} says which part of the work this is, and not of how many"
            );
            let hint = "--shard auto/8 says of how many; --shard 0/1 does all of it";
            return Err(Error::invalid(what).with_hint(hint));
        }
        (None, None) => return Ok(None),
    };
    if index >= count {
        let what =
            format!("{by} is {index}, and there are {count} parts, counted from 0");
        return Err(Error::invalid(what));
    }
    Ok((count > 1).then_some((Shard { index, count }, by)))
}

/// What variables tell.
struct Told {
    index: u32,
    count: Option<u32>,
    by: &'static str,
    /// Whether not all numbers from the first to the last are those of parts.
    has_gaps: bool,
}

/// What the variables tell that jobs have: of arrays of Slurm (`sbatch`, "Job Array
/// Support"), and of tasks in a step of one (`srun`); of AWS Batch ("Array jobs"); of
/// indexed jobs of Kubernetes, which do not say how many they are.
fn told(number: &dyn Fn(&str) -> Option<u32>) -> Option<Told> {
    let of = |index, count, by| Some(Told { index, count, by, has_gaps: false });
    // The script of a job has these too, and is no task: only a step has a number.
    let task = number("SLURM_STEP_ID").and(number("SLURM_PROCID"));
    let tasks = number("SLURM_STEP_NUM_TASKS").or_else(|| number("SLURM_NTASKS"));
    let task = task.zip(tasks).filter(|(task, tasks)| task < tasks);
    if let Some(id) = number("SLURM_ARRAY_TASK_ID") {
        let first = number("SLURM_ARRAY_TASK_MIN").unwrap_or(0);
        let step = number("SLURM_ARRAY_TASK_STEP").unwrap_or(1).max(1);
        let index = id.saturating_sub(first) / step;
        let count = number("SLURM_ARRAY_TASK_COUNT");
        let last = number("SLURM_ARRAY_TASK_MAX");
        let has_gaps = last.zip(count).is_some_and(|(last, count)| {
            (last.saturating_sub(first) / step).saturating_add(1) != count
        });
        let (task, tasks) = task.unwrap_or((0, 1));
        let index = index.saturating_mul(tasks).saturating_add(task);
        let count = count.map(|count| count.saturating_mul(tasks));
        return Some(Told { index, count, by: "SLURM_ARRAY_TASK_ID", has_gaps });
    }
    if let Some((task, tasks)) = task {
        return of(task, Some(tasks), "SLURM_PROCID");
    }
    if let Some(index) = number("AWS_BATCH_JOB_ARRAY_INDEX") {
        return of(
            index,
            number("AWS_BATCH_JOB_ARRAY_SIZE"),
            "AWS_BATCH_JOB_ARRAY_INDEX",
        );
    }
    let index = number("JOB_COMPLETION_INDEX")?;
    of(index, number("JOB_COMPLETION_COUNT"), "JOB_COMPLETION_INDEX")
}

impl Shard {
    /// Of each of `logs`, which part it is of. It depends on nothing but them: the largest is
    /// given away first, always to the part that has the fewest bytes.
    pub(super) fn parts(self, logs: &[Found]) -> Vec<u32> {
        let mut order: Vec<usize> = (0..logs.len()).collect();
        order.sort_by_key(|index| {
            logs.get(*index).map(|log| (Reverse(log.bytes), &log.source))
        });
        let mut loads: Vec<(u64, u32)> =
            (0..self.count).map(|part| (0, part)).collect();
        let mut parts = vec![0; logs.len()];
        for index in order {
            let least = loads.iter_mut().min();
            if let (Some((load, part)), Some(log), Some(place)) =
                (least, logs.get(index), parts.get_mut(index))
            {
                // Each log is some work, however short it is.
                *load = load.saturating_add(log.bytes.max(4096));
                *place = *part;
            }
        }
        parts
    }

    /// The part that a log of this name is of, which is no longer among the inputs.
    pub(super) fn part_of_name(self, name: &str) -> u32 {
        let hash = blake3::hash(name.as_bytes());
        let word =
            hash.as_bytes().first_chunk().map_or(0, |four| u32::from_le_bytes(*four));
        word % self.count
    }
}

/// Which part of the work each log of a data set is of.
pub(super) struct Division {
    /// The part that this run does, if it does not do all.
    pub(super) own: Option<Shard>,
    /// Of the logs that are among the inputs, by their names.
    parts: BTreeMap<String, u32>,
}

impl Division {
    /// Of the `logs` with these `names` among the inputs, of which this run does the part `own`.
    pub(super) fn new(own: Option<Shard>, logs: &[Found], names: &[String]) -> Self {
        let parts = own.map(|own| names.iter().cloned().zip(own.parts(logs)).collect());
        Self { own, parts: parts.unwrap_or_default() }
    }

    /// Whether the log called `name` is of the part `shard`, or that is all.
    pub(super) fn is_of(&self, name: &str, shard: Option<Shard>) -> bool {
        let is_of = |shard: Shard| {
            let known = self.parts.get(name).copied();
            known.unwrap_or_else(|| shard.part_of_name(name)) == shard.index
        };
        shard.is_none_or(is_of)
    }

    /// Whether the log called `name` is of the part that this run does.
    pub(super) fn is_own(&self, name: &str) -> bool {
        self.is_of(name, self.own)
    }

    /// The parts that other runs do.
    pub(super) fn others(&self) -> impl Iterator<Item = Shard> {
        let own = self.own;
        let count = own.map_or(0, |own| own.count);
        let all = (0..count).map(move |index| Shard { index, count });
        all.filter(move |shard| own != Some(*shard))
    }
}

#[cfg(test)]
mod tests;
