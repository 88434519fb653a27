#!/bin/sh
# SPDX-License-Identifier: MIT
# However many workers there are and however large the images, send takes about as much memory as
# --memory says, for workers wait for it; all samples are sent all the same.  Slots that do not fit
# are refused at once.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
sidecar=$build/shufflefs-sidecar

# 24 PNGs of 3000 x 3000: 27 MB of pixels each, in some KB.
"$python" - <<'END'
import io, struct, tarfile, zlib
side = 3000
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
png += chunk(b"IDAT", zlib.compress(bytes(3 * side + 1) * side, 1)) + chunk(b"IEND", b"")
with tarfile.open("0.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
    for i in range(24):
        for extension, data in ("png", png), ("cls", b"%d" % i):
            member = tarfile.TarInfo("%06d.%s" % (i, extension))
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
END

"$build/tests/lib/ring-drain" ring >got 2>error &
drain=$!
"$python" - "$sidecar" send 0.tar local:ring --fields 'png:rgb;cls' --batch 1 --slots 2 --workers 200 --memory 200M <<'END' >most || fail "send"
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss >> 10)
sys.exit(status != 0)
END
wait $drain || fail "the trainer: $(cat error)"
seq 0 23 >wanted
sed -n "s/^row .* //p" got | cmp - wanted || fail "wrong samples: $(grep row got)"
case ${WITH_SANITIZER:-} in
*[a-z]*) ;; # (it has memory of its own)
*) [ "$(cat most)" -lt 300 ] || fail "it took $(cat most) MiB of 200" ;;
esac

! "$sidecar" send 0.tar local:ring --fields 'png:rgb;cls' --batch 8 --slots 2 --memory 200M 2>said || fail "slots of 432 MB"
grep -q "2 slots for batches of 8 samples take 41[0-9] MiB, and --memory is 200 MiB" said || fail "said: $(cat said)"
