#!/bin/sh
# SPDX-License-Identifier: MIT
# What goes wrong on the way to a server is EIO to whoever looks, lists or reads: never the
# error of a socket, which no program expects of a file.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards shards --shards 2 --bytes 20000 --samples 20
start_origin shards

for fault in rst cut garbage 500 stall; do
    mount_ds -o retries=0,stall-timeout=1s,read-timeout=2s,index-cache=no "$origin/$fault,over=1000/train-{000000..000001}.tar" mnt
    "$python" - <<'EOF' || fail "with $fault"
import errno, os, sys

def read(path):
    with open(path, "rb") as file:
        return file.read(1000)

def attribute(path):
    return os.getxattr(path, "user.shufflefs.samples")

for call, path in ((os.listdir, "samples/train-000000.tar"), (os.stat, "samples/train-000000.tar/000000.jpg"),
                   (read, "shards/train-000001.idx"), (read, "shards/train-000001.tar"),
                   (read, "epochs/0.tar"), (read, "epochs/0.order"), (attribute, "epochs/0.tar"),
                   (os.stat, "epochs/0@5.tar")):
    try:
        call("mnt/" + path)
        sys.exit("no error for %s" % path)
    except OSError as error:
        if error.errno != errno.EIO:
            sys.exit("%s: %s" % (path, errno.errorcode[error.errno]))
EOF
    umount_ds mnt
done
