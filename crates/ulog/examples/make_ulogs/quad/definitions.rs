//! The definitions of the log.

use logtool_core::Result;
use logtool_ulog::{
    ParameterValue,
    write::{DefaultScope, Writer},
};

const FORMATS: [(&str, &str); 8] = [
    (
        "vehicle_attitude",
        "uint64_t timestamp;float[4] q;uint8_t quat_reset_counter;\
         uint8_t[7] _padding0;",
    ),
    (
        "sensor_combined",
        "uint64_t timestamp;float[3] gyro_rad;uint32_t gyro_integral_dt;\
         int32_t accelerometer_timestamp_relative;float[3] accelerometer_m_s2;\
         uint32_t accelerometer_integral_dt;uint8_t accelerometer_clipping;\
         uint8_t gyro_clipping;uint8_t accel_calibration_count;\
         uint8_t gyro_calibration_count;",
    ),
    (
        "vehicle_local_position",
        "uint64_t timestamp;float x;float y;float z;float vx;float vy;float vz;\
         float ax;float ay;float az;float heading;float dist_bottom;bool xy_valid;\
         bool z_valid;bool v_xy_valid;bool v_z_valid;bool dist_bottom_valid;\
         uint8_t[7] _padding0;",
    ),
    (
        "vehicle_gps_position",
        "uint64_t timestamp;uint64_t time_utc_usec;int32_t lat;int32_t lon;\
         int32_t alt;int32_t alt_ellipsoid;float s_variance_m_s;float eph;float epv;\
         float hdop;float vel_m_s;float vel_n_m_s;float vel_e_m_s;float vel_d_m_s;\
         float cog_rad;uint8_t fix_type;bool vel_ned_valid;uint8_t satellites_used;\
         uint8_t[1] _padding0;",
    ),
    (
        "vehicle_status",
        "uint64_t timestamp;uint64_t armed_time;uint64_t takeoff_time;\
         uint8_t arming_state;uint8_t nav_state;uint8_t vehicle_type;bool failsafe;\
         uint8_t[4] _padding0;",
    ),
    (
        "battery_status",
        "uint64_t timestamp;float voltage_v;float current_a;float discharged_mah;\
         float remaining;float[4] voltage_cell_v;uint8_t cell_count;uint8_t id;\
         uint8_t warning;bool connected;uint8_t[4] _padding0;",
    ),
    (
        "esc_status",
        "uint64_t timestamp;uint16_t counter;uint8_t esc_count;\
         uint8_t esc_connectiontype;uint8_t esc_online_flags;uint8_t esc_armed_flags;\
         uint8_t[2] _padding0;esc_report[2] esc;",
    ),
    (
        "esc_report",
        "uint64_t timestamp;uint32_t esc_errorcount;int32_t esc_rpm;float esc_voltage;\
         float esc_current;float esc_temperature;uint16_t failures;uint8_t esc_address;\
         uint8_t esc_state;uint8_t actuator_function;uint8_t[7] _padding0;",
    ),
];

/// A parameter, and the default if the value differs from it.
type Parameter = (&'static str, ParameterValue, Option<(ParameterValue, DefaultScope)>);

const PARAMETERS: [Parameter; 16] = [
    ("BAT1_CAPACITY", float(5_200.0), Some((float(-1.0), DefaultScope::Both))),
    ("BAT1_N_CELLS", int(4), Some((int(0), DefaultScope::System))),
    ("BAT2_N_CELLS", int(4), Some((int(0), DefaultScope::System))),
    ("CAL_ACC0_ID", int(2_818_058), Some((int(0), DefaultScope::Both))),
    ("COM_DISARM_LAND", float(2.0), None),
    ("EKF2_HGT_REF", int(1), None),
    ("MAV_TYPE", int(2), None),
    ("MC_PITCH_P", float(6.5), None),
    ("MC_ROLLRATE_P", float(0.18), Some((float(0.15), DefaultScope::System))),
    ("MC_ROLL_P", float(7.0), Some((float(6.5), DefaultScope::Both))),
    ("MIS_TAKEOFF_ALT", float(10.0), Some((float(2.5), DefaultScope::Both))),
    ("MPC_XY_CRUISE", float(5.0), None),
    ("NAV_DLL_ACT", int(-1), Some((int(0), DefaultScope::Configuration))),
    ("SDLOG_UTC_OFFSET", int(120), Some((int(0), DefaultScope::Both))),
    ("SYS_AUTOSTART", int(4_001), Some((int(0), DefaultScope::System))),
    ("THR_MDL_FAC", float(0.3), Some((float(0.0), DefaultScope::System))),
];

const BOOT_CONSOLE: &str = "\
sercon: Registering CDC/ACM serial driver
HW arch: PX4_FMU_V5X
FW version: Release 1.14.4 (17696511)
OS: NuttX
OS version: Release 11.0.0 (184549631)
Build datetime: Nov 20 2024 10:00:00
MCU: STM32F76xxx, rev. Z
INFO  [param] selected parameter default file /fs/mtd_params
Board defaults: /etc/init.d/rc.board_defaults
INFO  [dataman] data manager file '/fs/microsd/dataman' size is 68528 bytes
Loading airframe: /etc/init.d/airframes/4001_quad_x
INFO  [px4io] IO FW CRC match
Board sensors: /etc/init.d/rc.board_sensors
icm20602 #0 on SPI bus 1 rotation 2
icm42688p #1 on SPI bus 2 rotation 4
bmi088_accel #2 on SPI bus 3
bmi088_gyro #2 on SPI bus 3
bmm150 #0 on I2C bus 4 (external) address 0x10 rotation 6
ms5611 #0 on SPI bus 4
ms5611 #1 on I2C bus 1 address 0x77
INFO  [gps] starting on /dev/ttyS0, 38400 baud
ekf2 [580:237]: instance 0, IMU 0, mag 0
ekf2 [581:237]: instance 1, IMU 1, mag 0
INFO  [mavlink] mode: Normal, data rate: 1200 B/s on /dev/ttyS6 @ 57600B
INFO  [logger] logger started (mode=all)
INFO  [init] temperature 23.5 °C, all sensors nominal
nsh>
";

const PERF_COUNTERS: [&str; 3] = [
    "control latency: 7501 events, 1342580us elapsed, 178.99us avg, min 96us max 871us",
    "mc_rate_control: cycle: 7488 events, 142306us elapsed, 19.00us avg, min 9us max 97us",
    "ekf2: ECL update: 1874 events, 287410us elapsed, 153.37us avg, min 41us max 1022us",
];

pub(super) fn write(log: &mut Writer<Vec<u8>>) -> Result<()> {
    for (name, fields) in FORMATS {
        log.format(name, fields)?;
    }

    log.info_text("sys_name", "PX4")?;
    log.info_text("ver_hw", "PX4_FMU_V5X")?;
    log.info_text("ver_hw_subtype", "V5X00")?;
    log.info_text("ver_sw", "0123456789abcdef0123456789abcdef01234567")?;
    log.info_text("ver_sw_branch", "release/1.14")?;
    log.info_u32("ver_sw_release", 0x010e_04ff)?;
    log.info_text("sys_os_name", "NuttX")?;
    log.info_u32("ver_os_release", 0x0b00_00ff)?;
    log.info_text("sys_mcu", "STM32F76xxx, rev. Z")?;
    log.info_text("sys_uuid", "000600000000000000000000000000000001")?;
    log.info_i32("time_ref_utc", 0)?;
    log.info_multiple_text("boot_console_output", BOOT_CONSOLE)?;
    for counter in PERF_COUNTERS {
        log.info_multiple_text("perf_counter_preflight", counter)?;
    }

    for (name, value, default) in PARAMETERS {
        log.parameter(name, value)?;
        if let Some((default, of)) = default {
            log.default_parameter(name, default, of)?;
        }
    }
    Ok(())
}

const fn int(value: i32) -> ParameterValue {
    ParameterValue::Int(value)
}

const fn float(value: f32) -> ParameterValue {
    ParameterValue::Float(value)
}
