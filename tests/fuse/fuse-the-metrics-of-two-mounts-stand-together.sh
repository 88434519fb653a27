#!/bin/sh
# SPDX-License-Identifier: MIT
# metrics.prom of several mounts may be collected as one text: no series occurs twice, the words
# about one are the same, units are Prometheus's, and a mount point may have any bytes.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 3
odd=$(printf 'odd "q\\\n\377 x')
mkdir "$odd"
cleanup 'umount -l "$odd" 2>/dev/null'
mount_ds data mnt
mount_ds -o seed=2 data mnt2
"$shufflefs" mount data "$odd"
cat mnt/epochs/0.tar >/dev/null
cat mnt/.shufflefs/metrics.prom >1.prom
cat mnt2/.shufflefs/metrics.prom >2.prom
cat "$odd/.shufflefs/metrics.prom" >3.prom
"$shufflefs" umount "$odd"
"$shufflefs" cat data .shufflefs/metrics.prom >4.prom

cat >check.py <<'EOT'
import os, re, sys

said, series, mounts = {}, {}, set()
for path in "1.prom", "2.prom", "3.prom", "4.prom":
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        m = re.fullmatch(r"# (HELP|TYPE) (shufflefs_[a-z_]+) (.+)", line)
        if m:
            assert said.setdefault(m.group(1, 2), m[3]) == m[3], (path, line)
            continue
        m = re.fullmatch(r'(shufflefs_[a-z_]+)\{mount="((?:[^"\\\n]|\\[\\"n])*)"\} (\d+(?:\.\d+)?)', line)
        assert m, (path, line)
        name = m[1]
        assert ("HELP", name) in said and ("TYPE", name) in said, (path, line)
        assert m.group(1, 2) not in series, (path, line)
        series[m.group(1, 2)] = float(m[3])
        mounts.add(m[2])
        # What `promtool check metrics` says of names.
        is_counter = said["TYPE", name] == "counter"
        assert name.endswith("_total") == is_counter, name
        assert not re.search(r"_(ms|us|ns|sec|s|b|kb|mb|gb|milliseconds|percent)(_|$)", name), name
work = os.getcwd()
odd = work + '/odd \\"q\\\\\\n\ufffd x'
assert mounts == {work + "/mnt", work + "/mnt2", odd, ""}, mounts
assert series["shufflefs_delivered_bytes_total", work + "/mnt"] > 0
assert series["shufflefs_delivered_bytes_total", work + "/mnt2"] == 0
assert 0 < series["shufflefs_uptime_seconds", work + "/mnt"] < 100000
assert 0 <= series["shufflefs_memory_pressure_ratio", work + "/mnt"] <= 1
EOT
"$python" check.py || fail "$(head -n 6 3.prom)"
if command -v promtool >/dev/null; then
    for i in 1 2 3 4; do
        promtool check metrics <$i.prom >said 2>&1 && [ ! -s said ] || fail "promtool: $(cat said)"
    done
fi
