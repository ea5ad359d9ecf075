#!/usr/bin/env bash
# The point formats 0 to 5 of LAS have the scan angle in degrees, and 6 to 10 in units of 0.006 degrees. So
# a file can be converted between them without the loss of an angle.
#
# Version:  laspy 2.7.0 (PyPI)
# Expected: -15 and 15 degrees after `laspy.convert` from format 3 to 7: the values -2500 and 2500
# Seen:     0 and 0, without an error: the fields have other names, so the angles are dropped. Other fields
#           are kept
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q laspy==2.7.0
"$folder/venv/bin/python" - <<'EOF'
import laspy

cloud = laspy.create(point_format=3, file_version="1.2")
cloud.x, cloud.y, cloud.z = [1.0, 2.0], [0.0, 0.0], [0.0, 0.0]
cloud.scan_angle_rank = [-15, 15]
cloud.classification = [2, 6]
converted = laspy.convert(cloud, point_format_id=7)
seen, classes = converted.scan_angle.tolist(), list(converted.classification)
print("expected", [-2500, 2500], "seen", seen)
if (seen, classes) != ([0, 0], [2, 6]):
    raise SystemExit("the behaviour has changed")
EOF
