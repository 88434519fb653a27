#!/bin/sh
# SPDX-License-Identifier: MIT
# With random segments any number of epochs may be open while nobody reads them.  Of those that are read
# 16 may be open at a time; one more is refused, with a line that says why, until one of them is closed.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 3 --samples 20 --bytes 20000
mount_ds -o segment=random,next-epoch=no data mnt
"$python" - <<'EOP'
import errno, os, time

def read(fd):
    return len(os.pread(fd, 4096, 0))

def errno_of(call, *args):
    try:
        call(*args)
    except OSError as error:
        return error.errno

fds = [os.open("mnt/epochs/%d.tar" % e, os.O_RDONLY) for e in range(40)]
for fd in fds[:16]:
    assert read(fd) == 4096
found = errno_of(read, fds[16])
assert found == errno.ENFILE, "a 17th epoch is read: %s" % found
found = errno_of(os.open, "mnt/epochs/50.tar", os.O_RDONLY)
assert found == errno.ENFILE, "a 17th epoch is opened: %s" % found
os.close(fds.pop(0))
while errno_of(read, fds[15]): # (a file is closed a moment later)
    time.sleep(0.05)
EOP
errors_have mnt '"shard":"epochs/50.tar","cause":"too many epochs are open at a time: close the files of some"'
errors_have mnt '"cause":"too many epochs are read at a time"'
umount_ds mnt
