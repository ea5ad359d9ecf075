//! Names of types.

/// Converts `name` to the form of type names in ROS: words with capitals, without `_`.
///
/// ```
/// assert_eq!(logtool_rosmsg::type_name("vehicle_attitude"), "VehicleAttitude");
/// ```
pub fn type_name(name: &str) -> String {
    let capitalize = |word: &str| {
        let mut chars = word.chars();
        let first = chars.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(chars).collect::<String>()
    };
    name.split('_').map(capitalize).collect()
}
