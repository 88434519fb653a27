#!/bin/sh
# SPDX-License-Identifier: MIT
# Files that are made when they are opened take little, however many have them open: one copy
# for all, or none.  What the budget has no room for is ENOMEM, and stats.json still opens.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_dense 12 20000
mount_ds -o budget=64M,buffer=1M,lanes=12,index-cache=no,log-level=error dense mnt
cat >opens.py <<'EOF'
import errno, os, re, sys

pid = int(re.search(r'"pid":(\d+)', open("mnt/.shufflefs/stats.json").read())[1])

SANITIZED = os.environ.get("WITH_SANITIZER", "") not in ("", "no")  # takes memory of its own
LIMIT = 40 << 20


def resident():
    with open("/proc/%d/status" % pid) as f:
        return int(re.search(r"VmRSS:\s+(\d+) kB", f.read())[1]) << 10


def most(path, n, may_fail=False):
    """So many descriptors of the path (with %d: of that many files), and what they take."""
    fds, failed, before = [], 0, resident()
    for i in range(n):
        try:
            fd = os.open(path % i if "%d" in path else path, os.O_RDONLY)
            fds.append(fd)
            os.pread(fd, 4096, 0)
        except OSError as e:
            assert may_fail and e.errno == errno.ENOMEM, e
            failed += 1
    took = resident() - before
    print("%s: %d descriptors take %.1f MB, %d failed" % (path, n, took / 1e6, failed), flush=True)
    assert took < LIMIT or SANITIZED, took
    assert '"pid"' in open("mnt/.shufflefs/stats.json").read()
    for fd in fds:
        os.close(fd)
    return failed


for i in range(10500):  # a line each
    os.path.exists("mnt/epochs/%d/rank-9-of-7-%s" % (i, "x" * 5))
    os.path.exists("mnt/epochs/%d/rank-9-of-7.tar" % i)
errors = open("mnt/.shufflefs/errors").read()
assert len(errors) > 1000000 and errors.count("\n") > 5000, len(errors)
most("mnt/.shufflefs/errors", 300)
assert open("mnt/.shufflefs/errors").read() == errors
assert open("mnt/shards/0.idx").read().count("\n") == 20001
most("mnt/shards/0.idx", 300)
most("mnt/README", 300)
most("mnt/.shufflefs/config", 300)
most("mnt/.shufflefs/stats.json", 300)
most("mnt/epochs/0.order", 300)
most("mnt/epochs/%d.order", 300, may_fail=True)
EOF
"$python" opens.py
umount_ds mnt

# All shards' .idx at once do not fit a smaller budget: some fail, and say so.
mount_ds -o budget=32M,buffer=1M,lanes=12,index-cache=no,log-level=error dense mnt
"$python" - <<'EOF'
import errno, os

fds, failed = [], 0
for i in range(12):
    try:
        fds.append(os.open("mnt/shards/%d.idx" % i, os.O_RDONLY))
    except OSError as e:
        assert e.errno == errno.ENOMEM, e
        failed += 1
assert 0 < failed < 12, failed
assert '"pid"' in open("mnt/.shufflefs/stats.json").read()
want = os.pread(fds[0], 1 << 20, 0)
assert want.count(b"\n") == 20001
for fd in fds:
    assert os.pread(fd, 1 << 20, 0) == want
    os.close(fd)
EOF
errors_have mnt 'its .idx takes .* which do not fit the budget'
umount_ds mnt

# Nor do the names of all members, which an .order needs, fit one that is smaller still; what
# was learnt of them is given back, and streams have what they need.
mount_ds -o budget=24M,buffer=1M,lanes=12,index-cache=no,log-level=error dense mnt
for i in 1 2; do
    ! cat mnt/epochs/0.order >got 2>said || fail "it fits"
    grep -q "Cannot allocate memory" said || fail "$(cat said)"
    [ ! -s got ] || fail "bytes before the error"
done
errors_have mnt 'the names of its members take .* which do not fit the budget","then":"raise budget='
has_room() {
    [ "$(stat_of mnt budget_used_bytes)" -lt $((8 << 20)) ]
}
wait_until 30 has_room
"$shufflefs" cat -o buffer=1M,lanes=12,index-cache=no dense epochs/0.tar | cmp - mnt/epochs/0.tar || fail "other bytes"
