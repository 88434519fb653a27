#!/bin/sh
# SPDX-License-Identifier: MIT
# A real systemd, in namespaces of its own, starts and stops a dataset as a service of
# Type=notify, as a .mount unit, and by an automount; a mount that fails is a failed unit.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
requires_root
systemd=/lib/systemd/systemd
[ -x $systemd ] || skip "no systemd"
make_shards data --shards 2
mkdir mnt
# The unit of a mount is named by its folder.
unit=$(systemd-escape --path --suffix=mount "$work/mnt")

cat >inside.sh <<EOF
cd "$work"
try() {
    echo "== \$1"
    timeout 200 systemctl start "\$1"
    echo "start \$?"
    systemctl show "\$1" -p ActiveState -p SubState -p StatusText
    ls mnt/epochs | head -n 1
    timeout 200 systemctl stop "\$1"
    echo "stop \$?"
    mountpoint -q mnt && echo "still mounted"
    systemctl show "\$1" -p ActiveState -p SubState
}
try good.service
try bad.service
try '$unit'
echo "== automount"
systemctl start '${unit%.mount}.automount'
ls mnt/epochs | head -n 1
systemctl show '$unit' -p ActiveState -p SubState
systemctl stop '${unit%.mount}.automount' '$unit'
systemctl exit 0 || kill -RTMIN+3 1
EOF
cat >outside.sh <<EOF
mount --make-rprivate /
for d in /run /etc/systemd/system /usr/local/bin; do
    mount -t tmpfs tmpfs \$d || exit 1
done
ln -s "$shufflefs" /usr/local/bin/shufflefs
cd /etc/systemd/system
unit() {
    printf '[Unit]\nDefaultDependencies=no\n'
    printf '%s\n' "\$@"
}
printf '[Unit]\nRequires=go.service\n' >try.target
unit '[Service]' Type=oneshot "ExecStart=/bin/sh $work/inside.sh" "StandardOutput=file:$work/log" \
    "StandardError=file:$work/log" >go.service
unit '[Service]' Type=notify TimeoutStartSec=180 \
    "ExecStart=/usr/local/bin/shufflefs mount -f -o seed=7 $work/data $work/mnt" >good.service
unit '[Service]' Type=notify TimeoutStartSec=180 \
    "ExecStart=/usr/local/bin/shufflefs mount -f $work/nothing.tar $work/mnt" >bad.service
unit '[Mount]' "What=$work/data" "Where=$work/mnt" Type=fuse.shufflefs Options=rw,seed=7,relatime >'$unit'
unit '[Automount]' "Where=$work/mnt" >'${unit%.mount}.automount'
exec $systemd --system --unit=try.target --log-target=console --log-level=warning --show-status=0
EOF
container=test timeout 500 unshare --fork --pid --mount --cgroup --mount-proc --kill-child sh outside.sh >said 2>&1 || true
[ -s log ] || skip "systemd does not start here: $(tail -n 1 said)"

cat >want <<EOF
== good.service
start 0
ActiveState=active
SubState=running
StatusText=mounted $work/data on $work/mnt
0.tar
stop 0
ActiveState=inactive
SubState=dead
== bad.service
start 1
ActiveState=failed
SubState=failed
stop 0
ActiveState=failed
SubState=failed
== $unit
start 0
ActiveState=active
SubState=mounted
0.tar
stop 0
ActiveState=inactive
SubState=dead
== automount
0.tar
ActiveState=active
SubState=mounted
EOF
# (The order of what it shows is systemd's.)
grep -E '^==|^start|^stop|^still|State=|^StatusText=m|^0\.tar' log | sort >got
sort want | diff - got || fail "$(cat log said)"
