#!/usr/bin/env bash
# A block of a VLP-16 has two firings of its 16 lasers. Its azimuth is that of the first one; the second
# one is 55.296 us later, half the way to the azimuth of the next block (VLP-16 user manual,
# "Precision Azimuth Calculation").
#
# Version:  @foxglove/velodyne-cloud 1.0.1 (npm)
# Expected: 0.2 degrees for the second firing of the first block, if the next block is at 0.4 degrees
# Seen:     0 degrees: the corrected azimuth is computed, and used only for the limits of the angles. The
#           points of both firings lie on the azimuth of the block
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-fund --no-audit @foxglove/velodyne-cloud@1.0.1
cat >read.cjs <<'EOF'
const { Calibration, Model, RawPacket, Transformer } = require("@foxglove/velodyne-cloud");

const packet = new Uint8Array(1206);
const view = new DataView(packet.buffer);
for (let block = 0; block < 12; block++) {
  view.setUint16(block * 100, 0xeeff, true);
  view.setUint16(block * 100 + 2, block * 40, true);
  for (let laser = 0; laser < 32; laser++) {
    view.setUint16(block * 100 + 4 + laser * 3, 5000, true);
  }
}
packet.set([0x37, 0x22], 1204);
const azimuths = [];
// The axes are those of ROS: x points forward, y to the left.
const addPoint = (x, y) => azimuths.push((Math.atan2(-y, x) * 180) / Math.PI);
const lidar = new Transformer(new Calibration(Model.VLP16));
lidar.unpack(new RawPacket(packet), 0, 0, { addPoint });
const degrees = (laser) => Number(azimuths[laser].toFixed(3));
const [first, second, next] = [degrees(0), degrees(16), degrees(32)];
console.log("expected", [0, 0.2, 0.4], "seen", [first, second, next]);
if (second !== first || next !== 0.4) {
  console.error("the behaviour has changed");
  process.exit(1);
}
EOF
node read.cjs
