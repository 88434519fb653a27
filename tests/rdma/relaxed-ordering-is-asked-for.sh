# SPDX-License-Identifier: MIT
# With relaxed-ordering=yes a receiver registers its ring for relaxed ordering, be it on the host or in
# a GPU's memory (a fake one's); without it not.  The batches are the same.  (Soft-RoCE takes the flag and has no such order: only the kernel tells.)
. "$top/tests/rdma/functions.sh"
trace=/sys/kernel/tracing
mount -t tracefs tracefs $trace
echo 'p:registers rxe_reg_user_mr access=%r8:x32' >$trace/kprobe_events
echo 1 >$trace/events/kprobes/registers/enable

# flags OPTIONS [OPTION OF recv...]: with which of them a ring was registered: that others may write to it is 2.
flags() {
    : >$trace/trace
    at=$ADDRESS:0$1
    shift
    recv "$@"
    drain_to got
    send "$data/many.tar" "$url" 2>send.log || fail "send"
    wait $trainer || fail "the trainer"
    wait $receiver || fail "recv"
    has_all got
    found=$(sed -n 's/.*registers:.*access=//p' $trace/trace | sort -u)
}
flags ''
[ "$found" = "$(printf '0x1\n0x3')" ] || fail "without: $found"
flags '?relaxed-ordering=yes'
[ "$found" = "$(printf '0x1\n0x100003')" ] || fail "with: $found"
flags '?relaxed-ordering=no'
[ "$found" = "$(printf '0x1\n0x3')" ] || fail "with no: $found"
mkdir plugins
ln -s "$build/rdma.so" "$build/tests/lib/fakegpu.so" plugins/
export SHUFFLEFS_PLUGINS="$PWD/plugins"
flags '?relaxed-ordering=yes' --memory fakegpu --placement direct
[ "$found" = "$(printf '0x1\n0x100003')" ] || fail "with, in a GPU's memory: $found"
flags '' --memory fakegpu --placement direct
[ "$found" = "$(printf '0x1\n0x3')" ] || fail "without, in a GPU's memory: $found"
echo 0 >$trace/events/kprobes/registers/enable
: >$trace/kprobe_events
