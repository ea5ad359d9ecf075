//! Subscriptions of missing types, repeated, late, and of several instances.

use logtool_core::DamageKind;

use crate::edge_log::Case;

pub(crate) const CASES: &[Case] = &[
    ("27_cycle.ulg", |edge| {
        // The other topic is decoded; the recursive one has only its bytes.
        edge.has_rows(&[("a", 1), ("att", 2)]);
        assert_eq!(edge.column("att", "x"), [0.0, 1.0]);
        assert!(edge.has_unusable_definition("a"));
    }),
    ("28_missing_type.ulg", |edge| {
        edge.has_rows(&[("att", 3), ("bad", 1)]);
        assert!(edge.has_unusable_definition("bad"));
    }),
    ("29_sub_unknown_format.ulg", |edge| {
        edge.has_rows(&[("att", 3), ("nosuch", 1)]);
        assert!(edge.has_unusable_definition("nosuch"));
        assert_eq!(edge.column("att", "x"), [0.0, 1.0, 2.0]);
    }),
    ("35_msgid_reuse.ulg", |edge| {
        edge.has_rows(&[("att", 3), ("bat", 1)]);
        assert!(edge.remarks("message id 0"));
        assert_eq!(edge.column("att", "x"), [0.0, 1.0, 2.0]);
        assert_eq!(edge.column("bat", "v"), [1.5]);
    }),
    ("37_data_before_sub.ulg", |edge| {
        edge.has_rows(&[("att", 3)]);
        let damage = edge.damage();
        assert_eq!(damage.len(), 1, "{damage:?}");
        assert_eq!(damage[0].kind, DamageKind::UnknownTopic);
        assert_eq!((&damage[0].bytes, damage[0].records), (&(134..151), 1));
    }),
    ("39_multi_instance.ulg", |edge| {
        edge.has_rows(&[("att", 2), ("att.1", 3), ("att.3", 4)]);
    }),
    ("46_dup_format.ulg", |edge| {
        edge.has_rows(&[("att", 2)]);
        assert_eq!(edge.column("att", "x"), [0.0, 1.0]);
    }),
    ("71_topic_names.ulg", |edge| edge.has_rows(&[("CON", 1), ("a/b-c", 1)])),
];
