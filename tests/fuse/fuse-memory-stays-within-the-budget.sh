#!/bin/sh
# SPDX-License-Identifier: MIT
# Ten epochs, each read by three readers at once, need no more memory than the budget and
# 64 MiB, and no more at the tenth than at the second; what is open, but not read, costs
# next to nothing.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
! has_sanitizer ||
    skip "a sanitizer needs memory of its own"

make_shards data --shards 24 --samples 25 --bytes 100000
mount_ds -o budget=48M,lanes=8,buffer=8M,epochs=100 data mnt
pid=$(daemon_pid mnt)

# memory NAME: of the daemon, in KiB: VmRSS now, VmHWM at most
memory() {
    sed -n "s/^$1:[^0-9]*\([0-9]*\) kB/\1/p" "/proc/$pid/status"
}

# read_epochs EPOCH: from front to back through the page cache, with O_DIRECT, and far off
read_epochs() {
    cat "mnt/epochs/$1.tar" >/dev/null &
    readers=$!
    dd if="mnt/epochs/$(($1 + 20)).tar" of=/dev/null bs=1M iflag=direct status=none &
    readers="$readers $!"
    "$python" "$top/tests/lib/check-reads.py" "mnt/epochs/$1.tar" "mnt/epochs/$1.tar" \
        --how direct --reads 5 --seed "$1" &
    readers="$readers $!"
    for p in $readers; do wait "$p" || fail "a reader of epoch $1"; done
}

before=$(memory VmRSS)
"$python" - $pid "$before" <<'EOF'
import os, sys
fds = [os.open("mnt/epochs/%d.tar" % e, os.O_RDONLY) for e in range(100)]
fds += [os.open("mnt/epochs/%d.tar" % e, os.O_RDONLY | os.O_DIRECT) for e in range(100)]
with open("/proc/%s/status" % sys.argv[1]) as status:
    now = int([line for line in status if line.startswith("VmRSS")][0].split()[1])
if now - int(sys.argv[2]) > 4096:
    sys.exit("200 files that are open and not read need %d KiB" % (now - int(sys.argv[2])))
EOF

for e in 0 1 2; do read_epochs $e; done
second=$(memory VmRSS)
for e in 3 4 5 6 7 8 9; do read_epochs $e; done
tenth=$(memory VmRSS)
most=$(memory VmHWM)
echo "KiB: $before mounted, $second after three epochs, $tenth after ten, $most at most"
[ "$most" -le $(((48 + 64) * 1024)) ] || fail "$most KiB, with a budget of 48 MiB"
[ $((tenth - second)) -le 8192 ] || fail "from $second to $tenth KiB in seven epochs"
[ "$(stat_of mnt budget_used_bytes)" -le $((48 * 1048576)) ] || fail "more granted than there is"
umount_ds mnt
