#!/usr/bin/env bash
# The fields of a PCD file may have any order, e.g. a ring of one byte before x, y and z.
#
# Version:  @loaders.gl/pcd 4.4.2, @loaders.gl/core 4.4.2 (npm)
# Expected: the points (1, 3, 5) and (2, 4, 6), as from the same points with DATA binary
# Seen:     x is 5.8e-39 instead of 2 with DATA binary_compressed: the size of the first three fields of the
#           file is used for x, y and z, whatever these fields are
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-fund --no-audit @loaders.gl/pcd@4.4.2 \
  @loaders.gl/core@4.4.2 @math.gl/types@4.1.0
cat >read.mjs <<'EOF'
import { parse } from "@loaders.gl/core";
import { PCDLoader } from "@loaders.gl/pcd";

const floats = (...values) => Buffer.from(new Float32Array(values).buffer);
const header = (data) =>
  Buffer.from(
    `VERSION .7\nFIELDS ring x y z\nSIZE 1 4 4 4\nTYPE U F F F\nCOUNT 1 1 1 1\nWIDTH 2\n` +
      `HEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS 2\nDATA ${data}\n`,
  );
const rows = [Buffer.from([7]), floats(1, 3, 5), Buffer.from([8]), floats(2, 4, 6)];
// LZF: the first byte is the number of plain bytes after it, less one.
const columns = [Buffer.from([7, 8]), floats(1, 2), floats(3, 4), floats(5, 6)];
const plain = Buffer.concat(columns);
const compressed = Buffer.concat([Buffer.from([plain.length - 1]), plain]);
const lengths = Buffer.from(new Uint32Array([compressed.length, plain.length]).buffer);
const read = async (...parts) => {
  const file = new Uint8Array(Buffer.concat(parts)).buffer;
  const cloud = await parse(file, PCDLoader, { worker: false });
  return [...cloud.attributes.POSITION.value];
};
const expected = await read(header("binary"), ...rows);
const seen = await read(header("binary_compressed"), lengths, compressed);
console.log("expected", expected, "seen", seen);
if (expected.join() !== "1,3,5,2,4,6" || seen[0] !== 1 || seen[3] > 1e-30) {
  console.error("the behaviour has changed");
  process.exit(1);
}
EOF
node read.mjs
