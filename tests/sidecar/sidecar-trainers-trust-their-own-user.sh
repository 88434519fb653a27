#!/bin/sh
# SPDX-License-Identifier: MIT
# A trainer refuses a ring, and samples, of a user who is neither its own nor root; those of its own
# user it takes.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
sidecar=$build/shufflefs-sidecar
[ "$(id -u)" = 0 ] || skip "only root can start processes of others"
command -v setpriv >/dev/null || skip "there is no setpriv"

"$python" - <<'END'
import io, tarfile
with tarfile.open("0.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
    member = tarfile.TarInfo("000000.cls")
    member.size = 1
    tar.addfile(member, io.BytesIO(b"7"))
END
mkdir theirs
cp 0.tar "$sidecar" "$build/tests/lib/ring-drain" theirs # (where they may look)
chmod 777 . theirs
chown -R 65534 theirs
other() {
    (cd theirs && exec setpriv --reuid=65534 --clear-groups "$@")
}
other ./shufflefs-sidecar --version >said 2>&1 || skip "another user cannot run it: $(cat said)"

other ./shufflefs-sidecar send 0.tar local:ring --fields cls 2>said &
wait_until 60 test -S theirs/ring
! "$build/tests/lib/ring-drain" theirs/ring >got 2>error || fail "a stranger's ring was taken"
grep -q "ring belongs to user 65534, who is neither root nor this process's user, 0" error || fail "$(cat error)"
other ./ring-drain ring >got 2>error || fail "one's own ring: $(cat error)"
grep -q "^row.* 7" got || fail "one's own ring: $(cat got)"
wait

other ./shufflefs-sidecar send 0.tar samples:samples 2>said &
sender=$!
wait_until 60 test -S theirs/samples
! "$python" "$top/tests/lib/samples-trainer.py" theirs/samples >got 2>error || fail "a stranger's samples were taken"
cat got error | grep -q "samples belong to user 65534" || fail "$(cat got error)"
kill $sender
