#!/bin/sh
# SPDX-License-Identifier: MIT
# Whatever would change something fails with EROFS (or EACCES, where that comes first).
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 2
mount_ds data mnt
"$python" - <<'EOF'
import errno, os, sys
file, folder = "mnt/shards/train-000000.tar", "mnt/shards"
calls = {
    "open for writing": lambda: os.open(file, os.O_WRONLY),
    "open for both": lambda: os.open(file, os.O_RDWR),
    "open with O_TRUNC": lambda: os.open(file, os.O_RDONLY | os.O_TRUNC),
    "create": lambda: os.open(folder + "/new", os.O_CREAT | os.O_WRONLY),
    "truncate": lambda: os.truncate(file, 0),
    "unlink": lambda: os.unlink(file),
    "rename": lambda: os.rename(file, folder + "/other"),
    "mkdir": lambda: os.mkdir(folder + "/new"),
    "rmdir": lambda: os.rmdir("mnt/epochs"),
    "symlink": lambda: os.symlink("x", folder + "/new"),
    "link": lambda: os.link(file, folder + "/new"),
    "chmod": lambda: os.chmod(file, 0o777),
    "chown": lambda: os.chown(file, 1, 1),
    "utime": lambda: os.utime(file, (0, 0)),
    "setxattr": lambda: os.setxattr(file, "user.x", b"y"),
}
for name, call in calls.items():
    try:
        call()
        sys.exit(name + " worked")
    except OSError as e:
        if e.errno not in (errno.EROFS, errno.EACCES):
            sys.exit("%s: %s" % (name, e))
EOF
umount_ds mnt
