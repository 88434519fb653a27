#!/bin/sh
# SPDX-License-Identifier: MIT
# A program that walks all folders (find, updatedb) fetches nothing: samples/ lists only shards
# that somebody has named, or with samples=yes all, and with samples=no it is not there.  Folders
# have one link, so none is taken for one without folders in it.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards shards/a --shards 3 --samples 20 --bytes 3000
make_shards shards/b --shards 3 --samples 20 --bytes 3000
start_origin shards
url="$origin/{a,b}/train-{000000..000002}.tar"
requests() {
    wc -l <"origin-log.$n_origins"
}

mount_ds -o index-cache=no "$url" mnt
was=$(requests)
find mnt -ls >walk || fail "find: $(cat walk)"
[ "$(requests)" = "$was" ] || fail "find made requests: $(tail -n +"$was" "origin-log.$n_origins")"
"$python" -c 'import os; [os.stat(os.path.join(d, n)) for d, ds, fs in os.walk("mnt") for n in ds + fs]'
[ "$(requests)" = "$was" ] || fail "os.walk made requests"
! grep -q "mnt/samples/./train" walk || fail "a shard that nobody has named is listed"
grep -q "mnt/shards/b/train-000002.tar" walk || fail "$(cat walk)"

# Who names a shard sees what is in it, and from then on so does a walk.
[ "$(ls mnt/samples/b/train-000001.tar | wc -l)" = 40 ] || fail "$(ls mnt/samples/b/train-000001.tar)"
[ "$(find mnt/samples -name '*.tar')" = mnt/samples/b/train-000001.tar ] || fail "$(find mnt/samples -name '*.tar')"
[ "$(find mnt/samples -type f | wc -l)" = 40 ] || fail "$(find mnt/samples -type f)"
[ ! -e mnt/samples/b/train-000003.tar ] || fail "there is no such shard"

# Links: 1 says that nothing can be told by their number.
[ -e mnt/epochs/0/rank-1-of-2.tar ]
for d in $(find mnt -type d); do
    [ "$(stat -c %h "$d")" = 1 ] || fail "$d has $(stat -c %h "$d") links"
done
if command -v perl >/dev/null; then
    n=$(perl -MFile::Find -e '$File::Find::dont_use_nlink = 0; find(sub { $n++ }, "mnt"); print $n')
    [ "$n" = "$(find mnt | wc -l)" ] || fail "perl finds $n, find $(find mnt | wc -l)"
fi
umount_ds mnt

mount_ds -o index-cache=no,samples=yes "$url" mnt
[ "$(find mnt/samples -name '*.tar' -prune | wc -l)" = 6 ] || fail "samples=yes"
[ "$(find mnt/samples -type f | wc -l)" = 240 ] || fail "samples=yes: $(find mnt/samples -type f | wc -l)"
umount_ds mnt

mount_ds -o index-cache=no,samples=no "$url" mnt
[ ! -e mnt/samples ] && [ ! -e mnt/samples/b/train-000001.tar ] || fail "samples=no"
[ "$(ls -A mnt | tr '\n' ' ')" = ".shufflefs README epochs shards " ] || fail "$(ls -A mnt)"
umount_ds mnt
