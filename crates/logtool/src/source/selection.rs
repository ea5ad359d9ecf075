//! Resolves patterns of topics and columns.

use std::collections::{BTreeMap, HashMap};

use globset::{GlobBuilder, GlobMatcher};
use logtool_core::{
    Columns, Log, Manifest, Topic, TopicContent, TopicId, TopicOrigin, TopicSet, View,
};

use crate::{
    error::{Error, Remedy, Result},
    text::suggest,
};

/// Returns the topics that match `globs`. Without patterns, all topics are selected, except derived
/// ones, whose records are also in other topics.
pub fn topics(manifest: &Manifest, globs: &[String]) -> Result<TopicSet> {
    if globs.is_empty() {
        return Ok(manifest.logged_topics());
    }
    matching_topics(manifest, globs)
}

/// Returns the topics that match `globs`. Without patterns, all topics are selected, also derived
/// ones.
pub fn topics_with_derived(manifest: &Manifest, globs: &[String]) -> Result<TopicSet> {
    if globs.is_empty() {
        return Ok(TopicSet::All);
    }
    matching_topics(manifest, globs)
}

fn matching_topics(manifest: &Manifest, globs: &[String]) -> Result<TopicSet> {
    let globs: Vec<&str> =
        globs.iter().flat_map(|glob| split_list(manifest, glob)).collect();
    let patterns = PatternSet::new(globs.iter().copied())?;
    let (mut set, mut is_found) = (TopicSet::EMPTY, vec![false; globs.len()]);
    for (id, topic) in manifest.topics() {
        for name in [&topic.name, &unique_label(topic)] {
            patterns.for_each_match(name, |index| {
                set.insert(id);
                is_found[index] = true;
            });
        }
    }
    for (glob, is_found) in globs.into_iter().zip(is_found) {
        if !is_found {
            let names = manifest.topics.iter().map(|topic| topic.name.as_str());
            let hint = if is_of_packets(manifest, glob) {
                "points of packets are not messages: they can be a table, or files of \
                 points of the format pcd"
                    .to_owned()
            } else {
                suggest::hint(glob, names, "`logtool info` lists the topics")
            };
            let message = format!("the log has no topic `{glob}`");
            return Err(Error::not_found(message).with_hint(hint));
        }
    }
    Ok(set)
}

/// Returns the patterns in `glob`: `glob` itself if it matches a topic, whose name may contain a
/// comma; otherwise the elements of a list (`a,b`).
pub fn split_list<'g>(manifest: &Manifest, glob: &'g str) -> Vec<&'g str> {
    let means_a_topic = || {
        let pattern = Pattern::new(glob);
        pattern.is_ok_and(|pattern| manifest.topics.iter().any(|t| pattern.is_topic(t)))
    };
    if glob.contains(',') && !means_a_topic() {
        glob.split(',').map(str::trim).filter(|part| !part.is_empty()).collect()
    } else {
        vec![glob]
    }
}

/// Returns whether `name` selects the points that the log has of packets, and not their messages.
fn is_of_packets(manifest: &Manifest, name: &str) -> bool {
    let packets = name.strip_suffix("/points").map(|scans| format!("{scans}/packets"));
    let is_match = |topic: &Topic| {
        topic.origin == TopicOrigin::Derived && Some(&topic.name) == packets.as_ref()
    };
    manifest.topics.iter().any(is_match)
}

/// Returns the name that selects `topic` alone if others have the same name.
pub fn unique_label(topic: &Topic) -> String {
    format!("{}.{}", topic.name, topic.instance)
}

/// Returns those of `topics` whose records are in the file, so that they can be copied. Derived
/// topics are excluded.
///
/// # Errors
/// No topic is left.
pub fn copyable_topics(manifest: &Manifest, topics: &TopicSet) -> Result<TopicSet> {
    non_empty_selection(manifest, |id, topic| {
        topics.contains(id) && topic.origin != TopicOrigin::Derived
    })
}

/// Returns those of `topics` that can be copied from a log of packets, like [`copyable_topics`].
/// Topics of scans are replaced by the topics of the packets that they are derived from.
///
/// # Errors
/// No topic is left.
pub fn packet_topics(manifest: &Manifest, topics: &TopicSet) -> Result<TopicSet> {
    let is_packets = |topic: &Topic| topic.content == TopicContent::LidarPackets;
    let mut names: Vec<&str> = Vec::new();
    for (_, topic) in manifest.topics().filter(|(_, topic)| is_packets(topic)) {
        names.extend(topic.name.strip_suffix("/packets"));
    }
    let is_scans = |topic: &Topic| {
        topic.origin == TopicOrigin::Logged && names.contains(&topic.name.as_str())
    };
    let has_wanted_points = |topic: &Topic| {
        let scans = topic.name.strip_suffix("/packets");
        let scans = scans.and_then(|scans| manifest.topic_id(scans).ok());
        is_packets(topic) && scans.is_some_and(|scans| topics.contains(scans))
    };
    let has_records =
        |topic: &Topic| topic.origin != TopicOrigin::Derived || is_packets(topic);
    non_empty_selection(manifest, |id, topic| {
        topics.contains(id) && has_records(topic) && !is_scans(topic)
            || has_wanted_points(topic)
    })
}

/// Returns `topics`, or an error if they are empty.
fn non_empty_selection(
    manifest: &Manifest,
    is_wanted: impl Fn(TopicId, &Topic) -> bool,
) -> Result<TopicSet> {
    let selected = manifest.topics().filter(|(id, topic)| is_wanted(*id, topic));
    let ids: Vec<_> = selected.map(|(id, _)| id).collect();
    if ids.is_empty() && !manifest.topics.is_empty() {
        let message = "no topic is left to copy";
        let hint = "derived topics (e.g. `messages`) are not in the file; \
                    `logtool info` lists the topics";
        return Err(Error::not_found(message).with_hint(hint));
    }
    let is_all = ids.len() == manifest.topics.len();
    Ok(if is_all { TopicSet::All } else { ids.into_iter().collect() })
}

/// Returns, for each topic, those of its `columns` that match `globs`. Topics without matching
/// columns are removed from `topics`.
pub fn columns(
    log: &dyn Log,
    topics: &mut TopicSet,
    columns: &Columns,
    globs: &[String],
) -> Result<BTreeMap<TopicId, Columns>> {
    let mut columns_by_topic = BTreeMap::new();
    if globs.is_empty() {
        return Ok(columns_by_topic);
    }
    let patterns = PatternSet::new(globs.iter().map(String::as_str))?;
    let mut is_used = vec![false; globs.len()];
    let (mut selected, mut names) = (TopicSet::EMPTY, Vec::new());
    for (id, topic) in log.manifest().topics().filter(|(id, _)| topics.contains(*id)) {
        let all_columns = Columns { indices: None, labels: None, ..columns.clone() };
        let decoder = log.decoder(id, &all_columns)?;
        let schema = decoder.schema();
        let mut indices = Vec::new();
        for (index, field) in schema.fields().iter().enumerate() {
            let mut is_wanted = false;
            for name in column_names(topic, field.name()) {
                patterns.for_each_match(&name, |index| {
                    (is_wanted, is_used[index]) = (true, true);
                });
            }
            if is_wanted {
                indices.push(index);
            }
        }
        names.extend(schema.fields().iter().map(|field| field.name().clone()));
        if !indices.is_empty() {
            selected.insert(id);
            columns_by_topic
                .insert(id, Columns { indices: Some(indices), ..columns.clone() });
        }
    }
    if let Some(unused) = is_used.iter().position(|is_used| !is_used) {
        let glob = &globs[unused];
        let names = names.iter().map(String::as_str);
        let hint =
            "fields are named as in the header of the table, e.g. `q[0]` or `lat`";
        let is_column = |name: &str| names.clone().any(|known| known == name);
        let mut prefixes = glob.match_indices(['[', '.']).map(|(end, _)| &glob[..end]);
        let error = Error::not_found(format!("no selected topic has a field `{glob}`"));
        return Err(match prefixes.rfind(|name| is_column(name)) {
            Some(name) if columns.view == View::Nested => {
                error.with_remedy(Remedy::FlattenColumns { column: name.to_owned() })
            }
            _ => error.with_hint(suggest::hint(glob, names, hint)),
        });
    }
    *topics = selected;
    Ok(columns_by_topic)
}

/// A pattern in which `*` and `?` are wildcards, but brackets are not.
#[derive(Clone)]
pub struct Pattern(GlobMatcher);

impl Pattern {
    /// Creates the pattern `text`.
    pub fn new(text: &str) -> Result<Self> {
        // Columns have names like `q[0]`, so brackets are not character classes.
        let mut escaped = String::with_capacity(text.len());
        for c in text.chars() {
            if matches!(c, '[' | ']' | '{' | '}' | '!' | '\\') {
                escaped.push('\\');
            }
            escaped.push(c);
        }
        let glob = GlobBuilder::new(&escaped).backslash_escape(true).build();
        let glob = glob.map_err(|err| {
            Error::invalid_request(format!(
                "`{text}` is not a valid pattern: {}",
                err.kind()
            ))
        })?;
        Ok(Self(glob.compile_matcher()))
    }

    /// Returns whether it matches `name`.
    pub fn is_match(&self, name: &str) -> bool {
        self.0.is_match(name)
    }

    /// Returns whether it matches `topic`: by the name, or by name and instance, `points.0`.
    fn is_topic(&self, topic: &Topic) -> bool {
        self.is_match(&topic.name) || self.is_match(&unique_label(topic))
    }

    /// Returns whether it matches `topic` by its label, or by name and instance.
    pub fn matches_label(&self, topic: &Topic) -> bool {
        self.is_match(&topic.label()) || self.is_match(&unique_label(topic))
    }

    /// Returns whether it matches the column `name`, or a prefix that ends before a bracket or
    /// a dot.
    pub fn matches_prefix(&self, name: &str) -> bool {
        beginnings(name).any(|name| self.is_match(name))
    }
}

/// Several patterns. Those without wildcards are found by their text, so that many of them take
/// little time.
struct PatternSet<'t> {
    literals: HashMap<&'t str, Vec<usize>>,
    globs: Vec<(usize, Pattern)>,
}

impl<'t> PatternSet<'t> {
    fn new(texts: impl Iterator<Item = &'t str>) -> Result<Self> {
        let mut set = Self { literals: HashMap::new(), globs: Vec::new() };
        for (index, text) in texts.enumerate() {
            if text.contains(['*', '?']) {
                set.globs.push((index, Pattern::new(text)?));
            } else {
                set.literals.entry(text).or_default().push(index);
            }
        }
        Ok(set)
    }

    /// Calls `add` with the index of each pattern that matches `name`.
    fn for_each_match(&self, name: &str, mut add: impl FnMut(usize)) {
        self.literals.get(name).into_iter().flatten().for_each(|index| add(*index));
        let globs = self.globs.iter().filter(|(_, pattern)| pattern.is_match(name));
        globs.for_each(|(index, _)| add(*index));
    }
}

/// Returns the names by which a pattern can select the column `name` of `topic`: with or without the
/// topic before it, or a prefix that ends before a bracket or a dot.
fn column_names(topic: &Topic, name: &str) -> impl Iterator<Item = String> {
    beginnings(name).flat_map(|name| {
        let with_label = format!("{}.{name}", topic.label());
        [name.to_owned(), format!("{}.{name}", topic.name), with_label]
    })
}

/// Returns the name of a column, and its prefixes that end before a bracket or a dot.
fn beginnings(name: &str) -> impl Iterator<Item = &str> {
    let ends = name.match_indices(['[', '.']).map(|(end, _)| end);
    ends.chain([name.len()]).filter(|end| *end > 0).map(|end| &name[..end])
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn brackets_are_literal_and_stars_are_wildcards() {
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
