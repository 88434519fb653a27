# SPDX-License-Identifier: MIT
# A mount forwards an epoch by ioctl over RDMA into a ring in a GPU's memory (a fake one): the
# batches are those of a ring in the host's.
. "$top/tests/rdma/functions.sh"
mkdir mnt shards plugins
cp "$data/part-0.tar" shards/
ln -s "$build/rdma.so" "$build/tests/lib/fakegpu.so" plugins/
export SHUFFLEFS_PLUGINS="$PWD/plugins"
"$build/shufflefs" mount -f shards mnt >mount.log 2>&1 &
until_so test -e mnt/epochs/0.tar

# forward_to FILE OPTION...: what the receiver's ring gives.
forward_to() {
    file=$1
    shift
    recv "$@"
    drain_to "$file"
    SHUFFLEFS_SIDECAR="$sidecar" "$build/shufflefs" forward --fields="$fields" --batch=4 \
        mnt/epochs/0.tar "$url" >forward.log 2>&1 || fail "forward"
    wait $trainer || fail "the trainer"
    wait $receiver || fail "recv"
}
forward_to wanted
forward_to got --memory fakegpu
[ "$(grep -c ^row got)" = 1334 ] || fail "$(wc -l got)"
cmp got wanted || fail "other batches"
umount mnt
