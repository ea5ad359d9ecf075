//! A log with labels for its enumeration, in `testdata/msg/KitchenStatus.msg`.

use logtool_core::Result;
use logtool_ulog::{
    Level,
    write::{Subscription, Writer},
};

use crate::files::{portable_math::step, row::Row};

/// The dishes, each with its first minute; the last one has no label.
const MENUS: [(u64, u8); 5] = [(0, 0), (4, 1), (9, 2), (14, 3), (18, 7)];

/// Returns twenty minutes in a kitchen, with one row every ten seconds.
pub(crate) fn log() -> Result<Vec<u8>> {
    let mut log = Writer::new(Vec::new(), 1_000_000);
    log.format(
        "kitchen_status",
        "uint64_t timestamp;float water_temperature;uint8_t pasta_menu;\
         uint8_t stove_level;bool lid_closed;uint8_t[1] _padding0;",
    )?;
    log.info_text("sys_name", "Kitchen")?;
    log.parameter("KITCHEN_SALT_G", 12.5)?;
    let status = log.subscribe(Subscription::new("kitchen_status"))?;
    for second in (0..1_200).step_by(10) {
        let time = 1_000_000 * (1 + second);
        let before = |(minute, _): &&(u64, u8)| minute * 60 <= second;
        let menu = MENUS.iter().rev().find(before).map_or(0, |(_, menu)| *menu);
        let minutes = second as f64 / 60.0;
        let celsius =
            18.0 + 81.5 * (step(minutes, 0.5, 4.0) - step(minutes, 16.0, 25.0));
        let stove = if minutes < 4.0 { 9 } else { 5 };
        let row = Row::with_timestamp(time).floats(&[celsius]).bytes(&[menu, stove]);
        log.data(status, time, &row.u8(u8::from(minutes < 4.0)).finish())?;
        if second == 240 {
            log.string(Level::new(5), time, "water boils")?;
        }
    }
    log.finish()
}
