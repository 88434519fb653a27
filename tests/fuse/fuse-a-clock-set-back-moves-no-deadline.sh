#!/bin/sh
# SPDX-License-Identifier: MIT
# When the system's clock is set back by an hour, a read that waits for a silent server is
# EIO after its read-timeout all the same, the ticker ticks, and the mount knows how long it
# has been there.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/parked.sh"
requires_fuse
requires cc
! has_sanitizer ||
    skip "a sanitizer's library must be loaded first"

# As if it was set back right after each look.
cat >preload.c <<'END'
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *t)
{
	int ret = (int)syscall(SYS_clock_gettime, id, t);

	if (id == CLOCK_REALTIME)
		t->tv_sec += 3600;
	return ret;
}
END
cc -shared -fPIC -o preload.so preload.c

stalling_shards --shards 3
LD_PRELOAD=$work/preload.so mount_ds -o stall-timeout=10m,read-timeout=2s,lanes=4,buffer=64K "$stalling" mnt
cleanup "end_daemon $(daemon_pid mnt)"
status=0
timeout $patience dd if=mnt/epochs/0.tar of=got bs=1M count=1 iflag=direct,fullblock 2>said || status=$?
[ $status != 124 ] || fail "still waiting after 100 s"
grep -q "Input/output error" said || fail "status $status: $(cat said)"
uptime_ms=$(stat_of mnt uptime_ms)
[ "$uptime_ms" -gt 1999 ] && [ "$uptime_ms" -lt 3000000 ] || fail "it has been there for $uptime_ms ms"
umount_ds mnt
