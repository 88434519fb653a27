#!/bin/sh
# SPDX-License-Identifier: MIT
# Names in tars are data: no "..", no absolute path, no link, no over-long component
# becomes a path in samples/; what is left out is noted, and is still in the streams.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

"$python" - <<'EOF'
import io, os, tarfile
os.mkdir("data")
names = ["../../etc/evil.jpg", "a/../../b.jpg", "..", "/etc/absolute.jpg", "./dot/./x.jpg",
         "x//y.jpg", "n" * 300 + ".jpg", "fine/name.jpg", "twice.jpg", "file.d", "file.d/under.jpg",
         "new\nline.jpg", "\udcff\udcfe.jpg", "-rf.jpg", " .jpg", "deep/" * 100 + "x.jpg"]
with tarfile.open("data/a.tar", "w", format=tarfile.GNU_FORMAT) as tar:
    for i, name in enumerate(names + ["twice.jpg"]):
        info = tarfile.TarInfo(name)
        data = b"%d" % i
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
    for name, type, link in (("s.jpg", tarfile.SYMTYPE, "/etc/passwd"), ("h.jpg", tarfile.LNKTYPE, "twice.jpg"),
                             ("dev.jpg", tarfile.CHRTYPE, ""), ("fifo.jpg", tarfile.FIFOTYPE, "")):
        info = tarfile.TarInfo(name)
        info.type, info.linkname = type, link
        tar.addfile(info)
EOF
mount_ds data mnt
"$python" - <<'EOF'
import os, sys
found = sorted(os.path.relpath(os.path.join(d, f), b"mnt/samples/a.tar")
               for d, _, files in os.walk(b"mnt/samples/a.tar") for f in files)
wanted = sorted([b"etc/absolute.jpg", b"dot/x.jpg", b"x/y.jpg", b"fine/name.jpg", b"twice.jpg", b"file.d",
                 b"new\nline.jpg", b"\xff\xfe.jpg", b"-rf.jpg", b" .jpg"])
if found != wanted:
    sys.exit("found %r\nwanted %r" % (found, wanted))
if open("mnt/samples/a.tar/twice.jpg").read() != "16":
    sys.exit("of two members with one name, the later counts")
EOF
errors_have mnt '"event":"hidden".*etc/evil'
errors_have mnt "\"event\":\"hidden\".*'file.d/under.jpg' is hidden: it would be both a file and a folder.*not in samples/"
errors_have mnt "\"event\":\"hidden\".*'twice.jpg' is in the shard once more: this one hides the one before"
grep -c '"event":"hidden"' mnt/.shufflefs/errors | grep -qx 7 || fail "$(cat mnt/.shufflefs/errors)"
[ "$(grep -c "is not a safe path" mnt/.shufflefs/errors)" = 5 ] || fail "$(cat mnt/.shufflefs/errors)"
for n in ../../etc/evil.jpg b.jpg evil.jpg s.jpg h.jpg dev.jpg; do
    [ ! -e "mnt/samples/a.tar/$n" ] || [ "$n" = ../../etc/evil.jpg ] || fail "$n is there"
done
[ "$(tar tf mnt/epochs/0.tar 2>/dev/null | grep -c evil)" = 1 ] || fail "it must be in the stream"
umount_ds mnt

# A file that is a folder as well, in the other order; and a shard whose members are there twice: the
# first hundred have a line.
"$python" - <<'EOF'
import io, os, tarfile
os.mkdir("odd")
with tarfile.open("odd/a.tar", "w") as tar:
    for name in ["a/b.jpg", "a"] + 2 * ["%03d.jpg" % i for i in range(150)]:
        info = tarfile.TarInfo(name)
        info.size = 1
        tar.addfile(info, io.BytesIO(b"x"))
EOF
mount_ds odd mnt
[ "$(ls mnt/samples/a.tar | wc -l)" = 151 ] && [ -f mnt/samples/a.tar/a/b.jpg ] || fail "$(ls mnt/samples/a.tar)"
errors_have mnt "'a' is hidden: it would be both a file and a folder"
[ "$(grep -c '"event":"hidden"' mnt/.shufflefs/errors)" = 100 ] || fail "$(cat mnt/.shufflefs/errors)"
tail -n 1 mnt/.shufflefs/errors | grep -q "'098.jpg' is in the shard once more.*(more of this shard are only counted)" ||
    fail "$(cat mnt/.shufflefs/errors)"
umount_ds mnt
