#!/usr/bin/env bash
# A ULog has the value of each parameter (message P) and, if it was changed, its default (message Q). PX4
# writes the defaults after the values.
#
# Version:  @foxglove/ulog 2.3.2 (npm)
# Expected: 1.5, the value that the vehicle flew with, as pyulog 1.3.0 shows
# Seen:     0.25, the default: it replaces the value. So exactly the parameters that were changed are
#           wrong
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-fund --no-audit @foxglove/ulog@2.3.2
cat >read.cjs <<'EOF'
const { ULog } = require("@foxglove/ulog");

const message = (kind, payload) => {
  const head = Buffer.from([0, 0, kind.charCodeAt(0)]);
  head.writeUInt16LE(payload.length);
  return Buffer.concat([head, payload]);
};
const parameter = (value) => {
  const key = Buffer.from("float MPC_XY_P");
  const bytes = Buffer.from(new Float32Array([value]).buffer);
  return Buffer.concat([Buffer.from([key.length]), key, bytes]);
};
const value = message("P", parameter(1.5));
const systemDefault = message("Q", Buffer.concat([Buffer.from([1]), parameter(0.25)]));
const start = Buffer.from("554c6f6701123501" + "00".repeat(8), "hex");
const definition = message("F", Buffer.from("t:uint64_t timestamp;"));
const data = [message("A", Buffer.from("000000" + "74", "hex")), message("D", Buffer.alloc(10))];
const log = Buffer.concat([
  start, message("B", Buffer.alloc(40)), definition, value, systemDefault, ...data,
]);
const file = {
  open: async () => log.length,
  close: async () => {},
  read: async (offset, length) => new Uint8Array(log.buffer, log.byteOffset + offset, length),
  size: () => log.length,
};
const ulog = new ULog(file);
ulog.open().then(() => {
  const seen = ulog.header.parameters.get("MPC_XY_P").value;
  console.log("expected 1.5 seen", seen);
  if (seen !== 0.25) {
    console.error("the behaviour has changed");
    process.exit(1);
  }
});
EOF
node read.cjs
