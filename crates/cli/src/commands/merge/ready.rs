//! Logs as the new one takes them: translated, on its clock, with names that differ.

use std::{collections::BTreeMap, sync::Arc};

use logtool::{
    Result,
    error::Context as _,
    formats::LogFormat,
    time::{offset::Moved, usable::Usable},
    translate::{Frames, Way, Wish},
};
use logtool_core::{Extract, Log, MovedLog, Selection, Shift, TopicSet};

use crate::{
    args::{GlobalArgs, MergeArgs},
    commands::merge::sources::Source,
    notices,
    terminal::say,
};

/// A log as the new one takes it.
pub(super) struct Ready {
    pub(super) log: Arc<dyn Log>,
    topics: TopicSet,
    /// How it is translated, if it is.
    pub(super) way: Option<Way>,
    /// What is told of it beside its records.
    pub(super) words: Vec<(String, BTreeMap<String, String>)>,
}

impl Ready {
    /// Everything but what is made of other records.
    pub(super) fn extract(&self) -> Extract<'_> {
        let selection =
            Selection { topics: self.topics.clone(), ..Selection::default() };
        Extract { manifest: self.log.manifest(), selection }
    }
}

/// `sources` as a log of `format` takes them, each moved as
/// `moved` says. Tells people what is not as it was.
pub(super) fn ready(
    sources: &[Source],
    moved: &[Moved],
    format: LogFormat,
    args: &MergeArgs,
    global: &GlobalArgs,
) -> Result<Vec<Ready>> {
    let mut all: Vec<Ready> = Vec::new();
    let wish = Wish::typed(args.writing.ros2, args.foxglove);
    let way = |source: &Source| Way::of(source.log.manifest(), format, wish);
    let ways: Vec<Option<Way>> = sources.iter().map(way).collect();
    wish.check(&ways)?;
    for ((source, moved), way) in sources.iter().zip(moved).zip(&ways) {
        let manifest = source.log.manifest();
        let mut remarks = Vec::new();
        let ready = match way {
            Some(way) => {
                let topics = way.all_topics(manifest);
                if way.is_of_lidar() {
                    notices::lidars(&source.input.name, manifest, &topics);
                }
                let wanted = Selection { topics, ..Selection::default() };
                let frames = Frames::default();
                let prepared =
                    way.prepare(source.log.clone(), &wanted, *moved, &frames);
                let prepared = prepared.with_context(|| source.input.name.clone())?;
                notices::warnings(&source.input.name, &prepared.warnings);
                remarks = prepared.remarks;
                remarks.extend(way.left_out(manifest, format));
                let words = way.words(manifest, source.input.file_name());
                Ready {
                    log: prepared.log,
                    topics: TopicSet::All,
                    way: Some(*way),
                    words,
                }
            }
            None => {
                let mut log = source.log.clone();
                if source.format() != Some(format) {
                    let usable = Usable::new(log)?;
                    log = usable.log;
                    notices::warnings(&source.input.name, usable.warning.as_slice());
                }
                let log: Arc<dyn Log> = match moved.nanos {
                    0 => log,
                    nanos => Arc::new({
                        let none = BTreeMap::new();
                        MovedLog::new(log, Shift::new(nanos), &none)
                    }),
                };
                let (topics, words) = (manifest.logged(), Vec::new());
                Ready { log, topics, way: None, words }
            }
        };
        if source.drift.is_some() {
            remarks.push("its clock runs off, which is put right".to_owned());
        }
        let zero = if moved.is_unix { ", to Unix time" } else { "" };
        remarks.extend(moved.told().map(|told| format!("{told}{zero}")));
        if !global.quiet {
            let name = &source.input.name;
            remarks.iter().for_each(|remark| say!("{name}: {remark}"));
        }
        all.push(ready);
    }
    Ok(all)
}
