//! Suggests names for mistyped ones.

/// Returns up to three names that are most similar to `target`, the most similar first.
pub fn similar_names<'n>(
    target: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> Vec<&'n str> {
    // The first slash of a ROS topic is easily forgotten.
    let bare = |name: &str| name.trim_start_matches('/').to_lowercase();
    let target = bare(target);
    let score = |name: &str| {
        let name = bare(name);
        let part = name.contains(target.trim_matches(['*', '?']));
        strsim::jaro_winkler(&name, &target) + if part { 0.5 } else { 0.0 }
    };
    let mut near: Vec<_> = names.into_iter().map(|name| (score(name), name)).collect();
    near.retain(|(score, _)| *score > 0.8);
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.dedup_by_key(|(_, name)| *name);
    near.into_iter().map(|(_, name)| name).take(3).collect()
}

/// Returns ``did you mean `a`, `b` or `c`?``, or `otherwise` if no name is similar.
pub fn hint<'n>(
    target: &str,
    names: impl IntoIterator<Item = &'n str>,
    otherwise: &str,
) -> String {
    match similar_names(target, names).as_slice() {
        [] => otherwise.to_owned(),
        near => {
            let near: Vec<_> = near.iter().map(|name| format!("`{name}`")).collect();
            let near = match near.as_slice() {
                [first @ .., last] if !first.is_empty() => {
                    format!("{} or {last}", first.join(", "))
                }
                near => near.join(", "),
            };
            format!("did you mean {near}?")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{hint, similar_names};

    #[test]
    fn typo_suggests_the_similar_name() {
        let names = ["sensor_gps", "vehicle_attitude", "battery_status"];
        assert_eq!(similar_names("sensor_gsp", names), ["sensor_gps"]);
        assert_eq!(similar_names("gps*", names), ["sensor_gps"]);
        assert_eq!(similar_names("qqq", names), [""; 0]);
        assert_eq!(similar_names("tf", ["/tf_static", "/tf"]), ["/tf", "/tf_static"]);
    }

    #[test]
    fn hint_lists_the_similar_names() {
        assert_eq!(hint("gps", ["gps", "imu"], ""), "did you mean `gps`?");
        assert_eq!(hint("a", ["a1", "a2"], ""), "did you mean `a1` or `a2`?");
        let names = ["a1", "a2", "a3"];
        assert_eq!(hint("a", names, ""), "did you mean `a1`, `a2` or `a3`?");
        assert_eq!(hint("qqq", names, "no"), "no");
    }
}
