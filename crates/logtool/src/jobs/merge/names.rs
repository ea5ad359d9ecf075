//! Distinct names for the topics of several logs.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use logtool_core::{Manifest, Topic, TopicId, TopicOrigin};

/// The names of the topics of several logs in one log.
#[derive(Debug, Default)]
pub(super) struct MergedNames {
    /// The type of each topic in the new log.
    types: BTreeMap<String, TopicType>,
}

/// The encoding, the type and the definition of a topic, and its vehicle, if the log has one.
type TopicType = (String, String, Vec<u8>, Option<usize>);

impl MergedNames {
    /// Adds the names of the topics of `manifest`, the log in the file `file_name`. Returns new
    /// names for those topics whose name an earlier log uses for another type or vehicle.
    pub(super) fn add(
        &mut self,
        manifest: &Manifest,
        file_name: &str,
        vehicle: Option<usize>,
    ) -> BTreeMap<TopicId, String> {
        let type_of = |topic: &Topic| {
            let definition = if topic.descriptor.is_empty() {
                topic.definition.as_bytes().to_vec()
            } else {
                topic.descriptor.clone()
            };
            (topic.encoding.clone(), topic.type_name.clone(), definition, vehicle)
        };
        let topics: Vec<(TopicId, &Topic)> = manifest
            .topics()
            .filter(|(_, topic)| topic.origin != TopicOrigin::Derived)
            .collect();
        // Found before names are added, so that topics of this log do not conflict with each other.
        let conflicting: BTreeSet<TopicId> = topics
            .iter()
            .filter(|(_, topic)| self.is_used(&topic.name, &type_of(topic)))
            .map(|(id, _)| *id)
            .collect();
        let mut new_names = BTreeMap::new();
        for (id, topic) in topics {
            let topic_type = type_of(topic);
            let mut name = topic.name.clone();
            if conflicting.contains(&id) {
                let relative_name = name.trim_start_matches('/').to_owned();
                name = format!("/{}/{relative_name}", prefix(file_name));
                let mut number = 2;
                while self.is_used(&name, &topic_type) {
                    name = format!("/{}_{number}/{relative_name}", prefix(file_name));
                    number += 1;
                }
                new_names.insert(id, name.clone());
            }
            self.types.entry(name).or_insert(topic_type);
        }
        new_names
    }

    /// Returns whether a topic called `name` has another type than `topic_type`.
    fn is_used(&self, name: &str, topic_type: &TopicType) -> bool {
        self.types.get(name).is_some_and(|used_type| used_type != topic_type)
    }
}

/// Returns the vehicle in a new name of a topic.
pub(super) fn vehicle(name: &str) -> &str {
    name.split('/').nth(1).unwrap_or_default()
}

/// Returns the stem of a file name, with all characters that names in ROS cannot contain replaced
/// by underscores.
fn prefix(file_name: &str) -> String {
    let stem = Path::new(file_name)
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or(file_name);
    stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
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
        let renamed_topics = names.add(&first, "b.ulg", Some(3));
        assert_eq!(renamed_topics.len(), 2);
    }
}
