//! Labels from handwritten message definitions.

use std::{
    env, process,
    sync::atomic::{AtomicUsize, Ordering},
};

use super::*;

/// A new folder that is deleted at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("logtool-msg-dir-{}-{count}", process::id());
        let path = env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the labels of a single message `thing` that is defined by `text`.
fn labels_of(text: &str) -> Labels {
    let folder = Folder::new();
    fs::write(folder.path().join("Thing.msg"), text).unwrap();
    read_msg_dir(folder.path()).unwrap()
}

fn field_labels(labels: &Labels, message: &str, field: &str) -> Vec<(i64, String)> {
    let Some(labels) = labels.get(message, field) else { return vec![] };
    labels.iter().map(|(value, label)| (*value, label.clone())).collect()
}

fn owned_labels(list: &[(i64, &str)]) -> Vec<(i64, String)> {
    list.iter().map(|(value, label)| (*value, (*label).to_owned())).collect()
}

#[test]
fn constant_belongs_to_field_with_longest_matching_name() {
    let labels = labels_of(
        "uint64 timestamp # time since system start (microseconds)\n\
         uint8 pasta_menu\n\
         uint8 PASTA_MENU_CARBONARA = 1\n\
         uint8 PASTA_MENU_PESTO=2# green\n",
    );
    assert_eq!(
        field_labels(&labels, "thing", "pasta_menu"),
        owned_labels(&[(1, "PASTA_MENU_CARBONARA"), (2, "PASTA_MENU_PESTO")])
    );
    assert!(labels.get("thing", "timestamp").is_none());
}

#[test]
fn unmatched_constants_belong_to_preceding_field() {
    let labels = labels_of(
        "uint64 timestamp\nuint64 TIME_A = 1\nuint64 TIME_B = 2\n\
         uint8 menu\nuint8 DISH_SOUP = 1\nuint8 DISH_SALAD = 2\n\
         uint8 texture\nuint8 COOKED_RAW = 0\nuint8 COOKED_SOFT = 1\nuint8 MENU_NONE = 9\n\
         uint8 count\nuint8 ORB_QUEUE_LENGTH = 4\n\
         uint8 cells\n\nuint8 SOURCE_A = 0\nuint8 SOURCE_B = 1\n\
         float32 x\nuint8 MODE_A = 0\nuint8 MODE_B = 1\n\
         uint16 faults\nuint8 FAULT_A = 0\nuint8 FAULT_B = 1\n",
    );
    assert_eq!(
        field_labels(&labels, "thing", "menu"),
        owned_labels(&[(1, "DISH_SOUP"), (2, "DISH_SALAD"), (9, "MENU_NONE")])
    );
    assert_eq!(
        field_labels(&labels, "thing", "texture"),
        owned_labels(&[(0, "COOKED_RAW"), (1, "COOKED_SOFT")])
    );
    // A single constant is not an enumeration, and an empty line or a different type
    // separates constants from the field.
    for field in ["timestamp", "count", "cells", "x", "faults"] {
        assert!(labels.get("thing", field).is_none(), "{field}");
    }
}

#[test]
fn annotation_takes_precedence_over_name() {
    let labels = labels_of(
        "int8 airspeed_source # [@enum SOURCE] Source of published values\n\
         int8 source\n\
         int8 SOURCE_DISABLED = -1 # Disabled\n\
         int8 SOURCE_SENSOR_1 = 1\n",
    );
    assert_eq!(
        field_labels(&labels, "thing", "airspeed_source"),
        owned_labels(&[(-1, "SOURCE_DISABLED"), (1, "SOURCE_SENSOR_1")])
    );
    assert!(labels.get("thing", "source").is_none());
}

#[test]
fn fields_with_the_same_annotation_share_their_labels() {
    let labels = labels_of(
        "uint8 nav_state # [m] [@enum NAV_STATE] Currently active mode\n\
         uint8 nav_state_user_intention # [@enum NAV_STATE]\n\
         uint8 NAV_STATE_USER = 7\n",
    );
    for field in ["nav_state", "nav_state_user_intention"] {
        assert_eq!(
            field_labels(&labels, "thing", field),
            owned_labels(&[(7, "NAV_STATE_USER")])
        );
    }
}

#[test]
fn longest_field_name_is_used() {
    let labels = labels_of(
        "bool failsafe\nuint8 fail\nuint8 fail_defer\n\
         uint8 FAIL_DEFER_OFF = 0\nuint8 FAIL_ONCE = 3\nuint8 FAILED = 4\n",
    );
    assert_eq!(
        field_labels(&labels, "thing", "fail_defer"),
        owned_labels(&[(0, "FAIL_DEFER_OFF")])
    );
    assert_eq!(
        field_labels(&labels, "thing", "fail"),
        owned_labels(&[(3, "FAIL_ONCE")])
    );
    assert!(labels.get("thing", "failsafe").is_none());
}

#[test]
fn field_that_cannot_hold_value_is_skipped() {
    let labels = labels_of(
        "uint8 a_b\nint16 a\nfloat32 c\n\
         int16 A_B_MINUS = -1\nint16 A_B_BIG = 256\nuint8 A_B_FIT = 255\nuint8 C_X = 1\n",
    );
    assert_eq!(
        field_labels(&labels, "thing", "a"),
        owned_labels(&[(-1, "A_B_MINUS"), (256, "A_B_BIG")])
    );
    assert_eq!(
        field_labels(&labels, "thing", "a_b"),
        owned_labels(&[(255, "A_B_FIT")])
    );
    assert!(labels.get("thing", "c").is_none());
}

#[test]
fn value_of_two_constants_has_no_label() {
    let labels = labels_of(
        "uint8 x\nuint8 X_A = 1\nuint8 X_B = 1\nuint8 X_C = 2\nuint8 X_D = 0x10\n",
    );
    assert_eq!(
        field_labels(&labels, "thing", "x"),
        owned_labels(&[(2, "X_C"), (16, "X_D")])
    );
    assert!(labels_of("uint8 x\nuint8 X_A = 1\nuint8 X_B = 1\n").is_empty());
}

#[test]
fn constant_without_matching_field_is_not_a_label() {
    let text = "uint8 x\nuint32 MESSAGE_VERSION = 0\nuint8 X_ = 1\nuint8 X = 2\n\
                float32 X_PI = 3.14\nuint8 X_WORD = one\nuint8 Y_A = 1\n";
    assert!(labels_of(text).is_empty());
}

#[test]
fn arrays_are_labelled_like_their_elements() {
    let labels = labels_of("uint8[4] x\nuint8 X_A = 1\nuint8[] y\nuint8 Y_B = 2\n");
    assert_eq!(field_labels(&labels, "thing", "x"), owned_labels(&[(1, "X_A")]));
    assert_eq!(field_labels(&labels, "thing", "y"), owned_labels(&[(2, "Y_B")]));
}

#[test]
fn topics_share_the_labels_of_their_message() {
    let folder = Folder::new();
    let text = "uint8 x\nuint8 X_A = 1\n# TOPICS estimator_gps estimator_gps_two\n\
                # TOPICS FlightPhase\n# the TOPICS of the day\n";
    fs::write(folder.path().join("EstimatorAidSource1d.msg"), text).unwrap();
    fs::create_dir(folder.path().join("old")).unwrap();
    fs::write(folder.path().join("old/vehicle_thing.msg"), "uint8 y\nuint8 Y_B = 2\n")
        .unwrap();
    fs::write(folder.path().join("notes.txt"), "uint8 z\nuint8 Z_C = 3\n").unwrap();
    let labels = read_msg_dir(folder.path()).unwrap();
    for topic in
        ["estimator_aid_source1d", "estimator_gps", "estimator_gps_two", "flight_phase"]
    {
        assert_eq!(
            field_labels(&labels, topic, "x"),
            owned_labels(&[(1, "X_A")]),
            "{topic}"
        );
    }
    assert_eq!(
        field_labels(&labels, "vehicle_thing", "y"),
        owned_labels(&[(2, "Y_B")])
    );
    assert!(labels.get("of", "x").is_none() && labels.get("notes", "z").is_none());
}

#[test]
fn conflicting_files_of_message_have_no_label() {
    let folder = Folder::new();
    for (sub, text) in [
        ("a", "uint8 x\nuint8 X_A = 1\nuint8 X_B = 2\n"),
        ("b", "uint8 x\nuint8 X_A = 1\nuint8 X_C = 2\n"),
    ] {
        fs::create_dir(folder.path().join(sub)).unwrap();
        fs::write(folder.path().join(sub).join("Thing.msg"), text).unwrap();
    }
    let labels = read_msg_dir(folder.path()).unwrap();
    assert_eq!(field_labels(&labels, "thing", "x"), owned_labels(&[(1, "X_A")]));
}

#[test]
fn unreadable_path_is_named_in_error() {
    let folder = Folder::new();
    let missing = read_msg_dir(&folder.path().join("missing")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Io);
    assert!(missing.to_string().contains("missing"));
    fs::write(folder.path().join("Big.msg"), vec![b'#'; (1 << 20) + 1]).unwrap();
    assert_eq!(read_msg_dir(folder.path()).unwrap_err().kind(), ErrorKind::Limit);
}

#[test]
fn invalid_utf8_is_skipped() {
    let folder = Folder::new();
    let bytes = b"uint8 x # 90\xb0\nuint8 X_A = 1\n\xff\xfe = \x00 # [@enum\nuint8 [ # [@enum ]\n";
    fs::write(folder.path().join("Thing.msg"), bytes).unwrap();
    let labels = read_msg_dir(folder.path()).unwrap();
    assert_eq!(field_labels(&labels, "thing", "x"), owned_labels(&[(1, "X_A")]));
}
