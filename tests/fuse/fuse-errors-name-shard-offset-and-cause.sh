#!/bin/sh
# SPDX-License-Identifier: MIT
# .shufflefs/errors has a line of JSON for each event: when, what, which shard, at which
# byte, and why.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires_fuse

# reported DIR EVENT SHARD OFFSET CAUSE: there is such a line.
reported() {
    "$python" - "$@" <<'EOF' || fail "not reported: $*"
import datetime, json, re, sys
path, event, shard, offset, cause = sys.argv[1:]
found = []
for line in open(path + "/.shufflefs/errors"):
    entry = json.loads(line)
    datetime.datetime.strptime(entry["time"], "%Y-%m-%dT%H:%M:%S.%fZ")
    if {"event", "shard", "cause"} - set(entry):
        sys.exit("something is missing in " + line)
    if (entry["event"] == event and entry["shard"] == shard and
            str(entry.get("offset", "none")) == offset and re.search(cause, entry["cause"])):
        found.append(entry)
if not found:
    sys.exit("found %s in %s" % (found, open(path + "/.shufflefs/errors").read()))
EOF
}

small_shards
at=$(byte_of 000062.cls)
flip "$at"
keep_before 000062.jpg
source="$origin/503,over=1000,at=0,only=*2.tar,times=1/$three"

mount_ds $quick "$source" mnt
! cat mnt/epochs/0.tar >got.tar 2>err || fail "no error"
reported mnt lost "$one" "$at" "wrong header checksum"
reported mnt retry train-000002.tar 0 "HTTP 503"
umount_ds mnt

mount_ds $quick -o on-error=skip "$origin/404,only=*0.tar/$three" mnt
cat mnt/epochs/0.tar >got.tar
rm rest/train-000000.tar
"$python" "$top/tests/lib/compare.py" rest got.tar
reported mnt skip "$one" "$at" "wrong header checksum"
reported mnt skip train-000000.tar none "HTTP 404"
[ "$(wc -l <mnt/.shufflefs/errors)" = 2 ] || fail "more than that"
umount_ds mnt

restore
mount_ds $quick "$origin/etag,after=1,only=*0.tar/$three" mnt
! cat mnt/epochs/0.tar >got.tar 2>err || fail "no error"
reported mnt changed train-000000.tar 0 "its ETag was"
umount_ds mnt
