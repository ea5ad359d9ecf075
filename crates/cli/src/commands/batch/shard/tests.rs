use std::path::PathBuf;

use super::*;

fn told_by(
    variables: &[(&str, &str)],
    choice: Option<ShardChoice>,
) -> Option<(u32, u32)> {
    let variable = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let (shard, _) = wanted(choice, &variable).unwrap()?;
    Some((shard.index, shard.count))
}

#[test]
fn jobs_know_which_part_they_are() {
    let aws = [("AWS_BATCH_JOB_ARRAY_INDEX", "2"), ("AWS_BATCH_JOB_ARRAY_SIZE", "5")];
    assert_eq!(told_by(&aws, None), Some((2, 5)));
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
    assert_eq!(told_by(&slurm, None), Some((2, 4)));
    // sbatch --array=1,5,9
    let gaps = |name: &str| match name {
        "SLURM_ARRAY_TASK_ID" | "SLURM_ARRAY_TASK_MAX" => Some("9".to_owned()),
        "SLURM_ARRAY_TASK_MIN" | "SLURM_ARRAY_TASK_STEP" => Some("1".to_owned()),
        "SLURM_ARRAY_TASK_COUNT" => Some("3".to_owned()),
        _ => None,
    };
    let told = wanted(None, &gaps).unwrap_err().to_string();
    assert!(told.contains("SLURM_ARRAY_TASK_ID is of an array"), "{told}");
    assert!(wanted(Some(ShardChoice::One(1, 3)), &gaps).is_ok());
    // The script of a job of four tasks does all; a step of it, its own.
    let script = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")];
    assert_eq!(told_by(&script, None), None);
    let step = [("SLURM_PROCID", "3"), ("SLURM_NTASKS", "4"), ("SLURM_STEP_ID", "0")];
    assert_eq!(told_by(&step, None), Some((3, 4)));
    let kubernetes = [("JOB_COMPLETION_INDEX", "7")];
    assert_eq!(told_by(&kubernetes, Some(ShardChoice::Auto(8))), Some((7, 8)));
    assert_eq!(told_by(&kubernetes, Some(ShardChoice::One(1, 2))), Some((1, 2)));
    assert!(
        wanted(None, &|name| kubernetes
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| (*value).to_owned()))
        .is_err()
    );
    assert_eq!(told_by(&aws, Some(ShardChoice::One(0, 1))), None, "all of it");
    assert_eq!(told_by(&[], None), None);
    assert!(wanted(Some(ShardChoice::Auto(3)), &|_| None).is_err());
}

#[test]
fn parts_are_disjoint_and_about_as_large() {
    let sizes = [900_u64, 10, 10, 300, 300, 280, 5, 5].map(|size| size << 20);
    let logs: Vec<Found> = sizes
        .iter()
        .enumerate()
        .map(|(index, bytes)| Found {
            path: PathBuf::new(),
            source: index.to_string(),
            called: String::new(),
            bytes: *bytes,
            modified: None,
        })
        .collect();
    let parts = |index| Shard { index, count: 2 }.parts(&logs);
    assert_eq!(parts(0), parts(1));
    let load = |part| {
        let own = parts(0).into_iter().zip(sizes).filter(|(of, _)| *of == part);
        own.map(|(_, size)| size >> 20).sum::<u64>()
    };
    assert_eq!((load(0), load(1)), (905, 905));
}
