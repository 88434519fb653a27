#!/bin/sh
# SPDX-License-Identifier: MIT
# A reader of `shufflefs cat` that closes after the last sample, as tar does, is no error;
# one that closes before ends it by SIGPIPE, without a word, as it ends other programs.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

# piped BYTES: the status of a cat whose reader takes so many bytes and closes
piped() {
    : >status
    { "$shufflefs" cat -o lanes=2 data epochs/0.tar 2>said || echo $? >status; } |
        "$python" -c '
import os, sys
left = int(sys.argv[1])
while left:
    left -= len(os.read(0, min(left, 65536)))
' "$1"
    [ ! -s said ] || fail "said: $(cat said)"
    status=$(cat status)
    status=${status:-0}
}

# More than a pipe holds: a third of each shard's bytes is no sample.
make_shards data --shards 3 --samples 20 --bytes 200000
for s in data/*.tar; do
    truncate -s +3M "$s"
done
"$shufflefs" cat -o lanes=2 data epochs/0.tar >whole.tar
end=$("$python" -c '
import tarfile
for member in tarfile.open("whole.tar"):
    end = member.offset_data + (member.size + 511) // 512 * 512
print(end)')
[ "$(($(wc -c <whole.tar) - end))" -gt 8000000 ] || fail "too few zeros for this test"

piped 1000
[ "$status" = 141 ] || fail "status $status of a reader that took 1000 bytes"
piped $((end / 2))
[ "$status" = 141 ] || fail "status $status of a reader that took half"
for n in $end $((end + 1024)) $((end + 10240)) $((end + 5000000)); do
    piped "$n"
    [ "$status" = 0 ] || fail "status $status of a reader that took all samples, $n bytes"
done

# Real readers: no error, no word.
for reader in "tar t" "tar x" "bsdtar t" "bsdtar x"; do
    command -v "${reader% *}" >/dev/null || continue
    mkdir -p out && rm -f status
    (cd out && { "$shufflefs" cat -o lanes=2 ../data epochs/0.tar 2>../said ||
        echo $? >../status; } | $reader >names) || fail "$reader"
    [ ! -e status ] && [ ! -s said ] || fail "$reader: $(cat status) $(cat said)"
done
# Other files have no such end.
: >status
{ "$shufflefs" cat data shards/train-000000.tar 2>said || echo $? >status; } | head -c 1000 >got
[ "$(cat status)" = 141 ] || fail "status $(cat status) of a shard that was not read to its end"
