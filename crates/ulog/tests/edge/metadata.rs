//! Information, multi information, and parameters: initial, default and changed values.

use logtool_core::Value;
use logtool_ulog::{ParameterValue, release};

use crate::edge_log::{Case, Edge};

pub(crate) const CASES: &[Case] = &[
    ("51_multi_info.ulg", |edge| {
        edge.has_rows(&[("att", 1)]);
        let values = |name: &str| &edge.metadata().info_multiple[name];
        assert_eq!(*values("k"), [text("abcdefg"), text("XYZ")]);
        assert_eq!(*values("bin"), [Value::Bytes(vec![0x00, 0xff, 0x01, 0x02])]);
        assert_eq!(*values("orphan"), [text("zz")]);
    }),
    ("52_params.ulg", |edge| {
        edge.has_rows(&[("att", 3)]);
        let parameters = &edge.metadata().parameters;
        let a = &parameters["A"];
        assert_eq!(a.initial, Some(ParameterValue::Int(1)));
        assert_eq!(changes(edge, "A"), [(1010, 5), (3000, 6)]);
        assert_eq!(a.value, ParameterValue::Int(6));
        // Both defaults are 7 at first; the default of the configuration is 8 later.
        assert_eq!(a.system_default, Some(ParameterValue::Int(7)));
        assert_eq!(a.setup_default, Some(ParameterValue::Int(8)));
        let b = &parameters["B"];
        assert_eq!(b.initial, Some(ParameterValue::Float(2.5)));
        assert_eq!(b.system_default, Some(ParameterValue::Float(1.5)));
        assert_eq!(b.setup_default, None);
        let new = &parameters["NEW"];
        assert_eq!((new.initial, new.value), (None, ParameterValue::Int(1)));
        assert_eq!(changes(edge, "NEW"), [(3000, 1)]);
        // The changes are also a topic.
        assert_eq!(edge.texts("parameter_changes", "name"), ["A", "A", "NEW"]);
        let times = edge.times("parameter_changes");
        assert_eq!(times, [1010.0, 3000.0, 3000.0]);
    }),
    ("55_log_before_sub.ulg", |edge| {
        edge.has_rows(&[("att", 2)]);
        assert_eq!(edge.texts("logged_strings", "message"), ["hello"]);
        let p1 = &edge.metadata().parameters["P1"];
        assert_eq!(p1.initial, Some(ParameterValue::Int(1)));
        assert_eq!(p1.value, ParameterValue::Int(2));
        assert_eq!(p1.changes.len(), 1);
    }),
    ("56_info_array.ulg", |edge| {
        edge.has_rows(&[("att", 1)]);
        let info = &edge.metadata().info;
        let vals = [1.0, 2.0, 3.0].map(Value::Float).to_vec();
        assert_eq!(info["vals"], Value::List(vals));
        assert_eq!(info["time_ref_utc"], Value::Int(-3600));
        assert_eq!(info["ver_sw_release"], Value::UInt(0x0104_02ff));
        assert_eq!(release(0x0104_02ff), "v1.4.2");
    }),
];

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// Returns the times in microseconds and the values of the changes of a parameter.
fn changes(edge: &Edge, name: &str) -> Vec<(i64, i32)> {
    let change = |change: &logtool_ulog::ParameterChange| match change.value {
        ParameterValue::Int(value) => (change.time.as_nanos() / 1000, value),
        ParameterValue::Float(value) => panic!("{name} is an integer, not {value}"),
    };
    edge.metadata().parameters[name].changes.iter().map(change).collect()
}
