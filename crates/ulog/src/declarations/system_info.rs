//! A readable description of the system that wrote the log.

use std::collections::BTreeMap;

use logtool_core::Value;

use crate::declarations::info_values::release;

/// Returns the facts in `info` about the system, under readable names.
pub(crate) fn readable_facts(
    info: &BTreeMap<String, Value>,
) -> BTreeMap<String, Value> {
    let mut system = BTreeMap::new();
    let mut add = |name: &str, value: String| {
        system.insert(name.to_owned(), Value::Text(value));
    };
    let text = |key: &str| match info.get(key) {
        Some(Value::Text(text)) if !text.is_empty() => Some(text.as_str()),
        _ => None,
    };
    let version = |key: &str| match info.get(key) {
        Some(Value::UInt(version)) => u32::try_from(*version).ok().map(release),
        Some(Value::Int(version)) => u32::try_from(*version).ok().map(release),
        _ => None,
    };
    let joined = |parts: [Option<String>; 3]| {
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    };
    let string = |key: &str| text(key).map(str::to_owned);
    // The first characters identify a hash.
    let hash = |key: &str| text(key).map(|hash| hash.chars().take(10).collect());
    let branch = text("ver_sw_branch").map(|branch| format!("({branch})"));
    let software = joined([version("ver_sw_release"), hash("ver_sw"), branch]);
    let hardware = joined([string("ver_hw"), string("ver_hw_subtype"), None]);
    let os = [string("sys_os_name"), version("sys_os_ver_release"), hash("sys_os_ver")];
    for (name, value) in [
        ("system", string("sys_name")),
        ("hardware", hardware),
        ("software", software),
        ("os", joined(os)),
        ("mcu", string("sys_mcu")),
        ("uuid", string("sys_uuid")),
        ("log type", string("log_type")),
        ("utc offset", utc_offset(info)),
        (
            "toolchain",
            joined([string("sys_toolchain"), string("sys_toolchain_ver"), None]),
        ),
    ] {
        if let Some(value) = value {
            add(name, value);
        }
    }
    system
}

/// Formats the offset of local time from UTC, e.g. `-01:00 (-3600 s)`.
fn utc_offset(info: &BTreeMap<String, Value>) -> Option<String> {
    let Some(Value::Int(secs)) = info.get("time_ref_utc") else { return None };
    let (sign, minutes) = (if *secs < 0 { '-' } else { '+' }, secs.unsigned_abs() / 60);
    Some(format!("{sign}{:02}:{:02} ({secs} s)", minutes / 60, minutes % 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_description_is_readable() {
        let text = |text: &str| Value::Text(text.to_owned());
        let info = BTreeMap::from([
            ("sys_name".to_owned(), text("PX4")),
            ("ver_sw".to_owned(), text("0123456789abcdef")),
            ("ver_sw_release".to_owned(), Value::UInt(0x010e_04ff)),
            ("ver_sw_branch".to_owned(), text("main")),
            ("log_type".to_owned(), text("mission")),
            ("time_ref_utc".to_owned(), Value::Int(-5_400)),
        ]);
        let system = readable_facts(&info);
        assert_eq!(system["software"], text("v1.14.4 0123456789 (main)"));
        assert_eq!(system["system"], text("PX4"));
        assert_eq!(system["log type"], text("mission"));
        assert_eq!(system["utc offset"], text("-01:30 (-5400 s)"));
        assert!(!system.contains_key("os"));
    }
}
