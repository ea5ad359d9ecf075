#!/usr/bin/env bash
# A message of ROS 2 that is serialised as delimited CDR2 (encapsulation 00 09, an appendable type;
# DDS-XTypes 1.3, 7.4) has its length in front of its first field.
#
# Version:  @foxglove/rosmsg2-serialization 3.1.0, @foxglove/rosmsg 5.0.4 (npm)
# Expected: a 1, b 2, as from plain CDR2 (encapsulation 00 07), or an error that names the encapsulation
# Seen:     a 8, b 1: the length is read as the first field, without an error
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-fund --no-audit \
  @foxglove/rosmsg2-serialization@3.1.0 @foxglove/rosmsg@5.0.4
cat >read.mjs <<'EOF'
import { parse } from "@foxglove/rosmsg";
import { MessageReader } from "@foxglove/rosmsg2-serialization";

const reader = new MessageReader(parse("int32 a\nint32 b\n", { ros2: true }));
const read = (encapsulation, ...words) => {
  const payload = new Uint8Array(Int32Array.from(words).buffer);
  const bytes = new Uint8Array([0, encapsulation, 0, 0, ...payload]);
  const { a, b } = reader.readMessage(bytes);
  return `a ${a}, b ${b}`;
};
const [plain, delimited] = [read(7, 1, 2), read(9, 8, 1, 2)];
console.log("expected", plain, "seen", delimited);
if (plain !== "a 1, b 2" || delimited !== "a 8, b 1") {
  console.error("the behaviour has changed");
  process.exit(1);
}
EOF
node read.mjs
