#!/bin/sh
# SPDX-License-Identifier: MIT
# A service manager that waits (systemd's Type=notify) is told when a mount works, and when it
# stops; by a socket with a path or with an abstract name, also if the mount is another process
# than the one that was started.  A mount that fails is never ready.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
make_shards data --shards 2
mkdir mnt
cat >notified.py <<'EOT'
import os, signal, socket, subprocess, sys, time

shufflefs, work = sys.argv[1], os.getcwd()


def start(name, *words):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind("\0" + name[1:] if name[0] == "@" else name)
    s.settimeout(400)
    return s, subprocess.Popen([shufflefs, "mount", *words], env={**os.environ, "NOTIFY_SOCKET": name})


def fields(s):
    return dict(line.split("=", 1) for line in s.recv(4096).decode().splitlines())


for name in work + "/socket", "@shufflefs-test-%d" % os.getpid():
    for words in ["-f"], []:
        s, p = start(name, *words, "data", "mnt")
        got = fields(s)
        assert got["READY"] == "1" and "on %s/mnt" % work in got["STATUS"], got
        assert os.stat("mnt/epochs/0.tar").st_size > 0
        pid = int(got["MAINPID"])
        assert words == [] or pid == p.pid, (pid, p.pid)
        if words == []:
            assert p.wait() == 0
        os.kill(pid, signal.SIGTERM)
        assert fields(s) == {"STOPPING": "1"}
        if words:
            assert p.wait() == 0
        s.close()
        if name[0] == "/":
            os.unlink(name)
        while os.path.ismount("mnt"):  # its daemon unmounts it
            time.sleep(0.05)

s, p = start(work + "/socket", "-f", "nothing.tar", "mnt")
assert p.wait() != 0
s.settimeout(0)
try:
    sys.exit("it was ready: %r" % s.recv(4096))
except BlockingIOError:
    pass
EOT
"$python" notified.py "$shufflefs" || fail "not notified"
# Who names no socket that can be reached is told so, and has a mount.
NOTIFY_SOCKET=/nowhere/socket "$shufflefs" mount data mnt 2>said
grep -q "cannot notify" said || fail "$(cat said)"
[ -e mnt/README ] || fail "not mounted"
umount_ds mnt
