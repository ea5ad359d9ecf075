//! Topics of flags.

/// A plot of the flags of topics.
#[derive(Clone, Copy)]
pub(in crate::inspect::report::plots) struct FlagTopic {
    pub(in crate::inspect::report::plots) title: &'static str,
    /// The topics, and the start of the names of their fields that are flags. All fields of the
    /// type `bool` whose names start so are shown if they are ever set.
    pub(in crate::inspect::report::plots) topics:
        &'static [(&'static str, &'static [&'static str])],
}

/// The plots. The fields of `failsafe_flags` report faults; those of `estimator_status_flags` are
/// faults of the filter (`fs_`), rejected measurements (`reject_`) and its state (`cs_`).
pub(in crate::inspect::report::plots) const FLAG_TOPICS: [FlagTopic; 3] = [
    FlagTopic {
        title: "Estimator flags",
        topics: &[("estimator_status_flags", &["fs_", "reject_"])],
    },
    FlagTopic {
        title: "Estimator state",
        topics: &[("estimator_status_flags", &["cs_"])],
    },
    FlagTopic {
        title: "Failsafe flags",
        topics: &[
            ("vehicle_status", &["failsafe", "rc_signal_lost", "data_link_lost"]),
            ("failsafe_flags", &[""]),
            ("failure_detector_status", &["fd_"]),
            // Most others of this topic of older releases report what works.
            (
                "vehicle_status_flags",
                &["offboard_control_signal_lost", "rc_calibration"],
            ),
        ],
    },
];
