//! The losses of an input: collected, combined, and summarised as text.

mod line;
pub mod loss;
mod summary;
pub mod topic_loss;

use logtool_core::{Damage, DamageKind, Manifest, TopicSet};

use crate::{
    error::{Error, ErrorKind, Result},
    source::losses::{line::LossLine, loss::Finding},
};

/// Whether damage and losses are errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Everything else is read, and the losses are reported.
    #[default]
    Tolerant,
    /// The request fails, and leaves no output.
    Strict,
}

impl Strictness {
    /// Returns whether a request fails at the first loss.
    pub fn is_strict(self) -> bool {
        self == Self::Strict
    }
}

/// All losses and anomalies of one input.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    name: String,
    bytes: u64,
    list: Vec<Finding>,
    /// The number of losses, from the first on, that are in the order of the file.
    sorted: usize,
    /// The damage of several records, which may cover long ranges.
    wide: Vec<Damage>,
}

/// The maximum number of findings that are shown; of the others, only the number is shown.
const MAX_LINES: usize = 10;
/// The maximum number of findings that are not combined although they have the same kind and topic.
const MAX_SEPARATE: usize = 10_000;
/// The number of preceding findings that are searched for one that contains new damage.
const LOOK_BACK: usize = 64;

impl Findings {
    /// Creates the findings about the input called `name`: its `loss` due to damaged
    /// compressed bytes, and what was found while its log with `manifest` was opened.
    pub(crate) fn from_manifest(
        name: &str,
        loss: Option<&Finding>,
        manifest: &Manifest,
    ) -> Self {
        let mut findings = Self {
            name: name.to_owned(),
            bytes: manifest.bytes,
            list: loss.cloned().into_iter().collect(),
            sorted: 0,
            wide: Vec::new(),
        };
        let damage = manifest.damage.iter();
        findings.list.extend(damage.map(|damage| Finding::new(manifest, damage)));
        findings.sort();
        let wide = manifest.damage.iter().filter(|damage| damage.records > 1);
        findings.wide = wide.take(LOOK_BACK * 16).cloned().collect();
        findings
    }

    /// Sets the length of the log, which may have grown. Losses are also stated as shares of it.
    pub fn set_log_bytes(&mut self, bytes: u64) {
        self.bytes = bytes;
    }

    /// Adds the damage that was found while `topics` were read. Damage that is already known from
    /// opening, and damage of other topics, is ignored.
    pub fn add(
        &mut self,
        manifest: &Manifest,
        topics: &TopicSet,
        damage_list: &[Damage],
    ) {
        for damage in damage_list {
            let is_wanted = damage.topic.is_none_or(|topic| topics.contains(topic));
            if !is_wanted || self.is_known(damage) {
                continue;
            }
            let is_full = self.list.len() - self.sorted >= MAX_SEPARATE;
            let mut before =
                self.list.iter_mut().skip(self.sorted).rev().take(LOOK_BACK);
            let like = before.find(|before| {
                (is_full || damage.kind.affects_found_records())
                    && before.damage.can_join(damage)
            });
            match like {
                Some(like) => {
                    let mut joint = like.damage.clone();
                    joint.join(damage.clone());
                    *like = Finding::new(manifest, &joint);
                }
                None => self.list.push(Finding::new(manifest, damage)),
            }
        }
    }

    fn is_known(&self, damage: &Damage) -> bool {
        let sorted = &self.list[..self.sorted];
        let starts_before =
            |known: &Finding| known.damage.bytes.start <= damage.bytes.start;
        let before = &sorted[..sorted.partition_point(starts_before)];
        let mut near = before.iter().rev().take(LOOK_BACK);
        near.any(|known| covers(&known.damage, damage))
            || self.wide.iter().any(|known| covers(known, damage))
            || self.is_known_in_parts(damage)
    }

    /// Returns whether `damage`, which combines neighbours, is already known as several findings.
    fn is_known_in_parts(&self, damage: &Damage) -> bool {
        let sorted = &self.list[..self.sorted];
        let first = sorted
            .partition_point(|known| known.damage.bytes.start < damage.bytes.start);
        let candidates = sorted[first..].iter().map(|known| &known.damage);
        let candidates =
            candidates.take_while(|known| known.bytes.start < damage.bytes.end);
        let matches = candidates.filter(|known| {
            known.can_join(damage) && known.bytes.end <= damage.bytes.end
        });
        let sum = |(records, bytes): (u64, u64), known: &Damage| {
            (records + known.records, bytes + known.lost_bytes)
        };
        let (records, bytes) = matches.fold((0, 0), sum);
        damage.records > 0 && records >= damage.records && bytes >= damage.lost_bytes
    }

    fn sort(&mut self) {
        self.list.sort_by_key(|finding| finding.damage.bytes.start);
        self.sorted = self.list.len();
    }

    /// Returns whether some of the input is lost or damaged.
    pub fn has_damage(&self) -> bool {
        self.list.iter().any(|finding| finding.damage.kind.is_harmful())
    }

    /// Returns whether there are no findings.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the name of the input.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether the records that were read are damaged.
    pub fn is_damaged(&self) -> bool {
        self.list.iter().any(|finding| is_damage(&finding.damage))
    }

    /// Returns whether a record was longer than the session allows.
    pub fn is_over_limit(&self) -> bool {
        self.list.iter().any(|finding| finding.damage.kind == DamageKind::OverLimit)
    }

    /// Returns all findings, in the order of the file.
    pub fn sorted_findings(&mut self) -> &[Finding] {
        self.sort();
        &self.list
    }

    /// Fails at the first loss or damage in a strict request.
    pub fn check(&mut self, strictness: Strictness) -> Result<()> {
        if !strictness.is_strict() {
            // Sorting only after the list has doubled keeps the cost linear.
            if self.list.len() > 2 * self.sorted + MAX_LINES {
                self.sort();
            }
            return Ok(());
        }
        let name = self.name.clone();
        let harm = self
            .sorted_findings()
            .iter()
            .find(|finding| finding.damage.kind.is_harmful());
        match harm {
            None => Ok(()),
            Some(first) => {
                let prefix = if is_damage(&first.damage) { "damaged: " } else { "" };
                let message = format!("{prefix}{}", first.text);
                Err(Error::new(ErrorKind::Damaged, message).context(name))
            }
        }
    }

    /// Returns one line for each finding, or for the first of them and the number of the others.
    /// Losses of one topic for the same reason share a line.
    pub fn lines(&mut self) -> Vec<String> {
        let mut list: Vec<LossLine<'_>> = Vec::new();
        for finding in self.sorted_findings() {
            let like =
                list.iter_mut().take(MAX_LINES).find(|line| line.is_like(finding));
            match like {
                Some(like) => like.add(finding),
                None => list.push(LossLine { finding, more: 0, end: 0 }),
            }
        }
        let mut lines: Vec<String> =
            list.iter().take(MAX_LINES).map(LossLine::to_string).collect();
        if list.len() > MAX_LINES {
            let more = list.len() - MAX_LINES;
            lines.push(format!(
                "… and {more} more (the JSON report of `info` lists all)"
            ));
        }
        lines
    }
}

/// Returns whether the records that were read are affected.
fn is_damage(damage: &Damage) -> bool {
    !matches!(
        damage.kind,
        DamageKind::Latin1
            | DamageKind::IncompleteText
            | DamageKind::NoColumn
            | DamageKind::Unsupported
    )
}

/// Returns whether `known` includes `damage`.
pub(super) fn covers(known: &Damage, damage: &Damage) -> bool {
    known.kind == damage.kind
        && known.topic == damage.topic
        && known.bytes.start <= damage.bytes.start
        && damage.bytes.end <= known.bytes.end
        && known.records >= damage.records
}
