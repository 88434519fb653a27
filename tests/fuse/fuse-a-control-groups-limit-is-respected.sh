#!/bin/sh
# SPDX-License-Identifier: MIT
# In a control group with little memory the budget is a quarter of that, of the lowest limit
# around it, and an epoch larger than it is read without being killed; a limit that is
# lowered under the mount lowers what the budget allows.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
requires_root
! has_sanitizer ||
    skip "a sanitizer needs memory of its own"

# Two groups below our own, the outer with the limit; of version 1 or 2.
"$python" - >groups <<'EOF2'
v1 = v2 = None
for line in open("/proc/self/cgroup"):
    number, controllers, group = line.rstrip("\n").split(":", 2)
    if "memory" in controllers.split(","):
        v1 = group
    if number == "0":
        v2 = group
for line in open("/proc/self/mountinfo"):
    mount, source = line.split(" - ")
    kind, options = source.split()[0], source.split()[-1].split(",")
    root, point = mount.split()[3:5]
    for group, ok, limit in ((v1, kind == "cgroup" and "memory" in options, "memory.limit_in_bytes"),
                             (v2, kind == "cgroup2", "memory.max")):
        if ok and group is not None:
            below = group[len(root):] if root != "/" and group.startswith(root) else group
            print(point + below.rstrip("/"), limit)
EOF2
outer=""
mounted=""
remove_groups() {
    [ -z "$mounted" ] || { kill "$mounted" && wait "$mounted"; }
    rmdir "$outer/in" "$outer"
}
while read -r own file; do
    outer=$own/shufflefs-test-$$
    mkdir "$outer" "$outer/in" || continue
    [ "$file" != memory.max ] || echo +memory >"$outer/cgroup.subtree_control" || true
    if [ -e "$outer/$file" ] && echo $((600 << 20)) >"$outer/$file"; then
        cleanup remove_groups
        break
    fi
    rmdir "$outer/in" "$outer"
    outer=""
done <groups 2>cannot
[ -n "$outer" ] || skip "no memory control group can be made here: $(tail -n 1 cannot)"

# 800 MB: a shard of 40 MB, linked twenty times.
make_shards data --shards 1 --samples 400 --bytes 100000
for i in $(seq 19); do ln data/train-000000.tar "data/train-1$(printf %05d "$i").tar"; done
"$shufflefs" cat data epochs/0.tar | sha256sum >want
mkdir mnt
sh -c "echo \$\$ >'$outer/in/cgroup.procs' && exec '$shufflefs' mount -f data mnt" 2>log &
mounted=$!
wait_until 20 test -e mnt/.shufflefs/stats.json
[ "$(stat_of mnt budget_bytes)" = $((150 << 20)) ] || fail "budget: $(stat_of mnt budget_bytes)"
dd if=mnt/epochs/0.tar bs=1M iflag=direct status=none | sha256sum >got
same want got

# A budget that the group has no memory for is reported once.
sh -c "echo \$\$ >'$outer/in/cgroup.procs' && exec '$shufflefs' cat -o budget=700M data README" >/dev/null 2>said
[ "$(grep -c 'budget=700M exceeds the 600M of memory' said)" = 1 ] || fail "$(cat said)"

# Lowered under the mount; it is looked at every ten seconds.
echo $((400 << 20)) >"$outer/$file"
has_fallen() {
    [ "$(stat_of mnt budget_limit_bytes)" -le $((100 << 20)) ]
}
wait_until 60 has_fallen
dd if=mnt/epochs/0.tar bs=1M iflag=direct status=none | sha256sum >got
same want got
echo $((600 << 20)) >"$outer/$file"
is_back() {
    [ "$(stat_of mnt budget_limit_bytes)" = $((150 << 20)) ]
}
wait_until 60 is_back
umount_ds mnt
wait "$mounted" || fail "the daemon: $(cat log)"
mounted=""
