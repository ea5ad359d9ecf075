# Tasks: `just --list`.

# What continuous integration runs.
check:
    .ci/run

# The tests.
test:
    cargo test --workspace

# Our output against independent programs.
conformance:
    conformance/run

# Fuzz a target: ulog, ulog_write, ulog_events.
fuzz target="ulog" seconds="600":
    fuzz/seed
    RUSTC_BOOTSTRAP=1 cargo fuzz run {{target}} -- -max_total_time={{seconds}} -rss_limit_mb=1024 -timeout=10

# Functions, timed.
bench:
    cargo bench --workspace

# Whole programs beside their peers, on a log of 500 MB made of LOG.
compare log:
    benches/compare {{log}}

# Every format and job beside its peers, on logs of 100 MB to 5 GB.
suite *options:
    benches/suite {{options}}

# Instructions of small jobs, beside what they were (`--accept` writes down what they are).
instructions *options:
    benches/instructions {{options}}

# Make the logs in testdata again.
testdata:
    cargo run -p logtool-ulog --example make_ulogs
    cargo run -p logtool-rosbag --example make_bags
    cargo run -p logtool-velodyne --example make_lidar_logs
