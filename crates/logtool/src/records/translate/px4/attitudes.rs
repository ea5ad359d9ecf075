//! Interpolates the attitude of the vehicle between the samples of `vehicle_attitude`.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use logtool_core::{
    Block, Log, Manifest, Result, Selection, TopicId, TopicOrigin, Translation,
};

use crate::records::translate::px4::{
    field_reader::{FieldReader, measurement_time, read_attitude},
    frame_conversion::{Quaternion, normalized},
};

/// The topic whose first instance has the attitudes.
const TOPIC: &str = "vehicle_attitude";

/// The maximum number of attitudes, which take 100 MB: six hours at 200 Hz.
const MAX_ATTITUDES: u64 = 4 << 20;

/// Attitudes are not interpolated over longer gaps, in nanoseconds.
const MAX_GAP_NANOS: i64 = 500_000_000;

/// Above this dot product, linear interpolation of two quaternions is accurate enough.
const LINEAR_DOT: f64 = 0.9995;

/// The attitudes of a log, which are read when they are first needed.
pub(in crate::records::translate) struct AttitudeInterpolator {
    log: Arc<dyn Log>,
    topic: TopicId,
    attitude: FieldReader,
    measurement_time: Option<FieldReader>,
    /// The times in nanoseconds of the log's own clock, and the attitudes, sorted by time.
    samples: OnceLock<Vec<(i64, [f32; 4])>>,
}

impl AttitudeInterpolator {
    /// Returns the attitudes of `log`, if it has some.
    pub(in crate::records::translate) fn from_log(log: &Arc<dyn Log>) -> Option<Self> {
        let topic = topic(log.manifest())?;
        let layout = log.payload_layout(topic)?;
        let attitude = FieldReader::find(&layout, "q")?.at_least(4)?;
        let measurement_time = FieldReader::find(&layout, "timestamp_sample");
        let (log, samples) = (log.clone(), OnceLock::new());
        Some(Self { log, topic, attitude, measurement_time, samples })
    }

    /// Returns the topic with the attitudes.
    pub(in crate::records::translate) fn topic(&self) -> TopicId {
        self.topic
    }

    /// Returns `translation`, which reads the attitudes before it begins.
    pub(in crate::records::translate) fn loaded_before(
        self: Arc<Self>,
        mut translation: Translation,
    ) -> Translation {
        let new_translator = translation.new_translator;
        translation.new_translator = Arc::new(move || {
            self.load()?;
            new_translator()
        });
        translation
    }

    /// Reads them, unless they were read before.
    ///
    /// # Errors
    /// The log cannot be read.
    fn load(&self) -> Result<()> {
        if self.samples.get().is_some() {
            return Ok(());
        }
        let topics = [self.topic].into_iter().collect();
        let selection = Selection { topics, ..Selection::default() };
        let (mut samples, mut block) = (Vec::new(), Block::default());
        for part in self.log.manifest().plan(&selection, 0) {
            let mut cursor = self.log.read(&part, &selection)?;
            while cursor.fill(&mut block)? {
                // Damage is reported when the topic itself is copied.
                samples.extend(block.iter().filter_map(|record| {
                    let attitude = read_attitude(self.attitude, record.payload)?;
                    let nanos = measurement_time(self.measurement_time, &record);
                    Some((nanos, attitude.map(|part| part as f32)))
                }));
            }
        }
        samples.sort_by_key(|(nanos, _)| *nanos);
        self.samples.get_or_init(|| samples);
        Ok(())
    }

    /// Returns the attitude at the time `nanos` of the log's own clock, if it is between two
    /// samples that are close enough.
    pub(in crate::records::translate) fn attitude_at(
        &self,
        nanos: i64,
    ) -> Option<Quaternion> {
        let samples = self.samples.get()?;
        let later = samples.partition_point(|(time, _)| *time <= nanos);
        let (start, first) = *samples.get(later.checked_sub(1)?)?;
        if start == nanos {
            return Some(first.map(f64::from));
        }
        let (end, second) = *samples.get(later)?;
        let gap = end.checked_sub(start).filter(|gap| *gap <= MAX_GAP_NANOS)?;
        let share = (nanos - start) as f64 / gap as f64;
        Some(interpolate(first.map(f64::from), second.map(f64::from), share))
    }
}

/// Returns the topic with the attitudes, if there are not too many.
fn topic(manifest: &Manifest) -> Option<TopicId> {
    let (id, records) = topic_with_count(manifest)?;
    (1..=MAX_ATTITUDES).contains(&records).then_some(id)
}

/// Returns a remark if there are too many attitudes, so that messages are `without` something.
pub(in crate::records::translate) fn too_many(
    manifest: &Manifest,
    without: &str,
) -> Option<String> {
    let (_, records) =
        topic_with_count(manifest).filter(|(_, records)| *records > MAX_ATTITUDES)?;
    Some(format!(
        "{records} attitudes are more than the maximum ({MAX_ATTITUDES}): {without}; an excerpt of \
         the log that `filter` writes has fewer"
    ))
}

/// Returns the topic with the attitudes, and their number.
fn topic_with_count(manifest: &Manifest) -> Option<(TopicId, u64)> {
    let mut topics = manifest.topics();
    let (id, topic) = topics.find(|(_, topic)| {
        topic.name == TOPIC
            && topic.instance == 0
            && topic.origin == TopicOrigin::Logged
    })?;
    Some((id, topic.records?))
}

/// Interpolates between two attitudes with constant rate along the shorter arc; `share` is from
/// 0 to 1.
fn interpolate(start: Quaternion, end: Quaternion, share: f64) -> Quaternion {
    let dot = |a: Quaternion, b: Quaternion| -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    };
    let (start, mut end) = (normalized(start), normalized(end));
    if dot(start, end) < 0.0 {
        end = end.map(|part| -part);
    }
    let cos = dot(start, end);
    let (start_weight, end_weight) = if cos > LINEAR_DOT {
        (1.0 - share, share)
    } else {
        let angle = cos.acos();
        let sin = angle.sin();
        (((1.0 - share) * angle).sin() / sin, (share * angle).sin() / sin)
    };
    let mut quaternion = [0.0; 4];
    for (component, (start, end)) in
        quaternion.iter_mut().zip(start.into_iter().zip(end))
    {
        *component = start_weight * start + end_weight * end;
    }
    normalized(quaternion)
}

impl fmt::Debug for AttitudeInterpolator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttitudeInterpolator")
            .field("topic", &self.topic)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use logtool_core::Topic;

    use super::*;

    /// Returns a rotation about z by `degrees`.
    fn about_z(degrees: f64) -> Quaternion {
        let (sin, cos) = (degrees.to_radians() / 2.0).sin_cos();
        [cos, 0.0, 0.0, sin]
    }

    #[test]
    fn too_many_attitudes_are_remarked() {
        let log_with = |name: &str, records: u64| {
            let empty = Arc::new(arrow_schema::Schema::empty());
            let topic = Topic { records: Some(records), ..Topic::new(name, empty) };
            Manifest { topics: vec![topic], ..Manifest::default() }
        };
        assert_eq!(too_many(&log_with(TOPIC, MAX_ATTITUDES), "no poses"), None);
        assert!(topic(&log_with(TOPIC, MAX_ATTITUDES)).is_some());
        assert_eq!(too_many(&log_with("other", MAX_ATTITUDES + 1), "no poses"), None);
        let remark = too_many(&log_with(TOPIC, 5_000_000), "no poses").unwrap();
        assert!(remark.starts_with("5000000 attitudes are more"), "{remark}");
        assert!(remark.contains(": no poses; "), "{remark}");
        assert!(topic(&log_with(TOPIC, 5_000_000)).is_none());
    }

    #[test]
    fn midpoint_of_two_headings_is_the_mean_heading() {
        let backwards = about_z(90.0).map(|part| -part);
        for (from, to, share, want) in [
            (about_z(0.0), about_z(90.0), 0.5, 45.0),
            (about_z(0.0), backwards, 0.25, 22.5),
            (about_z(10.0), about_z(10.2), 0.5, 10.1),
        ] {
            let (actual, want) = (interpolate(from, to, share), about_z(want));
            let is_near = actual.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(is_near, "{actual:?}, not {want:?}");
        }
    }
}
