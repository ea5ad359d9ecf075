//! The shard of a run, from the option or from the variables of a job.

use logtool::{Error, Result, dataset::Shard};

use crate::args::ShardChoice;

/// Returns the shard of this run, with the name of the option or variable that states it;
/// `None` if this run does all of the work.
pub(super) fn shard(
    choice: Option<ShardChoice>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<(Shard, &'static str)>> {
    let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
    let job = JobIndex::from_variables(&number);
    // An explicit shard does not need the index of the job.
    let is_explicit = matches!(choice, Some(ShardChoice::One(..)));
    if let (false, Some(JobIndex { has_gaps: true, variable, .. })) =
        (is_explicit, &job)
    {
        let what = format!("{variable} belongs to an array with missing indices");
        let hint = "--array=0-7 has no gaps; --shard 3/8 states the part of this run";
        return Err(Error::invalid_request(what).with_hint(hint));
    }
    let (index, count, origin) = match (choice, job) {
        (Some(ShardChoice::One(index, count)), _) => (index, count, "--shard"),
        (Some(ShardChoice::Auto(count)), Some(JobIndex { index, variable, .. })) => {
            (index, count, variable)
        }
        (Some(ShardChoice::Auto(_)), None) => {
            let what = "no variable states the part of this run";
            let hint = "JOB_COMPLETION_INDEX, SLURM_ARRAY_TASK_ID or \
                        AWS_BATCH_JOB_ARRAY_INDEX would; --shard 0/4 states it";
            return Err(Error::invalid_request(what).with_hint(hint));
        }
        (None, Some(JobIndex { index, count: Some(count), variable, .. })) => {
            (index, count, variable)
        }
        (None, Some(JobIndex { variable, .. })) => {
            let what = format!(
                "{variable} states the part of this run, but not the number of parts"
            );
            let hint =
                "--shard auto/8 states the number; --shard 0/1 does all of the work";
            return Err(Error::invalid_request(what).with_hint(hint));
        }
        (None, None) => return Ok(None),
    };
    if index >= count {
        let what =
            format!("{origin} is {index}, and there are {count} parts, counted from 0");
        return Err(Error::invalid_request(what));
    }
    Ok(Shard::new(index, count)?.map(|shard| (shard, origin)))
}

/// The index of a job in an array of jobs.
struct JobIndex {
    index: u32,
    /// The number of jobs, if a variable states it.
    count: Option<u32>,
    /// The variable that states the index.
    variable: &'static str,
    /// Whether jobs between the first and the last index are missing.
    has_gaps: bool,
}

impl JobIndex {
    /// Reads the variables of arrays of Slurm (`sbatch`, "Job Array Support") and of tasks in a
    /// step of one (`srun`), of AWS Batch ("Array jobs"), and of indexed jobs of Kubernetes,
    /// which do not state their number.
    fn from_variables(number: &dyn Fn(&str) -> Option<u32>) -> Option<Self> {
        let without_gaps = |index, count, variable| {
            Some(Self { index, count, variable, has_gaps: false })
        };
        // The script of a job has the variables of a task too, but only a step has an ID.
        let task = number("SLURM_STEP_ID").and(number("SLURM_PROCID"));
        let tasks = number("SLURM_STEP_NUM_TASKS").or_else(|| number("SLURM_NTASKS"));
        let task = task.zip(tasks).filter(|(task, tasks)| task < tasks);
        if let Some(id) = number("SLURM_ARRAY_TASK_ID") {
            return Some(Self::from_slurm_array(id, task, number));
        }
        if let Some((task, tasks)) = task {
            return without_gaps(task, Some(tasks), "SLURM_PROCID");
        }
        if let Some(index) = number("AWS_BATCH_JOB_ARRAY_INDEX") {
            let count = number("AWS_BATCH_JOB_ARRAY_SIZE");
            return without_gaps(index, count, "AWS_BATCH_JOB_ARRAY_INDEX");
        }
        let index = number("JOB_COMPLETION_INDEX")?;
        without_gaps(index, number("JOB_COMPLETION_COUNT"), "JOB_COMPLETION_INDEX")
    }

    /// Returns the index of the job `id` of an array of Slurm. `task` is the index of the task
    /// in the job, and the number of tasks.
    fn from_slurm_array(
        id: u32,
        task: Option<(u32, u32)>,
        number: &dyn Fn(&str) -> Option<u32>,
    ) -> Self {
        let first = number("SLURM_ARRAY_TASK_MIN").unwrap_or(0);
        let step = number("SLURM_ARRAY_TASK_STEP").unwrap_or(1).max(1);
        let index = id.saturating_sub(first) / step;
        let count = number("SLURM_ARRAY_TASK_COUNT");
        let last = number("SLURM_ARRAY_TASK_MAX");
        let has_gaps = last.zip(count).is_some_and(|(last, count)| {
            (last.saturating_sub(first) / step).saturating_add(1) != count
        });
        let (task, tasks) = task.unwrap_or((0, 1));
        Self {
            index: index.saturating_mul(tasks).saturating_add(task),
            count: count.map(|count| count.saturating_mul(tasks)),
            variable: "SLURM_ARRAY_TASK_ID",
            has_gaps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard_of(
        variables: &[(&str, &str)],
        choice: Option<ShardChoice>,
    ) -> Result<Option<(u32, u32)>> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let shard = shard(choice, &variable)?;
        Ok(shard.map(|(shard, _)| (shard.index(), shard.count())))
    }

    #[test]
    fn shard_reads_the_variables_of_array_jobs() {
        let aws =
            [("AWS_BATCH_JOB_ARRAY_INDEX", "2"), ("AWS_BATCH_JOB_ARRAY_SIZE", "5")];
        assert_eq!(shard_of(&aws, None).unwrap(), Some((2, 5)));
        let all = Some(ShardChoice::One(0, 1));
        assert_eq!(shard_of(&aws, all).unwrap(), None, "all of the work");
        // sbatch --array=10-16:2
        let slurm = [
            ("SLURM_ARRAY_TASK_ID", "14"),
            ("SLURM_ARRAY_TASK_MIN", "10"),
            ("SLURM_ARRAY_TASK_MAX", "16"),
            ("SLURM_ARRAY_TASK_STEP", "2"),
            ("SLURM_ARRAY_TASK_COUNT", "4"),
            ("SLURM_PROCID", "0"),
            ("SLURM_NTASKS", "1"),
        ];
        assert_eq!(shard_of(&slurm, None).unwrap(), Some((2, 4)));
        // The script of a job with four tasks does all of the work; a step does its part.
        let script = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")];
        assert_eq!(shard_of(&script, None).unwrap(), None);
        let step =
            [("SLURM_PROCID", "3"), ("SLURM_NTASKS", "4"), ("SLURM_STEP_ID", "0")];
        assert_eq!(shard_of(&step, None).unwrap(), Some((3, 4)));
    }

    #[test]
    fn shard_refuses_arrays_with_gaps_unless_it_is_explicit() {
        // sbatch --array=1,5,9
        let gaps = [
            ("SLURM_ARRAY_TASK_ID", "9"),
            ("SLURM_ARRAY_TASK_MAX", "9"),
            ("SLURM_ARRAY_TASK_MIN", "1"),
            ("SLURM_ARRAY_TASK_STEP", "1"),
            ("SLURM_ARRAY_TASK_COUNT", "3"),
        ];
        let message = shard_of(&gaps, None).unwrap_err().to_string();
        assert!(
            message.contains("SLURM_ARRAY_TASK_ID belongs to an array"),
            "{message}"
        );
        assert!(shard_of(&gaps, Some(ShardChoice::One(1, 3))).is_ok());
    }

    #[test]
    fn shard_needs_the_number_of_kubernetes_jobs() {
        let kubernetes = [("JOB_COMPLETION_INDEX", "7")];
        let shard = |choice| shard_of(&kubernetes, choice);
        assert_eq!(shard(Some(ShardChoice::Auto(8))).unwrap(), Some((7, 8)));
        assert_eq!(shard(Some(ShardChoice::One(1, 2))).unwrap(), Some((1, 2)));
        assert!(shard(None).is_err());
        assert!(shard(Some(ShardChoice::Auto(7))).is_err());
    }

    #[test]
    fn shard_is_none_without_variables() {
        assert_eq!(shard_of(&[], None).unwrap(), None);
        assert!(shard_of(&[], Some(ShardChoice::Auto(3))).is_err());
    }
}
