#!/usr/bin/env bash
# A packet of a Velodyne lidar has the microseconds since the start of the hour.
#
# Version:  @foxglove/velodyne-cloud 1.0.1 (npm)
# Expected: 2024-01-01 10:00:01.5 for 1,500,000 us after 10:00, 1704103201.5 s since 1970
# Seen:     1501704103200: the microseconds are divided by 0.000001 instead of multiplied, so that 1.5 s
#           become 47,500 years. Without a time of its own, each packet gets this one
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-fund --no-audit @foxglove/velodyne-cloud@1.0.1
cat >read.cjs <<'EOF'
const { RawPacket } = require("@foxglove/velodyne-cloud");

const packet = new Uint8Array(1206);
new DataView(packet.buffer).setUint32(1200, 1_500_000, true);
packet.set([0x37, 0x22], 1204);
const hour = new Date("2024-01-01T10:00:00Z");
const expected = hour / 1000 + 1.5;
const seen = new RawPacket(packet).timestamp(hour);
console.log("expected", expected, "seen", seen);
if (seen !== hour / 1000 + 1.5e12) {
  console.error("the behaviour has changed");
  process.exit(1);
}
EOF
node read.cjs
