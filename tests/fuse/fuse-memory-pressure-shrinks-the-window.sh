#!/bin/sh
# SPDX-License-Identifier: MIT
# While somebody waits for memory, and there is little clean cache to take, a mount
# prefetches less, down to what the shuffle needs; readers go on and every byte is right.
# When that has passed, it prefetches again by itself.  It says both once.
[ -n "${IN_NAMESPACE:-}" ] || ! unshare -m true 2>/dev/null ||
    exec env IN_NAMESPACE=1 unshare -m sh "$0"
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
[ -n "${IN_NAMESPACE:-}" ] || skip "no mount namespace can be made here"

# What the kernel says, as we want it: of the machine, and of our group.
pressure() {
    printf 'some avg10=%s avg60=0.00 avg300=0.00 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n' "$1" >pressure
}
pressure 0.00
n=0
group=$(sed -n 's/^0:://p' /proc/self/cgroup)
for f in /proc/pressure/memory \
    $(sed -n 's/.* \([^ ]*\) [^ ]* .*- cgroup2 .*/\1/p' /proc/self/mountinfo | sed "s|\$|${group%/}/memory.pressure|"); do
    if [ -e "$f" ]; then
        mount --bind pressure "$f" || skip "$f cannot be covered"
        cleanup "umount '$f'"
        n=$((n + 1))
    fi
done
[ $n -gt 0 ] || skip "this kernel does not tell memory pressure"

# And how much clean cache there is, of the machine or of our group.
grep -v "^Active(file)\|^Inactive(file)\|^Dirty\|^Writeback" /proc/meminfo >others
clean() { # clean MIB
    sed "\$a Active(file): $(($1 << 10)) kB\nInactive(file): 0 kB" others >meminfo
    printf "%s $(($1 << 20))\n" active_file total_active_file >stat
}
clean 100
mount --bind meminfo /proc/meminfo || skip "/proc/meminfo cannot be covered"
cleanup "umount /proc/meminfo"
v1=$(sed -n 's/^[0-9]*:\([^:]*,\)*memory\(,[^:]*\)*:\(.*\)/\3/p' /proc/self/cgroup)
for f in \
    $(sed -n 's/.* \([^ ]*\) [^ ]* .*- cgroup2 .*/\1/p' /proc/self/mountinfo | sed "s|\$|${group%/}/memory.stat|") \
    $(sed -n 's/.* \([^ ]*\) [^ ]* .*- cgroup .*[ ,]memory\(,.*\)*$/\1/p' /proc/self/mountinfo | sed "s|\$|${v1%/}/memory.stat|"); do
    if [ -e "$f" ]; then
        mount --bind stat "$f" || skip "$f cannot be covered"
        cleanup "umount '$f'"
    fi
done

# A reader that compares, and stops twice until it is let go: between, it reads
# more than the budget.
cat >reader.py <<'EOF2'
import mmap, os, sys, time
want = open("want.tar", "rb").read()
fd, buf = os.open("mnt/epochs/0.tar", os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 1 << 20)
stops = [(len(want) // 5, "first"), (len(want) // 5 * 4, "second")]
at = 0
while at < len(want):
    if stops and at >= stops[0][0]:
        name = stops.pop(0)[1]
        open("at-" + name, "w").close()
        while not os.path.exists("go-" + name):
            time.sleep(0.02)
    n = os.preadv(fd, [buf], at)
    if n <= 0 or buf[:n] != want[at:at + n]:
        sys.exit("wrong bytes at %d" % at)
    at += n
EOF2
is_at() { # is_at NAME OPERATOR NUMBER: a number of stats.json
    [ "$(stat_of mnt "$1")" "$2" "$3" ]
}

make_shards data --shards 24 --samples 80 --bytes 100000
budget=$((96 << 20))
"$shufflefs" cat -o lanes=8,buffer=1M,budget=96M data epochs/0.tar >want.tar
mkdir mnt
"$shufflefs" mount -f -o lanes=8,buffer=1M,budget=96M data mnt 2>log &
wait_until 20 test -e mnt/.shufflefs/stats.json
is_at budget_limit_bytes = $budget || fail "a limit without pressure"
"$python" reader.py &
reader=$!
wait_until 60 test -e at-first
wait_until 20 is_at budget_used_bytes -gt $((24 << 20))

# Those who wait fill the cache themselves, and it holds as much as the budget.
pressure 60.00
wait_until 10 is_at memory_pressure = 60
sleep 2.5
is_at budget_limit_bytes = $budget || fail "pressure of clean cache lowered the limit"
[ ! -s log ] || fail "said: $(cat log)"

# Everything goes that is not needed, and the reader gets its bytes all the same.
clean 90
wait_until 30 is_at budget_limit_bytes -lt $((16 << 20))
[ "$(stat_of mnt memory_pressure)" = 60 ] || fail "memory_pressure"
touch go-first
wait_until 60 test -e at-second
wait_until 20 is_at budget_used_bytes -le "$(stat_of mnt budget_limit_bytes)"
[ "$(stat_of mnt budget_limit_bytes)" -lt $((16 << 20)) ] || fail "the limit rose"

# A little is neither.
pressure 5.00
wait_until 10 is_at memory_pressure = 5
limit=$(stat_of mnt budget_limit_bytes)
sleep 2.5
# (Tables of samples may still come in, which count.)
moved=$(($(stat_of mnt budget_limit_bytes) - limit))
[ $moved -ge 0 ] && [ $moved -lt $((1 << 20)) ] || fail "the limit moved by $moved"

# All may come back; nobody reads meanwhile.
pressure 0.00
wait_until 60 is_at budget_limit_bytes = $budget
wait_until 20 is_at budget_used_bytes -gt $((24 << 20))
touch go-second
wait $reader || fail "the reader"
[ "$(stat_of mnt events_lost)" = 0 ] || fail "$(cat mnt/.shufflefs/errors)"
umount_ds mnt
[ "$(grep -c "memory is short (.* waited for it 60 %.* cache is only 90" log)" = 1 ] ||
    fail "not said once: $(cat log)"
[ "$(grep -c "no longer short: prefetching within 96M again.* as little as" log)" = 1 ] ||
    fail "the end was not said once: $(cat log)"
[ "$(wc -l <log)" = 2 ] || fail "more was said: $(cat log)"
