#!/bin/sh
# SPDX-License-Identifier: MIT
# The files of --metrics of two senders may be collected as one text: no series occurs twice, and
# what is said of one is the same.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
sidecar=$build/shufflefs-sidecar
make_shards data --shards 1 --samples 40
odd=$(printf 'q"\377')
for name in first "$odd"; do
    rm -f ring
    "$build/tests/lib/ring-drain" ring >got 2>drain.log &
    trainer=$!
    "$sidecar" send data/*.tar local:ring --fields cls:bytes,4096 --batch 7 --metrics "$name.prom" || fail "send"
    wait $trainer || fail "$(cat drain.log)"
done
"$python" - <<'EOT' || fail "$(cat first.prom)"
import re

said, series = {}, {}
for path in b"first.prom", b'q"\xff.prom':
    for line in open(path, encoding="utf-8"):
        m = re.fullmatch(r"# (HELP|TYPE) (\w+) (.+)\n", line)
        if m:
            assert said.setdefault(m.group(1, 2), m[3]) == m[3], line
            continue
        m = re.fullmatch(r'(shufflefs_sidecar_\w+)(\{role="send",name="((?:[^"\\\n]|\\.)*)".*\}) ([0-9.]+)\n', line)
        assert m and ("HELP", m[1]) in said and ("TYPE", m[1]) in said, line
        assert m.group(1, 2) not in series, line
        series[m.group(1, 2)] = (m[3], float(m[4]))
samples = {name: n for (metric, _), (name, n) in series.items() if metric == "shufflefs_sidecar_samples_total"}
assert samples == {"first": 40, 'q\\"\ufffd': 40}, samples
EOT
if command -v promtool >/dev/null; then
    promtool check metrics <first.prom >said 2>&1 && [ ! -s said ] || fail "promtool: $(cat said)"
fi
