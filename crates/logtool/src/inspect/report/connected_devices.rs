//! The devices that are connected to a vehicle with PX4, as they describe themselves.

use std::collections::BTreeSet;

use arrow_array::{
    Array as _, RecordBatch, StringArray,
    cast::AsArray as _,
    types::{UInt8Type, UInt32Type},
};
use logtool_core::{Block as RecordBlock, Columns, Damage, Log, Selection, TopicSet};
use logtool_plot::{Block, TableRow};
use logtool_ulog::px4_value_names;

use crate::{
    error::Result,
    records::message_text::{shown_text, strings},
};

/// The topic with the descriptions, since PX4 1.18.
const TOPIC: &str = "device_information";

/// The columns with texts, and their titles.
const TEXTS: [(&str, &str); 4] = [
    ("name", "name"),
    ("firmware_version", "firmware"),
    ("hardware_version", "hardware"),
    ("serial_number", "serial number"),
];

/// The maximum number of devices.
const MAX_DEVICES: usize = 256;

/// A device: its type, its ID, and its texts.
type Device = (u8, u32, [String; 4]);

/// Returns a table of the connected devices, and adds the damage that is found to `damage`.
pub(super) fn table(log: &dyn Log, damage: &mut Vec<Damage>) -> Result<Vec<Block>> {
    let manifest = log.manifest();
    let own_topics = manifest.topics().filter(|(_, topic)| topic.name == TOPIC);
    let topics: TopicSet = own_topics.map(|(id, _)| id).collect();
    let mut devices = BTreeSet::new();
    let mut more = false;
    let mut decoders = Vec::new();
    for id in topics.ids(manifest.topics.len()) {
        decoders.push((id, log.decoder(id, &Columns::default())?));
    }
    let selection = Selection { topics, ..Selection::default() };
    let mut block = RecordBlock::default();
    for part in manifest.plan(&selection, 0) {
        let mut cursor = log.read(&part, &selection)?;
        while cursor.fill(&mut block)? {
            damage.extend_from_slice(block.damage());
            for run in block.runs() {
                let decoder = decoders.iter_mut().find(|(id, _)| *id == run.topic());
                let Some((_, decoder)) = decoder else { continue };
                decoder.append(run, damage);
                for device in devices_of(&decoder.take()?) {
                    if devices.len() < MAX_DEVICES {
                        devices.insert(device);
                    } else {
                        more |= !devices.contains(&device);
                    }
                }
            }
        }
    }
    if devices.is_empty() {
        return Ok(Vec::new());
    }
    let types = px4_value_names(manifest, TOPIC, "device_type");
    let rows = devices.into_iter().map(|(device_type, id, texts)| {
        let name = types.get(&i64::from(device_type)).map(|name| {
            name.trim_start_matches("DEVICE_TYPE_").to_lowercase().replace('_', " ")
        });
        let mut cells = vec![name.unwrap_or_else(|| format!("type {device_type}"))];
        cells.extend(texts);
        cells.push(if id == 0 { String::new() } else { id.to_string() });
        TableRow { cells, ..TableRow::default() }
    });
    let titles = TEXTS.iter().map(|(_, title)| *title);
    let head = ["type"].into_iter().chain(titles).chain(["device ID"]);
    let mut blocks =
        vec![Block::Table(head.map(str::to_owned).collect(), rows.collect())];
    if more {
        blocks.push(Block::Note(format!("there are more than {MAX_DEVICES} devices")));
    }
    Ok(blocks)
}

/// Returns the devices in the rows of `batch`.
fn devices_of(batch: &RecordBatch) -> Vec<Device> {
    let types = batch.column_by_name("device_type");
    let Some(types) = types.and_then(|types| types.as_primitive_opt::<UInt8Type>())
    else {
        return Vec::new();
    };
    let ids = batch.column_by_name("device_id");
    let ids = ids.and_then(|ids| ids.as_primitive_opt::<UInt32Type>());
    let texts = TEXTS.map(|(name, _)| batch.column_by_name(name).and_then(strings));
    let device = |row: usize| {
        let text = |texts: &Option<StringArray>| match texts {
            Some(texts) if texts.is_valid(row) => shown_text(texts.value(row)),
            _ => String::new(),
        };
        let id = ids.map_or(0, |ids| ids.value(row));
        (types.value(row), id, texts.each_ref().map(text))
    };
    (0..batch.num_rows()).map(device).collect()
}
