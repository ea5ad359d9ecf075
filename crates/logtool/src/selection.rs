//! Which topics and columns are meant by what was typed.

use std::collections::BTreeMap;

use globset::{GlobBuilder, GlobMatcher};
use logtool_core::{
    Columns, Log, Manifest, Topic, TopicId, TopicOrigin, TopicSet, View,
};

use crate::{
    error::{Error, Result},
    suggest,
};

/// The topics that `globs` mean: every one if there are none, but for the derived ones,
/// of which the records are in others too, unless `derived`.
pub fn topics(
    manifest: &Manifest,
    globs: &[String],
    derived: bool,
) -> Result<TopicSet> {
    if globs.is_empty() {
        return Ok(if derived { TopicSet::All } else { manifest.logged() });
    }
    let mut set = TopicSet::EMPTY;
    for glob in globs.iter().flat_map(|glob| listed(manifest, glob)) {
        let pattern = Pattern::new(glob)?;
        let mut found = false;
        for (id, topic) in manifest.topics() {
            if pattern.is_topic(topic) {
                found = true;
                set.insert(id);
            }
        }
        if !found {
            let names = manifest.topics.iter().map(|topic| topic.name.as_str());
            let hint = match is_of_packets(manifest, glob) {
                true => "points of packets are no messages: without -o x.mcap or x.bag they \
                         are a table, and --to pcd makes files of them"
                    .to_owned(),
                false => suggest::hint(glob, names, "`logtool info` lists the topics"),
            };
            let what = format!("the log has no topic `{glob}`");
            return Err(Error::not_found(what).with_hint(hint));
        }
    }
    Ok(set)
}

/// The patterns in `glob`: it is one where it means a topic, whose name may have a comma, and
/// a list of several otherwise (`a,b`).
pub fn listed<'g>(manifest: &Manifest, glob: &'g str) -> Vec<&'g str> {
    let means_a_topic = || {
        let pattern = Pattern::new(glob);
        pattern.is_ok_and(|pattern| manifest.topics.iter().any(|t| pattern.is_topic(t)))
    };
    match glob.contains(',') && !means_a_topic() {
        true => {
            glob.split(',').map(str::trim).filter(|part| !part.is_empty()).collect()
        }
        false => vec![glob],
    }
}

/// Whether `name` means the points of packets that the log has, and not their messages.
fn is_of_packets(manifest: &Manifest, name: &str) -> bool {
    let packets = name.strip_suffix("/points").map(|scans| format!("{scans}/packets"));
    let is_it = |topic: &Topic| {
        topic.origin == TopicOrigin::Derived && Some(&topic.name) == packets.as_ref()
    };
    manifest.topics.iter().any(is_it)
}

/// What means `topic` alone where others have its name.
pub fn numbered(topic: &Topic) -> String {
    format!("{}.{}", topic.name, topic.instance)
}

/// Of `topics` those of which the file has the records, so that they can be copied: none that
/// are made of others.
///
/// # Errors
/// If there are none.
pub fn copied(manifest: &Manifest, topics: &TopicSet) -> Result<TopicSet> {
    some(manifest, |id, topic| {
        topics.contains(id) && topic.origin != TopicOrigin::Derived
    })
}

/// The same for a log of packets: instead of scans of packets, the packets that are made of
/// them.
///
/// # Errors
/// As of [`copied`].
pub fn with_packets(manifest: &Manifest, topics: &TopicSet) -> Result<TopicSet> {
    let is_packets = |topic: &Topic| {
        topic.origin == TopicOrigin::Derived && topic.encoding == "velodyne"
    };
    let mut names: Vec<&str> = Vec::new();
    for (_, topic) in manifest.topics().filter(|(_, topic)| is_packets(topic)) {
        names.extend(topic.name.strip_suffix("/packets"));
    }
    let is_scans = |topic: &Topic| {
        topic.origin == TopicOrigin::Logged && names.contains(&topic.name.as_str())
    };
    let wanted = |topic: &Topic| {
        let scans = topic.name.strip_suffix("/packets");
        let of = scans.and_then(|scans| manifest.topic(scans).ok());
        is_packets(topic) && of.is_some_and(|scans| topics.contains(scans))
    };
    let has_records =
        |topic: &Topic| topic.origin != TopicOrigin::Derived || is_packets(topic);
    some(manifest, |id, topic| {
        topics.contains(id) && has_records(topic) && !is_scans(topic) || wanted(topic)
    })
}

/// The topics that are wanted to be copied; all, where they are.
fn some(
    manifest: &Manifest,
    is_wanted: impl Fn(TopicId, &Topic) -> bool,
) -> Result<TopicSet> {
    let wanted = manifest.topics().filter(|(id, topic)| is_wanted(*id, topic));
    let wanted: Vec<_> = wanted.map(|(id, _)| id).collect();
    if wanted.is_empty() && !manifest.topics.is_empty() {
        let what = "no topic is left to be copied";
        let hint = "topics that are made of others (as `messages`) are not in the file; \
                    `logtool info` lists the topics";
        return Err(Error::not_found(what).with_hint(hint));
    }
    let is_all = wanted.len() == manifest.topics.len();
    Ok(if is_all { TopicSet::All } else { wanted.into_iter().collect() })
}

/// The columns that `globs` mean, of those that `columns` has of each topic. Topics
/// that have none of them are taken out of `topics`.
pub fn columns(
    log: &dyn Log,
    topics: &mut TopicSet,
    columns: &Columns,
    globs: &[String],
) -> Result<BTreeMap<TopicId, Columns>> {
    let mut columns_of = BTreeMap::new();
    if globs.is_empty() {
        return Ok(columns_of);
    }
    let patterns: Vec<Pattern> =
        globs.iter().map(|g| Pattern::new(g)).collect::<Result<_>>()?;
    let mut is_used = vec![false; globs.len()];
    let (mut kept, mut names) = (TopicSet::EMPTY, Vec::new());
    for (id, topic) in log.manifest().topics().filter(|(id, _)| topics.contains(*id)) {
        let all = Columns { only: None, labels: None, ..columns.clone() };
        let decoder = log.decoder(id, &all)?;
        let schema = decoder.schema();
        let mut only = Vec::new();
        for (index, field) in schema.fields().iter().enumerate() {
            let mut is_wanted = false;
            for (pattern, is_used) in patterns.iter().zip(&mut is_used) {
                if pattern.is_column(topic, field.name()) {
                    (is_wanted, *is_used) = (true, true);
                }
            }
            if is_wanted {
                only.push(index);
            }
        }
        names.extend(schema.fields().iter().map(|field| field.name().clone()));
        if !only.is_empty() {
            kept.insert(id);
            columns_of.insert(id, Columns { only: Some(only), ..columns.clone() });
        }
    }
    if let Some(unused) = is_used.iter().position(|is_used| !is_used) {
        let glob = &globs[unused];
        let names = names.iter().map(String::as_str);
        let hint = "a field is named as in the table's header, as `q[0]` or `lat`";
        let is_column = |name: &str| names.clone().any(|known| known == name);
        let mut within = glob.match_indices(['[', '.']).map(|(at, _)| &glob[..at]);
        let hint = match within.rfind(|name| is_column(name)) {
            Some(name) if columns.view == View::Nested => {
                format!("here `{name}` is one column; --flat makes one of each number")
            }
            _ => suggest::hint(glob, names, hint),
        };
        let what = format!("no topic that is wanted has a field `{glob}`");
        return Err(Error::not_found(what).with_hint(hint));
    }
    *topics = kept;
    Ok(columns_of)
}

/// A pattern in which `*` and `?` are wild, and brackets are not.
pub struct Pattern(GlobMatcher);

impl Pattern {
    /// The pattern `text`.
    pub fn new(text: &str) -> Result<Self> {
        // Columns are called `q[0]`: nobody wants classes of characters here.
        let mut escaped = String::with_capacity(text.len());
        for c in text.chars() {
            if matches!(c, '[' | ']' | '{' | '}' | '!' | '\\') {
                escaped.push('\\');
            }
            escaped.push(c);
        }
        let glob = GlobBuilder::new(&escaped).backslash_escape(true).build();
        let glob = glob.map_err(|err| {
            Error::invalid(format!("`{text}` is no pattern: {}", err.kind()))
        })?;
        Ok(Self(glob.compile_matcher()))
    }

    /// Whether it means just this.
    pub fn is_match(&self, name: &str) -> bool {
        self.0.is_match(name)
    }

    /// Whether it means `topic`: all of that name, or one of them by its number, `points.0`.
    fn is_topic(&self, topic: &Topic) -> bool {
        self.is_match(&topic.name) || self.is_match(&numbered(topic))
    }

    /// Whether it means `topic` by its label, or by its number.
    pub fn is_one(&self, topic: &Topic) -> bool {
        self.is_match(&topic.label()) || self.is_match(&numbered(topic))
    }

    /// Whether it means the column `name`: by its name, with its topic before it, or
    /// by what the name begins with, up to a bracket or a dot.
    fn is_column(&self, topic: &Topic, name: &str) -> bool {
        beginnings(name).any(|name| {
            self.is_match(name)
                || self.is_match(&format!("{}.{name}", topic.name))
                || self.is_match(&format!("{}.{name}", topic.label()))
        })
    }

    /// Whether it means the column `name`, or what that begins with, up to a bracket or a
    /// dot.
    pub fn begins(&self, name: &str) -> bool {
        beginnings(name).any(|name| self.is_match(name))
    }
}

/// The name of a column, and all that it begins with, up to a bracket or a dot.
fn beginnings(name: &str) -> impl Iterator<Item = &str> {
    let ends = name.match_indices(['[', '.']).map(|(at, _)| at);
    ends.chain([name.len()]).filter(|end| *end > 0).map(|end| &name[..end])
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn brackets_are_brackets_and_stars_are_wild() {
        let matches =
            |glob: &str, name: &str| Pattern::new(glob).unwrap().is_match(name);
        assert!(matches("q[0]", "q[0]"));
        assert!(!matches("q[0]", "q0"));
        assert!(matches("q[*]", "q[12]"));
        assert!(matches("sensor_*", "sensor_gps.1"));
        assert!(matches("/imu/*", "/imu/data"));
        assert!(!matches("imu", "imu2"));
    }
}
