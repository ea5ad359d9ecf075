//! Distinct names for the topics of several logs.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use logtool_core::{Manifest, Topic, TopicId, TopicOrigin};

/// The names of the topics of several logs in one log.
#[derive(Debug, Default)]
pub(super) struct MergedNames {
    taken: BTreeMap<String, TopicType>,
}

/// The encoding, the type and the definition of a topic, and its vehicle, where the log has
/// one.
type TopicType = (String, String, Vec<u8>, Option<usize>);

impl MergedNames {
    /// Adds the names of the topics of `manifest`, the log called `file`. Returns new names for
    /// topics if an earlier log has the same name for another kind or vehicle.
    pub(super) fn add(
        &mut self,
        manifest: &Manifest,
        file: &str,
        vehicle: Option<usize>,
    ) -> BTreeMap<TopicId, String> {
        let kind = |topic: &Topic| {
            let definition = if topic.descriptor.is_empty() {
                topic.definition.as_bytes().to_vec()
            } else {
                topic.descriptor.clone()
            };
            (topic.encoding.clone(), topic.type_name.clone(), definition, vehicle)
        };
        let topics = || {
            let topics = manifest.topics();
            topics.filter(|(_, topic)| topic.origin != TopicOrigin::Derived)
        };
        let clashes = |(id, topic): (TopicId, &Topic)| {
            let taken = self.taken.get(&topic.name);
            taken.is_some_and(|taken| *taken != kind(topic)).then_some(id)
        };
        let clashing: BTreeSet<TopicId> = topics().filter_map(clashes).collect();
        let mut changed = BTreeMap::new();
        for (id, topic) in topics() {
            let mut name = topic.name.clone();
            if clashing.contains(&id) {
                let relative_name = name.trim_start_matches('/').to_owned();
                name = format!("/{}/{relative_name}", prefix(file));
                let mut number = 2;
                while self.taken.get(&name).is_some_and(|taken| *taken != kind(topic)) {
                    name = format!("/{}_{number}/{relative_name}", prefix(file));
                    number += 1;
                }
                changed.insert(id, name.clone());
            }
            self.taken.entry(name).or_insert_with(|| kind(topic));
        }
        changed
    }
}

/// Returns the vehicle in a new name of a topic.
pub(super) fn vehicle(name: &str) -> &str {
    name.split('/').nth(1).unwrap_or_default()
}

/// Returns the stem of a file name in characters that names of ROS allow.
fn prefix(file: &str) -> String {
    let stem =
        Path::new(file).file_stem().and_then(|stem| stem.to_str()).unwrap_or(file);
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    stem.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(topics: &[(&str, &str)]) -> Manifest {
        let topic = |(name, type_name): &(&str, &str)| Topic {
            encoding: "ros1".to_owned(),
            type_name: (*type_name).to_owned(),
            ..Topic::new(*name, std::sync::Arc::new(arrow_schema::Schema::empty()))
        };
        let topics = topics.iter().map(topic).collect();
        Manifest { topics, ..Manifest::default() }
    }

    #[test]
    fn topics_of_another_type_or_vehicle_are_renamed() {
        let mut names = MergedNames::default();
        let first = manifest(&[("/imu", "Imu"), ("/gps", "Fix")]);
        assert!(names.add(&first, "a.bag", None).is_empty());
        let second = manifest(&[("/imu", "Imu"), ("/gps", "Place")]);
        let renamed = |name: &str| BTreeMap::from([(TopicId(1), name.to_owned())]);
        assert_eq!(names.add(&second, "my log.ulg", None), renamed("/my_log/gps"));
        let third = manifest(&[("/other", "Imu"), ("/gps", "Position")]);
        assert_eq!(names.add(&third, "my log.ulg", None), renamed("/my_log_2/gps"));
        let of_others = names.add(&first, "b.ulg", Some(3));
        assert_eq!(of_others.len(), 2);
    }
}
