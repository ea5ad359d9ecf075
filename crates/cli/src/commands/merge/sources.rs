//! The logs that are merged, as they were typed.

use std::{path::PathBuf, sync::Arc};

use anyhow::Result;
use logtool_core::Log;

use crate::{
    args::{GlobalArgs, MergeArgs, Offset, TimeChoice},
    complaint::Complaint,
    findings::Findings,
    input::Input,
    lidars, opened,
};

/// A log that is merged with others.
pub(super) struct Source {
    pub(super) input: Input,
    pub(super) log: Arc<dyn Log>,
    pub(super) findings: Findings,
    /// What its times are to be moved by, if somebody said so.
    pub(super) offset: Option<i64>,
}

impl Source {
    /// The name of its format.
    pub(super) fn format(&self) -> &str {
        &self.log.manifest().format
    }
}

/// Opens the files that were typed, and finds which of them the offsets are for.
pub(super) fn open(args: &MergeArgs, global: &GlobalArgs) -> Result<Vec<Source>> {
    let (files, moved) = (&args.files, moved(&args.files, &args.offsets)?);
    let lidar = lidars::options(&args.lidar, TimeChoice::Boot)?;
    let mut sources = Vec::new();
    for (file, offset) in files.iter().zip(moved) {
        let opened = opened::open_to_copy(file, global, &lidar)?;
        let mut findings = Findings::of(&opened.input, opened.log.manifest());
        findings.check(global.strict)?;
        let (input, log) = (opened.input, opened.log.into());
        sources.push(Source { input, log, findings, offset });
    }
    Ok(sources)
}

/// What the times of each file are to be moved by.
fn moved(files: &[PathBuf], offsets: &[Offset]) -> Result<Vec<Option<i64>>> {
    let mut moved = vec![None; files.len()];
    for Offset { name, nanos } in offsets {
        let is_path = |file: &PathBuf| file.as_os_str() == name.as_str();
        let is_name =
            |file: &PathBuf| file.file_name().is_some_and(|own| own == name.as_str());
        let all = |is: &dyn Fn(&PathBuf) -> bool| -> Vec<usize> {
            let found = files.iter().enumerate().filter(|(_, file)| is(file));
            found.map(|(index, _)| index).collect()
        };
        let number =
            name.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let by_number =
            || number.filter(|index| *index < files.len()).into_iter().collect();
        let found = [all(&is_path), all(&is_name), by_number()];
        let found = found.into_iter().find(|found: &Vec<usize>| !found.is_empty());
        let place = match found.as_deref() {
            Some([index]) => moved.get_mut(*index),
            Some(_) => {
                let what = format!("--offset {name}: several files have that name");
                let hint = "their numbers tell them apart, as 2=-2.345";
                return Err(Complaint::misuse(what).hint(hint).into());
            }
            None => None,
        };
        let Some(place) = place else {
            let what = format!("--offset {name}: none of the files has that name");
            return Err(Complaint::misuse(what).into());
        };
        if place.replace(*nanos).is_some() {
            let what = format!("--offset {name}: it was given twice");
            return Err(Complaint::misuse(what).into());
        }
    }
    Ok(moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_meant_by_path_name_or_number() {
        let files = ["a/x.bag", "b/x.bag", "c/y.ulg"].map(PathBuf::from);
        let of = |texts: &[&str]| {
            let offsets: Vec<Offset> =
                texts.iter().map(|text| text.parse().unwrap()).collect();
            moved(&files, &offsets)
        };
        let found = of(&["b/x.bag=-2.345", "y.ulg=1.5", "1=0.000000001"]).unwrap();
        assert_eq!(found, [Some(1), Some(-2_345_000_000), Some(1_500_000_000)]);
        for wrong in [&["x.bag=1"][..], &["z=1"], &["4=1"], &["0=1"], &["1=1", "1=2"]] {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
        assert!("x".parse::<Offset>().is_err() && "=1".parse::<Offset>().is_err());
    }
}
