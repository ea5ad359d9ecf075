"""Makes sound flights of five kinds of vehicles with the fields of six releases of PX4, and checks what
`logtool flight` says of them:

- no diagnosis is critical;
- each incident, put into some of the flights, is found in its time, and nothing else is critical;
- each topic, taken out, makes the kinds of diagnoses that need it "not examined";
- a topic that starts late or stops leaves the rest of the flight unexamined.

The fields of each release are those of the table of the program, which `px4_tables.py` compares with
PX4's messages. The values are those of PX4's simulators and documents.

Usage: flights.py [FOLDER]    keeps the logs in FOLDER
"""

import json
import math
import sys
import tempfile
from pathlib import Path

from incidents import (
    ARMED,
    BEGIN,
    BATTERY,
    CPU,
    DISARMED,
    END,
    FIELD,
    GPS,
    LANDING,
    POSITION,
    RC,
    SECONDS,
    SILENT,
    TAKEOFF,
    Topic,
    during,
    is_airborne,
    jump,
    write,
)
from logtool import run
from px4_tables import field_releases

RELEASES = range(13, 19)
#: For each kind of vehicle: MAV_TYPE, vehicle_status.vehicle_type, and whether it flies.
VEHICLES = {
    "multicopter": (2, 1, True),
    "plane": (1, 2, True),
    "vtol": (22, 1, True),
    "rover": (10, 3, False),
    "boat": (11, 3, False),
}


def is_armed(time):
    return ARMED <= time < DISARMED


def throttle(time, motor):
    """The command of a motor. A motor of a multicopter is at its least for a moment, when the
    controller turns hard."""
    if not is_airborne(time):
        return 0.0
    if motor == 2 and 40 <= time < 40.6:
        return 0.0
    return 0.5 + 0.06 * math.sin(time + motor)


def is_cruising(time):
    """Whether a VTOL flies on its wings, with its four lifting motors stopped."""
    return 30 <= time < 90


def commands(vehicle):
    """The commands of the motors by time; NaN stops a motor."""
    nothing = math.nan

    def at(time):
        if not is_armed(time):
            return (nothing,) * 12
        if vehicle == "multicopter":
            return tuple(throttle(time, motor) for motor in range(4)) + (nothing,) * 8
        if vehicle == "plane":
            # It glides without its motor.
            return (0.0 if 60 <= time < 75 else 0.6,) + (nothing,) * 11
        if vehicle == "vtol":
            lift = (nothing,) * 4 if is_cruising(time) else tuple(throttle(time, m) for m in range(4))
            return lift + (0.7 if is_cruising(time) else 0.0,) + (nothing,) * 7
        # A rover and a boat stop and reverse.
        return (0.5 * math.sin(time / 5),) * 2 + (nothing,) * 10

    return at


def outputs(vehicle):
    command = commands(vehicle)
    is_reversible = vehicle in ("rover", "boat")

    def pulse(value):
        if math.isnan(value):
            return 1500.0 if is_reversible else 900.0
        return 1500.0 + 400.0 * value if is_reversible else 1000.0 + 1000.0 * value

    return lambda time: tuple(pulse(value) for value in command(time)) + (1500.0,) * 4


def flight(vehicle, release):
    """The topics of a sound flight."""
    _, vehicle_type, flies = VEHICLES[vehicle]
    nav_state = {"multicopter": 3, "plane": 3, "vtol": 3}.get(vehicle, 0)
    airborne = is_airborne if flies else lambda time: False
    kind = (lambda t: 2 if is_cruising(t) else 1) if vehicle == "vtol" else vehicle_type
    topics = {
        "vehicle_status": Topic(
            5,
            nav_state=("uint8_t", nav_state),
            arming_state=("uint8_t", lambda t: 2 if is_armed(t) else 1),
            failsafe=("bool", False),
            vehicle_type=("uint8_t", kind),
            rc_signal_lost=("bool", True),
            data_link_lost=("bool", False),
            gcs_connection_lost=("bool", False),
            failure_detector_status=("uint16_t", 0),
        ),
        "vehicle_land_detected": Topic(5, landed=("bool", lambda t: not airborne(t))),
        "vehicle_gps_position": Topic(
            5, **GPS, jamming_state=("uint8_t", 1), spoofing_state=("uint8_t", 1)
        ),
        "vehicle_local_position": Topic(10, **POSITION),
        "estimator_status": Topic(
            5,
            vel_test_ratio=("float", 0.1),
            pos_test_ratio=("float", 0.1),
            hgt_test_ratio=("float", 0.1),
            mag_test_ratio=("float", 0.1),
            hdg_test_ratio=("float", 0.1),
            filter_fault_flags=("uint32_t" if release >= 15 else "uint16_t", 0),
        ),
        "vehicle_magnetometer": Topic(10, magnetometer_ga=("float[3]", FIELD)),
        "vehicle_imu_status": Topic(
            1,
            # A rover on stones, which stands before it is armed.
            accel_vibration_metric=("float", lambda t: 3.5 if is_armed(t) else 0.1),
            accel_clipping=("uint32_t[3]", (2, 0, 1)),
        ),
        "actuator_motors": Topic(10, control=("float[12]", commands(vehicle))),
        "actuator_outputs": Topic(
            10, noutputs=("uint32_t", 8), output=("float[16]", outputs(vehicle))
        ),
        "control_allocator_status": Topic(2, motor_stop_mask=("uint16_t", 0)),
        "battery_status": Topic(
            2, **BATTERY, cell_count=("uint8_t", 4), connected=("bool", True)
        ),
        # The receiver never had a signal: the flight is automatic.
        "input_rc": RC if vehicle == "plane" else Topic(
            10, rc_lost=("bool", True), rc_failsafe=("bool", True)
        ),
        "failsafe_flags": Topic(
            2,
            manual_control_signal_lost=("bool", True),
            gcs_connection_lost=("bool", False),
            fd_alt_loss=("bool", False),
            fd_critical_failure=("bool", False),
            fd_motor_failure=("bool", False),
            geofence_breached=("bool", False),
            primary_geofence_breached=("bool", False),
            battery_unhealthy=("bool", False),
            gnss_lost=("bool", False),
            parachute_unhealthy=("bool", False),
            remote_id_unhealthy=("bool", False),
            traffic_avoidance_unhealthy=("bool", False),
        ),
        "failure_detector_status": Topic(
            2,
            fd_motor=("bool", False),
            fd_roll=("bool", False),
            motor_stop_mask=("uint16_t", 0),
        ),
        "logger_status": Topic(1, dropouts=("uint32_t", 0), message_gaps=("uint32_t", 3)),
        "cpuload": CPU,
        "system_power": Topic(2, voltage5v_v=("float", 5.1)),
    }
    known = {}
    for name, topic in topics.items():
        fields = {
            field: value
            for field, value in topic.fields.items()
            if release in field_releases(name, field)
        }
        if fields:
            known[name] = Topic(topic.rate, **fields)
    return known


def analyse(folder, name, vehicle, release, topics, changes=None):
    path = folder / f"{name}.ulg"
    parameters = [("MAV_TYPE", VEHICLES[vehicle][0]), ("SYS_AUTOSTART", 4001)]
    path.write_bytes(write(topics, changes or {}, (), release, parameters))
    return json.loads(run("flight", "--json", path))


def critical(analysis):
    return {d["kind"] for d in analysis["diagnoses"] if d["severity"] == "critical"}


def stopped(vehicle, motor):
    sound = outputs(vehicle)

    def at(time):
        values = list(sound(time))
        if BEGIN <= time < END:
            values[motor] = 0.0
        return tuple(values)

    return at


#: What happens from BEGIN to END: the first release that logs it, the vehicles, the changes, and the kind.
FLYING = ("multicopter", "plane", "vtol")
ALL = tuple(VEHICLES)
INCIDENTS = {
    "motor_stops": (
        13,
        ("multicopter",),
        {"actuator_outputs": {"output": stopped("multicopter", 1)}},
        "motor_failure",
    ),
    "gps_loss": (13, ALL, {"vehicle_gps_position": {"fix_type": during(0, 3)}}, "gps_loss"),
    "gps_jamming": (
        13,
        ALL,
        {"vehicle_gps_position": {"jamming_state": during(3, 1)}},
        "gps_interference",
    ),
    "position_lost": (
        13,
        ALL,
        {"vehicle_local_position": {"xy_valid": during(False, True)}},
        "position_loss",
    ),
    "brownout": (
        13,
        ALL,
        {"battery_status": {"voltage_v": during(12.0, 16.0)}},
        "battery_brownout",
    ),
    "battery_warning": (13, ALL, {"battery_status": {"warning": during(2, 0)}}, "battery_low"),
    "power_rail": (13, ALL, {"system_power": {"voltage5v_v": during(4.2, 5.1)}}, "power_rail"),
    "estimator": (
        13,
        ALL,
        {"estimator_status": {"vel_test_ratio": during(3.0, 0.1)}},
        "ekf_failure",
    ),
    "compass_1_15": (
        13,
        ALL,
        {"estimator_status": {"mag_test_ratio": during(2.5, 0.1)}},
        "compass_interference",
    ),
    "compass_1_16": (
        16,
        ALL,
        {"estimator_status": {"hdg_test_ratio": during(2.5, 0.1)}},
        "compass_interference",
    ),
    "vibration": (
        13,
        ALL,
        {"vehicle_imu_status": {"accel_vibration_metric": during(25.0, 2.0)}},
        "vibration",
    ),
    "failsafe": (13, ALL, {"vehicle_status": {"failsafe": during(True, False)}}, "failsafe"),
    "detected_motor": (
        13,
        FLYING,
        {"failure_detector_status": {"fd_motor": during(True, False)}},
        "motor_failure",
    ),
    "rc_loss": (13, ("plane",), {"input_rc": {"rc_lost": during(True, False)}}, "rc_loss"),
    "link_loss": (
        14,
        ALL,
        {"failsafe_flags": {"gcs_connection_lost": during(True, False)}},
        "data_link_loss",
    ),
    "height_loss": (
        18,
        FLYING,
        {"failsafe_flags": {"fd_alt_loss": during(True, False)}},
        "height_loss",
    ),
    "parachute": (
        18,
        FLYING,
        {"failsafe_flags": {"parachute_unhealthy": during(True, False)}},
        "safety_equipment",
    ),
    "geofence": (
        15,
        ALL,
        {"failsafe_flags": {"geofence_breached": during(True, False)}},
        "geofence_breach",
    ),
    "cpu": (13, ALL, {"cpuload": {"load": during(0.99, 0.4)}}, "cpu_load"),
    "logger": (
        13,
        ALL,
        {
            "logger_status": {
                "message_gaps": lambda t: 3 + 5 * int(min(max(t, BEGIN), END) - BEGIN)
            }
        },
        "logging_dropouts",
    ),
}

#: The kinds that a topic alone decides.
NEEDED = {
    "vehicle_gps_position": ["gps_interference"],
    "battery_status": ["battery_brownout", "battery_not_measured", "battery_sag"],
    "system_power": ["power_rail"],
    "estimator_status": ["ekf_failure"],
    "vehicle_local_position": ["position_loss", "ekf_reset"],
    "vehicle_imu_status": ["vibration", "clipping"],
    "cpuload": ["cpu_load", "ram_usage"],
    "failsafe_flags": ["geofence_breach"],
    "vehicle_status": ["battery_brownout", "failsafe", "hard_fault", "gps_loss"],
}


def examination(analysis, kind):
    return next(own for own in analysis["examinations"] if own["kind"] == kind)


def seconds(nanos):
    return nanos / 1e9 - 1


def check_sound(folder):
    for release in RELEASES:
        for vehicle in VEHICLES:
            name = f"sound_{vehicle}_1_{release}"
            analysis = analyse(folder, name, vehicle, release, flight(vehicle, release))
            found = [(d["kind"], d["severity"], d["summary"]) for d in analysis["diagnoses"]]
            yield name, not found, found


def check_incidents(folder):
    for index, (name, (first, vehicles, changes, kind)) in enumerate(INCIDENTS.items()):
        releases = [
            release
            for release in RELEASES
            if release >= first
            and all(
                field in flight(vehicles[0], release).get(topic, Topic(1)).fields
                for topic, fields in changes.items()
                for field in fields
            )
        ]
        if not releases:
            yield name, False, f"no release logs {sorted(changes)}"
            continue
        vehicle = vehicles[index % len(vehicles)]
        for release in {releases[0], releases[-1]}:
            own = f"{name}_{vehicle}_1_{release}"
            analysis = analyse(folder, own, vehicle, release, flight(vehicle, release), changes)
            found = [
                (d["kind"], seconds(d["start_ns"]), seconds(d["end_ns"]))
                for d in analysis["diagnoses"]
            ]
            times = [(start, end) for found_kind, start, end in found if found_kind == kind]
            # A loss or a fault is known with the next record.
            in_time = any(
                abs(start - BEGIN) <= 2.1 and abs(end - END) <= 2.1 for start, end in times
            )
            others = critical(analysis) - {kind}
            yield own, in_time and not others, found


def check_missing(folder):
    for index, (topic, kinds) in enumerate(NEEDED.items()):
        vehicle = ALL[index % len(ALL)]
        for release in (15, 18):
            name = f"without_{topic}_{vehicle}_1_{release}"
            topics = flight(vehicle, release)
            if topics.pop(topic, None) is None:
                yield name, False, "the release has no such topic"
                continue
            analysis = analyse(folder, name, vehicle, release, topics)
            own = {kind: examination(analysis, kind) for kind in kinds}
            is_right = all(
                one["result"] == "not_examined" and any(topic in text for text in one["missing"])
                for one in own.values()
            )
            yield name, is_right and not critical(analysis), own


def check_parts(folder):
    parts = {"late": (0, BEGIN), "stops": (BEGIN, SECONDS), "pauses": (BEGIN, END)}
    for topic, kind in (
        ("battery_status", "battery_brownout"),
        ("estimator_status", "ekf_failure"),
        ("vehicle_imu_status", "vibration"),
        ("cpuload", "cpu_load"),
    ):
        for part, (start, end) in parts.items():
            name = f"{topic}_{part}"
            topics = flight("multicopter", 17)
            field = next(iter(topics[topic].fields))
            sound = topics[topic].fields[field][1]
            changes = {topic: {field: during(SILENT, sound, start, end)}}
            analysis = analyse(folder, name, "multicopter", 17, topics, changes)
            own = examination(analysis, kind)["unexamined_parts"]
            found = [(seconds(p["start_ns"]), seconds(p["end_ns"]), p["missing"]) for p in own]
            # Before it is armed, or before the take-off, the vehicle is not examined at all.
            begin = {"battery_brownout": ARMED, "vibration": TAKEOFF}.get(kind, 0)
            finish = {"battery_brownout": DISARMED, "vibration": LANDING}.get(kind, SECONDS)
            want = max(start, begin), min(end, finish)
            is_right = len(found) == 1 and found[0][2] == topic
            is_right = is_right and all(abs(a - b) <= 1.1 for a, b in zip(found[0], want))
            yield name, is_right and not critical(analysis), (found, want)


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary)
        folder.mkdir(exist_ok=True)
        for check in (check_sound, check_incidents, check_missing, check_parts):
            count = 0
            for name, is_right, found in check(folder):
                count += 1
                passed, failed = passed + is_right, failed + (not is_right)
                if not is_right:
                    print(f"FAILED   {name}: {found}")
            print(f"{check.__name__}: {count} logs")
    print(f"flights: {passed} passed, {failed} failed")
    return bool(failed) or not passed


if __name__ == "__main__":
    sys.exit(main())
