# SPDX-License-Identifier: MIT
# What tests share in which the daemon's thread that drops pages must wait in the kernel
# (fuse-gates.c holds it until there is a file `gate`).  Needs parked.sh.
requires_fuse
requires_root
[ -e "$build/tests/lib/fuse-gates.so" ] || skip "this build has no tests/lib/fuse-gates.so"

# abort_it: what is stuck although it must not be, this frees; $control is where fusectl is.  (When no
# thread of the daemon is left but a zombie, the number may be that of another test's mount.)
abort_it() {
    cat "/proc/${pid:-none}"/task/*/status 2>/dev/null | grep "^State" |
        grep -qv "Z (zombie)\|X (dead)" || return 0
    [ ! -e "$control/${connection:-none}/abort" ] || echo 1 >"$control/$connection/abort"
}

# start_stalling_origin: answers from the file shards/stalled on are held.
start_stalling_origin() {
    make_shards shards --shards 4 --samples 60 --bytes 500000
    start_origin shards
    stalling="$origin/stall,over=600,while=stalled/train-{000000..000003}.tar"
}

# A connection can be ended by fusectl where it is mounted, and else by force: make_control has it in
# $control; end_by force|fusectl sees to it that this is the way; not 0: force cannot be tried here.
make_control() {
    control=control
    mkdir control
    mount -t fusectl none control || skip "no control of connections here"
    cleanup "abort_it; umount $work/control"
}
end_by() {
    if [ "$1" = fusectl ]; then
        mountpoint -q /sys/fs/fuse/connections || mount --bind control /sys/fs/fuse/connections ||
            fail "cannot show connections"
    else
        ! mountpoint -q /sys/fs/fuse/connections
    fi
}

# hang_at_gate DIR: a gated mount of which $reader waits for a page of the stalling origin, for which
# in turn the thread that drops pages waits in the kernel.
hang_at_gate() {
    mount_gated "$1"
    touch shards/stalled
    dd if="$1/epochs/0.tar" of=/dev/null bs=64K status=none 2>/dev/null &
    reader=$!
    are_parked dd $reader
    touch gate
    wait_until 60 test -e gate.in
    wait_until 60 notifies
}
notifies() {
    grep -qs inval /proc/"$pid"/task/*/stack || grep -lqs "^State:.D" /proc/"$pid"/task/*/status
}

# mount_gated DIR: mounts it, and reads so much of a stream by descriptor 3 that the thread stands at
# the gate, about to drop the first 16 MiB; the pages of all of it go before.  Sets $pid and $connection.
mount_gated() {
    rm -rf shards/stalled gate gate.*
    mkdir "$1"
    # (A thread that is in the kernel is not joined when the process is ended by force.)
    # (ASan wants to be the first library, unless it is told not to look.)
    ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" NOTIFY_GATE="$work/gate" \
        LD_PRELOAD="$build/tests/lib/fuse-gates.so ${LD_PRELOAD:-}" \
        "$shufflefs" mount $patient,index-cache=no,next-epoch=no "$stalling" "$1" || fail "cannot mount"
    pid=$(daemon_pid "$1")
    connection=$(mountpoint -d "$1" | sed 's/.*://')
    exec 3<"$1/epochs/0.tar"
    head -c 110000000 <&3 >/dev/null
    wait_until 60 test -e gate.waits
    "$python" -c 'import os, sys; os.posix_fadvise(int(sys.argv[1]), 0, 0, os.POSIX_FADV_DONTNEED)' 3
}
