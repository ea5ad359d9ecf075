//! The sensors of a vehicle with PX4, from the device IDs in their topics.

use std::collections::BTreeSet;

use logtool_core::Log;
use logtool_plot::{Block, Signal, TableRow};

use crate::records::signals::{self, RequestedSignal};

/// The column with the device ID.
const DEVICE_ID: &str = "device_id";

/// The topics of sensors.
const TOPICS: [&str; 10] = [
    "sensor_accel",
    "sensor_gyro",
    "sensor_mag",
    "sensor_baro",
    "sensor_gps",
    "sensor_optical_flow",
    "differential_pressure",
    "distance_sensor",
    "sensor_hygrometer",
    "power_monitor",
];

/// The maximum number of sensors.
const MAX_SENSORS: usize = 64;

/// The maximum number of device IDs of a topic: a broken log may have any number.
const MAX_IDS: usize = 8;

/// The types of buses by their number (PX4, `Device.hpp`, `DeviceBusType`).
const BUSES: [&str; 7] =
    ["unknown", "I2C", "SPI", "UAVCAN", "simulation", "serial", "MAVLink"];

/// The types of devices by their number (PX4, `drv_sensor.h`). Numbers that changed their meaning
/// between releases are not listed.
const DEVICES: &[(u8, &str)] = &[
    (0x01, "HMC5883"),
    (0x03, "simulated magnetometer"),
    (0x04, "AK8963"),
    (0x05, "LIS3MDL"),
    (0x06, "IST8310"),
    (0x07, "RM3100"),
    (0x08, "QMC5883L"),
    (0x09, "AK09916"),
    (0x0a, "VCM1193L"),
    (0x0b, "IST8308"),
    (0x0d, "MMC5983MA"),
    (0x0e, "IIS2MDC"),
    (0x11, "LSM303D"),
    (0x14, "simulated IMU"),
    (0x15, "simulated differential pressure"),
    (0x21, "MPU6000"),
    (0x22, "L3GD20"),
    (0x24, "MPU9250"),
    (0x25, "ICM20649"),
    (0x26, "ICM42688P"),
    (0x27, "ICM40609D"),
    (0x28, "ICM20948"),
    (0x29, "ICM42605"),
    (0x2a, "ICM42670P"),
    (0x2b, "IIM42652"),
    (0x2c, "IAM20680HP"),
    (0x2d, "ICM42686P"),
    (0x2e, "IIM42653"),
    (0x34, "ICM45686"),
    (0x36, "MPU6500"),
    (0x37, "BMI270"),
    (0x38, "ICM20602"),
    (0x3a, "ICM20608G"),
    (0x3c, "ICM20689"),
    (0x3d, "MS5611"),
    (0x3e, "MS5607"),
    (0x3f, "BMP280"),
    (0x40, "LPS25H"),
    (0x41, "BMI055"),
    (0x42, "BMI055"),
    (0x43, "BMM150"),
    (0x46, "ETS3"),
    (0x47, "MS4515"),
    (0x48, "MS4525DO"),
    (0x49, "MS5525DSO"),
    (0x4a, "SDP31"),
    (0x4b, "SDP32"),
    (0x4c, "SDP33"),
    (0x4f, "SPL06"),
    (0x50, "LPS33HW"),
    (0x51, "MPL3115A2"),
    (0x57, "ADIS16448"),
    (0x58, "ADIS16470"),
    (0x59, "ADIS16477"),
    (0x5a, "ADIS16507"),
    (0x5b, "SCH16T"),
    (0x60, "LPS22HB"),
    (0x63, "ADIS16497"),
    (0x65, "simulated barometer"),
    (0x66, "BMI088"),
    (0x67, "BMP388"),
    (0x68, "DPS310"),
    (0x6a, "BMI088"),
    (0x6c, "BMI085"),
    (0x6d, "BMI085"),
    (0x6e, "BMP390"),
    (0x6f, "BMP581"),
    (0x70, "LL40LS"),
    (0x73, "Lightware laser"),
    (0x75, "TeraRanger"),
    (0x76, "VL53L0X"),
    (0x80, "accelerometer by CAN"),
    (0x81, "barometer by CAN"),
    (0x83, "differential pressure by CAN"),
    (0x84, "optical flow by CAN"),
    (0x85, "GPS by CAN"),
    (0x86, "gyroscope by CAN"),
    (0x87, "IMU by CAN"),
    (0x88, "magnetometer by CAN"),
    (0x89, "distance sensor by CAN"),
    (0x91, "VL53L1X"),
    (0x97, "TFmini"),
    (0x9a, "simulated distance sensor"),
    (0xa4, "Septentrio SBF receiver"),
    (0xa5, "u-blox receiver"),
    (0xa6, "u-blox 6"),
    (0xa7, "u-blox 7"),
    (0xa8, "u-blox 8"),
    (0xa9, "u-blox 9"),
    (0xaa, "u-blox F9P"),
    (0xab, "NMEA receiver"),
    (0xac, "u-blox 10"),
    (0xad, "u-blox 20"),
    (0xaf, "simulated GPS"),
    (0xb1, "SHT3x"),
    (0xb3, "PMW3901"),
    (0xb4, "PAW3902"),
    (0xb6, "PAA3905"),
    (0xb7, "ICP101xx"),
    (0xb8, "ICP201xx"),
    (0xd0, "INA226"),
    (0xd1, "INA228"),
    (0xd4, "INA238"),
    (0xe0, "TF02 Pro"),
    (0xe4, "ASP5033"),
    (0xe5, "BMM350"),
];

/// Returns the signals of the device IDs. Each is named after its topic.
pub(super) fn requested_signals(log: &dyn Log) -> Vec<RequestedSignal> {
    let topics = log.manifest().topics();
    let topics = topics.filter(|(_, topic)| TOPICS.contains(&topic.name.as_str()));
    let signals = topics.filter_map(|(id, topic)| {
        let signal = signals::find_in_topic(log, id, DEVICE_ID)?;
        Some(RequestedSignal { name: topic.label().into_owned(), ..signal })
    });
    signals.take(MAX_SENSORS).collect()
}

/// Returns a table of the sensors.
pub(super) fn blocks<'s>(
    found: impl Iterator<Item = (&'s RequestedSignal, &'s Signal)>,
) -> Vec<Block> {
    let (mut rows, mut notes) = (Vec::new(), Vec::new());
    for (wanted, signal) in found {
        let values = signal.runs.iter().flatten().map(|(_, value)| *value as u32);
        // 0 is no device.
        let ids: BTreeSet<u32> = values.filter(|id| *id != 0).collect();
        rows.extend(ids.iter().take(MAX_IDS).map(|id| row(&wanted.name, *id)));
        if ids.len() > MAX_IDS {
            let (name, more) = (&wanted.name, ids.len() - MAX_IDS);
            notes.push(Block::Note(format!("{name} has {more} more device IDs")));
        }
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let head = ["topic", "device", "bus", "address", "device ID"].map(str::to_owned);
    let mut blocks = vec![Block::Table(head.to_vec(), rows)];
    blocks.extend(notes);
    blocks
}

/// Returns the row of a device. Its ID has the type of the bus in the lowest 3 bits, the number of
/// the bus in the next 5, the address or the chip select in the next 8, and the type of the device
/// in the next 8.
fn row(topic: &str, id: u32) -> TableRow {
    let [bus, address, device, _] = id.to_le_bytes();
    let name =
        DEVICES.iter().find(|(listed, _)| *listed == device).map(|(_, name)| *name);
    let bus_type = BUSES.get(usize::from(bus & 7)).copied();
    let cells = vec![
        topic.to_owned(),
        name.map_or_else(|| format!("type 0x{device:02x}"), str::to_owned),
        format!("{} {}", bus_type.unwrap_or("unknown"), bus >> 3),
        format!("0x{address:02x}"),
        id.to_string(),
    ];
    TableRow { cells, ..TableRow::default() }
}

#[cfg(test)]
mod tests {
    use super::row;

    #[test]
    fn device_id_has_bus_address_and_type() {
        // The example of PX4's documentation of device IDs: an MPU9250's magnetometer, an AK8963,
        // on SPI bus 1.
        let cells = row("sensor_mag", 263_178).cells;
        assert_eq!(cells, ["sensor_mag", "AK8963", "SPI 1", "0x04", "263178"]);
        assert_eq!(row("t", 0x00ff_0000).cells[1..3], ["type 0xff", "unknown 0"]);
    }
}
