//! The flight modes of PX4.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{Array as _, cast::AsArray as _, types::*};
use logtool_core::{
    Block, Columns, Error, ErrorKind, Log, Manifest, Selection, TopicSet, View,
};
use logtool_sinks::{TrackMode, TrackModes};
use logtool_ulog::px4_value_names;

use crate::error::Result;

/// The topic and the field with the mode.
const TOPIC: &str = "vehicle_status";
const FIELD: &str = "nav_state";

/// More changes than these are not flight modes, and would fill the memory.
const MAX_CHANGES: usize = 1 << 18;

/// The start of the names of the values of the field, which is left out.
const PREFIX: &str = "NAVIGATION_STATE_";

/// The colours of ulog2kml by the value of the field; they repeat. As CSS names: red, green,
/// blue, violet, yellow, orange, burlywood, azure, lightblue, lawngreen, indianred, hotpink,
/// bisque, cyan, darksalmon, deepskyblue, lime, orchid.
const COLORS: [[u8; 3]; 18] = [
    [0xff, 0x00, 0x00],
    [0x00, 0x80, 0x00],
    [0x00, 0x00, 0xff],
    [0xee, 0x82, 0xee],
    [0xff, 0xff, 0x00],
    [0xff, 0xa5, 0x00],
    [0xde, 0xb8, 0x87],
    [0xf0, 0xff, 0xff],
    [0xad, 0xd8, 0xe6],
    [0x7c, 0xfc, 0x00],
    [0xcd, 0x5c, 0x5c],
    [0xff, 0x69, 0xb4],
    [0xff, 0xe4, 0xc4],
    [0x00, 0xff, 0xff],
    [0xe9, 0x96, 0x7a],
    [0x00, 0xbf, 0xff],
    [0x00, 0xff, 0x00],
    [0xda, 0x70, 0xd6],
];

/// Returns the modes of `log`, if it is a log of PX4, at times to which `offset_nanos` is added.
pub fn read_modes(log: &dyn Log, offset_nanos: i64) -> Result<Option<TrackModes>> {
    let Ok(topic) = log.manifest().topic_id(TOPIC) else { return Ok(None) };
    let all_columns = log.decoder(topic, &Columns::new(View::Flat))?;
    let Ok(field) = all_columns.schema().index_of(FIELD) else { return Ok(None) };
    let columns = Columns { indices: Some(vec![field]), ..Columns::new(View::Flat) };
    let mut decoder = log.decoder(topic, &columns)?;

    let topics: TopicSet = [topic].into_iter().collect();
    let selection = Selection { topics, ..Selection::default() };
    let names = mode_names(log.manifest());
    let (mut changes, mut modes) = (Vec::new(), BTreeMap::new());
    let (mut block, mut last) = (Block::default(), None);
    for part in log.manifest().plan(&selection, 1 << 20) {
        let mut cursor = log.read(&part, &selection)?;
        while cursor.fill(&mut block)? {
            // Damage is reported when the whole log is read.
            block.runs().for_each(|run| decoder.append(run, &mut Vec::new()));
            let batch = decoder.take()?;
            let times = batch.columns().first();
            let times =
                times.and_then(|t| t.as_primitive_opt::<TimestampNanosecondType>());
            let states = batch.column_by_name(FIELD);
            let states = states.and_then(|s| s.as_primitive_opt::<UInt8Type>());
            let Some((times, states)) = times.zip(states) else { return Ok(None) };
            for row in 0..batch.num_rows() {
                let state = states.value(row);
                if !times.is_valid(row) || last.replace(state) == Some(state) {
                    continue;
                }
                let mode =
                    modes.entry(state).or_insert_with(|| Arc::new(mode(&names, state)));
                let nanos = times.value(row).saturating_add(offset_nanos);
                changes.push((nanos, mode.clone()));
                if changes.len() > MAX_CHANGES {
                    let message = format!("{TOPIC} has too many mode changes");
                    return Err(Error::new(ErrorKind::Limit, message).into());
                }
            }
        }
    }
    Ok((!changes.is_empty()).then(|| TrackModes::new(changes)))
}

/// Returns the names of the flight modes of the release of PX4 that wrote the log, by the values of
/// the field.
pub(crate) fn mode_names(manifest: &Manifest) -> BTreeMap<u8, String> {
    let names = px4_value_names(manifest, TOPIC, FIELD).into_iter();
    names
        .filter_map(|(state, name)| {
            let name = name.strip_prefix(PREFIX).unwrap_or(&name).to_owned();
            Some((u8::try_from(state).ok()?, name))
        })
        .collect()
}

/// Returns the mode with the value `state`.
fn mode(names: &BTreeMap<u8, String>, state: u8) -> TrackMode {
    let name = names.get(&state);
    let name = name.map_or_else(|| format!("{FIELD} {state}"), Clone::clone);
    let color = COLORS.get(usize::from(state) % COLORS.len());
    TrackMode { name, color: color.copied().unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_have_the_names_of_px4_and_the_colours_of_ulog2kml() {
        let names = mode_names(&Manifest::default());
        let mode = |state| mode(&names, state);
        let named = |state| (mode(state).name, mode(state).color);
        assert_eq!(named(3), ("AUTO_MISSION".into(), [0xee, 0x82, 0xee]));
        assert_eq!(named(17), ("AUTO_TAKEOFF".into(), [0xda, 0x70, 0xd6]));
        // From 18 on the colours repeat.
        assert_eq!(named(18), ("AUTO_LAND".into(), [0xff, 0, 0]));
        assert_eq!(named(6).0, "nav_state 6");
        assert_eq!(named(255).0, "nav_state 255");
    }
}
