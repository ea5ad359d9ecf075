//! Names of types.

/// Converts `name` to the form of type names.
///
/// ```
/// assert_eq!(logtool_rosmsg::type_name("vehicle_attitude"), "VehicleAttitude");
/// ```
pub fn type_name(name: &str) -> String {
    let capital = |part: &str| {
        let mut chars = part.chars();
        let first = chars.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(chars).collect::<String>()
    };
    name.split('_').map(capital).collect()
}
