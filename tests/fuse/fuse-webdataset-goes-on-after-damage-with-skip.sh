#!/bin/sh
# SPDX-License-Identifier: MIT
# WebDataset with handler=warn_and_continue ends an epoch at a damaged shard, with a warning, as
# docs/training.md says; the errors line says what to mount instead, and so mounted it reads all that is
# sound.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires_fuse
requires_webdataset

# A header in the middle of the second of four shards is damaged.
small_shards --shards 4 --samples 60
last=$(tar tf "whole/$one" | sed -n 61p)
keep_before "$last"
flip "$(byte_of "$last")"

cat >count.py <<'EOF'
import sys, warnings
sys.modules["torch"] = None
import webdataset
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    keys = [sample["__key__"] for sample in
            webdataset.WebDataset(sys.argv[1], shardshuffle=False, handler=webdataset.warn_and_continue)]
print(len(keys), len(set(keys)), sum(issubclass(w.category, UserWarning) for w in warned))
print([str(w.message) for w in warned], file=sys.stderr)
EOF
# counts URL: sets $n, the samples that WebDataset gets, $n_warned.
counts() {
    "$python" count.py "$1" >counted
    read -r n n_keys n_warned <counted
    [ "$n" = "$n_keys" ] || fail "wrong samples: some come twice"
}

sound=$(for i in 0 1 2 3; do tar tf rest/train-00000$i.tar; done | sed 's/\..*//' | sort -u | wc -l)
opts="lanes=4,buffer=20K,index-cache=no"
mount_ds -o $opts shards mnt
counts "$work/mnt/epochs/0.tar"
[ "$n" -lt $((sound * 9 / 10)) ] || fail "$n samples of $sound: there is nothing to warn of"
[ "$n_warned" -gt 0 ] || fail "no warning"
errors_have mnt "\"event\":\"lost\",\"shard\":\"$one\".*ends its epoch early; on-error=skip leaves it out: shufflefs mount -o on-error=skip\""
umount_ds mnt

mount_ds -o $opts,on-error=skip shards mnt
counts "$work/mnt/epochs/0.tar"
[ "$n" -ge $((sound - 1)) ] || fail "wrong samples: $n of $sound"
[ "$n_warned" = 0 ] || fail "a warning"
umount_ds mnt
