//! The losses of an input: collected, joined, and summarised in words.

mod line;
pub mod loss;
mod summary;
pub mod topic_loss;

use logtool_core::{Damage, DamageKind, Manifest, TopicSet};

use crate::{
    error::{Error, ErrorKind, Result},
    input::Input,
    losses::{line::Told, loss::Finding},
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

/// All that was lost of one input.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    name: String,
    bytes: u64,
    list: Vec<Finding>,
    /// So many of them, from the first on, are in the order of the file.
    sorted: usize,
    /// Those of several records, which reach far.
    wide: Vec<Damage>,
}

/// So many findings are told, and of more only the number.
const TOLD: usize = 10;
/// So many findings are kept apart, if they are not of one kind and topic.
const MOST: usize = 10_000;
/// So many findings before a place are looked at for what is known of it.
const LOOK_BACK: usize = 64;

impl Findings {
    /// What was found while `input`, which holds `manifest`, was opened.
    pub fn of(input: &Input, manifest: &Manifest) -> Self {
        let mut findings = Self {
            name: input.name.clone(),
            bytes: manifest.bytes,
            list: input.loss.iter().cloned().collect(),
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

    /// Adds what was found while `topics` were read. What the survey has told already,
    /// and what is of other topics, is left out.
    pub fn add(&mut self, manifest: &Manifest, topics: &TopicSet, found: &[Damage]) {
        for damage in found {
            let is_wanted = damage.topic.is_none_or(|topic| topics.contains(topic));
            if !is_wanted || self.is_told(damage) {
                continue;
            }
            let is_full = self.list.len() - self.sorted >= MOST;
            let mut before =
                self.list.iter_mut().skip(self.sorted).rev().take(LOOK_BACK);
            let like = before.find(|before| {
                (is_full || damage.kind.is_of_records())
                    && before.damage.is_like(damage)
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

    fn is_told(&self, damage: &Damage) -> bool {
        let sorted = &self.list[..self.sorted];
        let starts_before =
            |known: &Finding| known.damage.bytes.start <= damage.bytes.start;
        let before = &sorted[..sorted.partition_point(starts_before)];
        let mut near = before.iter().rev().take(LOOK_BACK);
        near.any(|known| tells_of(&known.damage, damage))
            || self.wide.iter().any(|known| tells_of(known, damage))
            || self.is_told_in_pieces(damage)
    }

    /// Whether what is one `damage`, as neighbours are told together, is known as several.
    fn is_told_in_pieces(&self, damage: &Damage) -> bool {
        let sorted = &self.list[..self.sorted];
        let from = sorted
            .partition_point(|known| known.damage.bytes.start < damage.bytes.start);
        let inside = sorted[from..].iter().map(|known| &known.damage);
        let inside = inside.take_while(|known| known.bytes.start < damage.bytes.end);
        let alike = inside.filter(|known| {
            known.is_like(damage) && known.bytes.end <= damage.bytes.end
        });
        let sum = |(records, bytes): (u64, u64), known: &Damage| {
            (records + known.records, bytes + known.lost_bytes)
        };
        let (records, bytes) = alike.fold((0, 0), sum);
        damage.records > 0 && records >= damage.records && bytes >= damage.lost_bytes
    }

    fn sort(&mut self) {
        self.list.sort_by_key(|finding| finding.damage.bytes.start);
        self.sorted = self.list.len();
    }

    /// Returns whether some of the input is lost or damaged.
    pub fn is_harmed(&self) -> bool {
        self.list.iter().any(|finding| finding.damage.kind.is_harm())
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

    /// Everything, in the order of the file.
    pub fn list(&mut self) -> &[Finding] {
        self.sort();
        &self.list
    }

    /// In a strict run, the first finding is a failure.
    pub fn check(&mut self, is_strict: bool) -> Result<()> {
        if !is_strict {
            // Sorting only after the list has doubled keeps the cost linear.
            if self.list.len() > 2 * self.sorted + TOLD {
                self.sort();
            }
            return Ok(());
        }
        let name = self.name.clone();
        let harm = self.list().iter().find(|finding| finding.damage.kind.is_harm());
        match harm {
            None => Ok(()),
            Some(first) => {
                let what = if is_damage(&first.damage) { "damaged: " } else { "" };
                let what = format!("{name}: {what}{}", first.text);
                let hint = "without --strict, everything else is read";
                Err(Error::new(ErrorKind::Damaged, what).with_hint(hint))
            }
        }
    }

    /// The findings, a line each, or the first of them and how many more there are. What
    /// was lost of one topic for one reason is one line.
    pub fn lines(&mut self) -> Vec<String> {
        let mut list: Vec<Told<'_>> = Vec::new();
        for finding in self.list() {
            let like = list.iter_mut().take(TOLD).find(|told| told.is_like(finding));
            match like {
                Some(like) => like.add(finding),
                None => list.push(Told { finding, more: 0, end: 0 }),
            }
        }
        let mut lines: Vec<String> =
            list.iter().take(TOLD).map(Told::to_string).collect();
        if list.len() > TOLD {
            let more = list.len() - TOLD;
            lines.push(format!("… and {more} more (`logtool info --json` tells all)"));
        }
        lines
    }
}

/// Whether something is wrong with what was read.
fn is_damage(damage: &Damage) -> bool {
    !matches!(damage.kind, DamageKind::Latin1 | DamageKind::NoColumn)
}

/// Whether `known` says what `damage` says, and perhaps more.
fn tells_of(known: &Damage, damage: &Damage) -> bool {
    known.kind == damage.kind
        && known.topic == damage.topic
        && known.bytes.start <= damage.bytes.start
        && damage.bytes.end <= known.bytes.end
        && known.records >= damage.records
}
