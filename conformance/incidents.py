"""Makes ULogs of incidents, with the fields of PX4 of 2016 (1.4) and of 2025 (1.16), and checks that
`logtool flight` diagnoses each of them, and nothing else. A sound flight of each release has no
diagnosis. The layouts are those of the messages of these releases (PX4-Autopilot, `msg/`), with the
fields that matter; the values are those of Flight Review's and PX4's documents, far beyond the limits.

Usage: incidents.py [FOLDER]    keeps the logs in FOLDER
"""

import json
import math
import struct
import sys
import tempfile
from pathlib import Path

from logtool import run
from ulog_maker import MAGIC, message

CODES = {
    "bool": "?",
    "uint8_t": "B",
    "uint16_t": "H",
    "uint32_t": "I",
    "int32_t": "i",
    "float": "f",
    "uint64_t": "Q",
    "int16_t": "h",
}
SECONDS, ARMED, TAKEOFF, LANDING, DISARMED = 120, 10, 15, 105, 110
#: The time of an incident: from 50 s to 70 s.
BEGIN, END = 50, 70


class Topic:
    """A topic: its fields with their types, its rate in Hz, and the values of a sound flight, each a
    number or a function of the seconds since the start."""

    def __init__(self, rate, **fields):
        self.rate, self.fields = rate, fields

    def layout(self):
        """Pairs of the type and the name of each field, largest first as PX4 orders them."""
        kinds = [(kind, name) for name, (kind, _) in self.fields.items()]
        return sorted(
            kinds,
            key=lambda field: -struct.calcsize("<" + CODES[field[0].split("[")[0]]),
        )


def write(topics, changes, texts=(), release=None, parameters=()):
    """The bytes of a log of `topics`, in which `changes` replaces values: {topic: {field: function
    of the seconds}}. `release` is the minor number of the release of PX4 that declares to have written it,
    and `parameters` are pairs of names and integers."""
    log = [MAGIC + struct.pack("<Q", 1_000_000), message("B", bytes(40))]
    for name, topic in topics.items():
        fields = "".join(f"{kind} {field};" for kind, field in topic.layout())
        log.append(message("F", f"{name}:uint64_t timestamp;{fields}".encode()))
    if release is not None:
        key = b"char[3] sys_name"
        log.append(message("I", bytes([len(key)]) + key + b"PX4"))
        key = b"uint32_t ver_sw_release"
        log.append(message("I", bytes([len(key)]) + key + bytes([255, 0, release, 1])))
    for name, value in parameters:
        key = f"int32_t {name}".encode()
        log.append(message("P", bytes([len(key)]) + key + struct.pack("<i", value)))
    for text in texts:
        key = f"char[{len(text)}] hardfault_plain".encode()
        log.append(message("M", b"\0" + bytes([len(key)]) + key + text.encode()))
    for index, name in enumerate(topics):
        log.append(message("A", struct.pack("<BH", 0, index) + name.encode()))
    rows = []
    for index, (name, topic) in enumerate(topics.items()):
        for row in range(SECONDS * topic.rate):
            rows.append((row / topic.rate, index, name, topic))
    rows.sort(key=lambda row: row[:2])
    for time, index, name, topic in rows:
        data = struct.pack("<HQ", index, 1_000_000 + round(time * 1e6))
        for kind, field in topic.layout():
            value = changes.get(name, {}).get(field, topic.fields[field][1])
            value = value(time) if callable(value) else value
            if value is SILENT:
                break
            kind, _, count = kind.partition("[")
            values = value if count else [value]
            data += struct.pack(f"<{len(values)}{CODES[kind]}", *values)
        else:
            log.append(message("D", data))
    return b"".join(log)


#: The value of a record that is not logged.
SILENT = object()


def during(inside, outside, begin=BEGIN, end=END):
    """A value that is another one in the time of the incident."""

    def at(time):
        value = inside if begin <= time < end else outside
        return value(time) if callable(value) else value

    return at


def is_airborne(time):
    return TAKEOFF <= time < LANDING


def outputs(time):
    return 1500.0 + 60.0 * math.sin(time) if is_airborne(time) else 1000.0


def status(**more):
    fields = {
        "nav_state": ("uint8_t", 3),
        "arming_state": ("uint8_t", lambda t: 2 if ARMED <= t < DISARMED else 1),
        "failsafe": ("bool", False),
    }
    return Topic(5, **fields, **more)


GPS = {
    "eph": ("float", 0.8),
    "epv": ("float", 1.2),
    "jamming_indicator": ("int32_t", 20),
    "fix_type": ("uint8_t", 3),
    "satellites_used": ("uint8_t", 14),
}
POSITION = {
    "x": ("float", lambda t: t / 10),
    "y": ("float", 0.0),
    "z": ("float", lambda t: -10.0 if is_airborne(t) else 0.0),
    "vx": ("float", 0.1),
    "vy": ("float", 0.0),
    "vz": ("float", 0.0),
    "delta_xy": ("float[2]", (0.0, 0.0)),
    "delta_z": ("float", 0.0),
    "xy_valid": ("bool", True),
    "z_valid": ("bool", True),
    "v_xy_valid": ("bool", True),
    "v_z_valid": ("bool", True),
    "xy_reset_counter": ("uint8_t", 1),
    "z_reset_counter": ("uint8_t", 1),
}
ESTIMATOR = {
    "vel_test_ratio": ("float", 0.1),
    "pos_test_ratio": ("float", 0.1),
    "hgt_test_ratio": ("float", 0.1),
    "mag_test_ratio": ("float", 0.1),
    "filter_fault_flags": ("uint16_t", 0),
}
LAND = Topic(5, landed=("bool", lambda t: not is_airborne(t)))
CPU = Topic(2, load=("float", 0.4), ram_usage=("float", 0.5))
RC = Topic(10, rc_lost=("bool", False), rc_failsafe=("bool", False))
BATTERY = {
    "voltage_v": ("float", lambda t: 16.4 - t / 200),
    "current_a": ("float", lambda t: 12.0 if is_airborne(t) else 0.5),
    "warning": ("uint8_t", 0),
}


def motors(time):
    return tuple(outputs(time + motor) for motor in range(4)) + (0.0,) * 12


FIELD = (0.2, 0.0, 0.4)
#: PX4 1.4: the compass and the accelerometer are in sensor_combined.
OLD = {
    "vehicle_status": status(
        rc_signal_lost=("bool", False),
        data_link_lost=("bool", False),
        is_rotary_wing=("bool", True),
    ),
    "vehicle_land_detected": LAND,
    "vehicle_gps_position": Topic(5, **GPS),
    "vehicle_local_position": Topic(10, **POSITION),
    "estimator_status": Topic(5, **ESTIMATOR),
    "sensor_combined": Topic(
        20,
        magnetometer_ga=("float[3]", FIELD),
        accelerometer_m_s2=("float[3]", (0.1, 0.1, -9.8)),
    ),
    "actuator_outputs": Topic(
        10, noutputs=("uint32_t", 4), output=("float[16]", motors)
    ),
    "battery_status": Topic(2, **BATTERY),
    "input_rc": RC,
    "cpuload": CPU,
    "system_power": Topic(2, voltage5V_v=("float", 5.1)),
}
#: PX4 1.16.
NEW = {
    "vehicle_status": status(
        vehicle_type=("uint8_t", 1), gcs_connection_lost=("bool", False)
    ),
    "vehicle_land_detected": LAND,
    "vehicle_gps_position": Topic(
        5, **GPS, jamming_state=("uint8_t", 1), spoofing_state=("uint8_t", 1)
    ),
    "vehicle_local_position": Topic(10, **POSITION),
    "estimator_status": Topic(5, **ESTIMATOR),
    "vehicle_magnetometer": Topic(10, magnetometer_ga=("float[3]", FIELD)),
    "vehicle_imu_status": Topic(
        1,
        accel_vibration_metric=("float", 1.5),
        accel_clipping=("uint32_t[3]", (0, 0, 0)),
    ),
    "actuator_outputs": Topic(
        10, noutputs=("uint32_t", 4), output=("float[16]", motors)
    ),
    "battery_status": Topic(
        2, **BATTERY, cell_count=("uint8_t", 4), connected=("bool", True)
    ),
    "input_rc": RC,
    "failsafe_flags": Topic(
        2,
        manual_control_signal_lost=("bool", False),
        gcs_connection_lost=("bool", False),
    ),
    "failure_detector_status": Topic(
        2, fd_motor=("bool", False), fd_roll=("bool", False)
    ),
    "cpuload": CPU,
    "system_power": Topic(2, voltage5v_v=("float", 5.1)),
}


def stopped(time):
    values = list(motors(time))
    if BEGIN <= time < LANDING:
        values[2] = 0.0
    return tuple(values)


def saturated(time):
    values = list(motors(time))
    if BEGIN <= time < END:
        values[2] = 1950.0
    return tuple(values)


def jump(before, after):
    return lambda time: before if time < BEGIN else after


def one_step(value):
    return during(value, (0.0, 0.0), BEGIN, BEGIN + 0.5)


DISTURBED = {"magnetometer_ga": during((0.9, 0.3, 0.4), FIELD)}
BOTH = (OLD, NEW)
#: What happens: the releases that log it, the changes of values, and the kinds of diagnoses.
INCIDENTS = {
    "sound": (BOTH, {}, ()),
    "motor_stopped": (
        BOTH,
        {"actuator_outputs": {"output": stopped}},
        ("motor_failure",),
    ),
    "motor_saturated": (
        BOTH,
        {"actuator_outputs": {"output": saturated}},
        ("motor_failure",),
    ),
    "motor_detected": (
        (NEW,),
        {"failure_detector_status": {"fd_motor": during(True, False)}},
        ("motor_failure",),
    ),
    "gps_loss": (
        BOTH,
        {"vehicle_gps_position": {"fix_type": during(0, 3)}},
        ("gps_loss",),
    ),
    "gps_silent": (
        BOTH,
        {"vehicle_gps_position": {"eph": during(SILENT, 0.8)}},
        ("gps_loss",),
    ),
    "gps_jamming_indicator": (
        BOTH,
        {"vehicle_gps_position": {"jamming_indicator": during(200, 20)}},
        ("gps_interference",),
    ),
    "gps_jamming_state": (
        (NEW,),
        {"vehicle_gps_position": {"jamming_state": during(3, 1)}},
        ("gps_interference",),
    ),
    "gps_spoofing_state": (
        (NEW,),
        {"vehicle_gps_position": {"spoofing_state": during(3, 1)}},
        ("gps_interference",),
    ),
    "gps_error": (
        BOTH,
        {
            "vehicle_gps_position": {
                "eph": during(30.0, 0.8),
                "satellites_used": during(4, 14),
            }
        },
        ("gps_interference",),
    ),
    "compass_field": (
        (OLD,),
        {"sensor_combined": DISTURBED},
        ("compass_interference",),
    ),
    "compass_field_new": (
        (NEW,),
        {"vehicle_magnetometer": DISTURBED},
        ("compass_interference",),
    ),
    "compass_rejected": (
        BOTH,
        {"estimator_status": {"mag_test_ratio": during(2.5, 0.1)}},
        ("compass_interference",),
    ),
    "rc_loss": (BOTH, {"input_rc": {"rc_lost": during(True, False)}}, ("rc_loss",)),
    "rc_loss_in_status": (
        (OLD,),
        {"vehicle_status": {"rc_signal_lost": during(True, False)}},
        ("rc_loss",),
    ),
    "rc_loss_in_flags": (
        (NEW,),
        {"failsafe_flags": {"manual_control_signal_lost": during(True, False)}},
        ("rc_loss",),
    ),
    "link_loss_in_status": (
        (OLD,),
        {"vehicle_status": {"data_link_lost": during(True, False)}},
        ("data_link_loss",),
    ),
    "link_loss_in_flags": (
        (NEW,),
        {"failsafe_flags": {"gcs_connection_lost": during(True, False)}},
        ("data_link_loss",),
    ),
    "ekf_rejects": (
        BOTH,
        {"estimator_status": {"vel_test_ratio": during(3.0, 0.1)}},
        ("ekf_failure",),
    ),
    "ekf_fault": (
        BOTH,
        {"estimator_status": {"filter_fault_flags": during(4, 0)}},
        ("ekf_failure",),
    ),
    "ekf_reset": (
        BOTH,
        {
            "vehicle_local_position": {
                "xy_reset_counter": jump(1, 2),
                "delta_xy": one_step((6.0, 8.0)),
            }
        },
        ("ekf_reset",),
    ),
    "battery_empty": (
        BOTH,
        {"battery_status": {"voltage_v": lambda t: 16.4 - t / 30}},
        ("battery_brownout",),
    ),
    "battery_warning": (
        BOTH,
        {"battery_status": {"warning": during(2, 0)}},
        ("battery_low",),
    ),
    "battery_sag": (
        BOTH,
        {"battery_status": {"voltage_v": during(13.6, 16.0)}},
        ("battery_sag",),
    ),
    "power_rail_old": (
        (OLD,),
        {"system_power": {"voltage5V_v": during(4.2, 5.1)}},
        ("power_rail",),
    ),
    "power_rail": (
        (NEW,),
        {"system_power": {"voltage5v_v": during(4.2, 5.1)}},
        ("power_rail",),
    ),
    "vibration": (
        (NEW,),
        {
            "vehicle_imu_status": {
                "accel_vibration_metric": lambda t: 12.0 if is_airborne(t) else 0.1
            }
        },
        ("vibration",),
    ),
    "clipping": (
        (NEW,),
        {
            "vehicle_imu_status": {
                "accel_clipping": lambda t: (0, 0, max(0, int(t - TAKEOFF)) * 30)
            }
        },
        ("clipping",),
    ),
    "cpu_load": (BOTH, {"cpuload": {"load": during(0.99, 0.4)}}, ("cpu_load",)),
    "ram_usage": (BOTH, {"cpuload": {"ram_usage": during(0.995, 0.5)}}, ("ram_usage",)),
    "failsafe": (
        BOTH,
        {"vehicle_status": {"failsafe": during(True, False)}},
        ("failsafe",),
    ),
    "termination": (
        BOTH,
        {"vehicle_status": {"nav_state": jump(3, 13)}},
        ("failsafe",),
    ),
    "hard_fault": (BOTH, None, ("hard_fault",)),
    # A vehicle that flies away usually has no position: the estimator rejects it and resets.
    "flyaway": (
        BOTH,
        {
            "vehicle_local_position": {
                "vx": during(18.0, 0.1),
                "x": lambda t: t / 10 + 18 * max(0, min(t, END) - BEGIN),
                "xy_reset_counter": jump(1, 2),
                "delta_xy": one_step((60.0, 0.0)),
            },
            "estimator_status": {"pos_test_ratio": during(4.0, 0.1)},
        },
        ("ekf_failure", "ekf_reset"),
    ),
}


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary)
        folder.mkdir(exist_ok=True)
        for name, (releases, changes, expected) in INCIDENTS.items():
            for release in releases:
                year = "2016" if release is OLD else "2025"
                path = folder / f"{name}_{year}.ulg"
                texts = ("hard fault",) if changes is None else ()
                path.write_bytes(write(release, changes or {}, texts))
                found = json.loads(run("flight", "--json", path))["diagnoses"]
                kinds = {diagnosis["kind"] for diagnosis in found}
                is_found = kinds == set(expected)
                times = [
                    (d["start_ns"] / 1e9 - 1, d["end_ns"] / 1e9 - 1) for d in found
                ]
                print(
                    f"{'ok' if is_found else 'FAIL':8} {path.name}  {sorted(kinds)} {times}"
                )
                passed, failed = passed + is_found, failed + (not is_found)
    print(f"incidents: {passed} passed, {failed} failed")
    return bool(failed) or not passed


if __name__ == "__main__":
    sys.exit(main())
