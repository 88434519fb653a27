# SPDX-License-Identifier: MIT
# A mount forwards an epoch by ioctl to a receiver over RDMA: each sample arrives once.
. "$top/tests/rdma/functions.sh"
mkdir mnt shards
cp "$data"/part-*.tar shards/
"$build/shufflefs" mount -f shards mnt >mount.log 2>&1 &
until_so test -e mnt/epochs/0.tar
recv --senders 1
drain_to got
SHUFFLEFS_SIDECAR="$sidecar" "$build/shufflefs" forward --fields="$fields" --batch=4 \
    mnt/epochs/0.tar "$url" >forward.log 2>&1 || fail "forward"
wait $trainer || fail "the trainer"
wait $receiver || fail "recv"
has_all got
[ "$(grep ^row got | head -n 50 | sed 's/.* //' | sort -n | head -n 1)" != 0 ] || fail "in order"
umount mnt
