#!/bin/sh
# SPDX-License-Identifier: MIT
# Over a link with a length and a rate, who is named is who makes a stream slow.  When the
# link is full that is the network, near and far, although nearly all the time goes by
# between requests and their first bytes; when the server is late, it is the source.
# (What waits for a processor depends on the machine, so that is not made here.)
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
! has_sanitizer ||
    skip "under a sanitizer our own threads are slower than the link"
requires_root
requires ip nsenter nginx

link_name="test-$$"
link() {
    "$python" "$top/bench/link" --name "$link_name" "$@"
}

# All mounts are made on the near side.
cat >near-shufflefs <<EOF
#!/bin/sh
exec "$python" "$top/bench/link" --name "$link_name" client "$shufflefs" "\$@"
EOF
cat >far <<EOF
#!/bin/sh
exec "$python" "$top/bench/link" --name "$link_name" server "\$@"
EOF
chmod +x near-shufflefs far
shufflefs="$work/near-shufflefs"

make_alike 120 --bytes 20000 --samples 300
mkdir tmp
cat >nginx.conf <<EOF
user root; daemon off; pid nginx.pid; worker_processes 1;
events { worker_connections 1024; }
http { sendfile on; access_log off;
  client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp;
  uwsgi_temp_path tmp; scgi_temp_path tmp;
  server { listen 10.98.0.2:80; root $work/data; } }
EOF

link_down() {
    [ -z "${servers:-}" ] || kill $servers 2>/dev/null || :
    servers=""
    link down 2>/dev/null || :
    rm -f origin-port
}

# link_is OPTION...: another link.  At its end are a quick server and one that misbehaves.
link_is() {
    link_down
    cleanup link_down
    link up "$@" 2>said || skip "no link can be made here: $(cat said)"
    ./far nginx -p "$work" -c nginx.conf -e stderr 2>nginx-log &
    servers=$!
    ./far "$python" "$top/tests/lib/origin.py" data 8080 10.98.0.2 >origin-port 2>origin-log &
    servers="$servers $!"
    wait_until 10 link client "$python" -c "import socket; socket.create_connection(('10.98.0.2', 80), 1)"
    wait_until 10 grep -q . origin-port
}

# is_named NAME SECONDS: after so many with a reader, this limits the stream; or soon after
# that, if the machine is busy.
is_named() {
    timeout $patience "$python" - "$@" <<'EOF'
import json, sys, time

name, seconds = sys.argv[1], int(sys.argv[2])
while True:
    streams = json.load(open("mnt/.shufflefs/stats.json"))["streams"]
    gone_s = sum(streams[0]["waits_ms"].values()) / 1000 if streams else 0
    if gone_s >= seconds:
        said = streams[0]["verdict"].partition(" is the bottleneck")[0]
        if said == "the " + name:
            break
        if gone_s >= seconds + 15:
            sys.exit("%s was named, not the %s: %s" % (said, name, streams))
    time.sleep(0.1)
print(name, streams[0]["waits"])
EOF
}

# is_limited_by NAME SECONDS OPTIONS [FAULT/]: someone reads, and this is why it takes so
# long.
is_limited_by() {
    mount_ds -o "$3" "http://10.98.0.2${4:+:8080}/${4:-}train-{000000..000119}.tar" mnt
    if [ "$1" = reader ]; then
        sh -c 'while head -c 10240 >/dev/null; do sleep 0.2; done' <mnt/epochs/0.tar &
    else
        cat mnt/epochs/0.tar >/dev/null 2>&1 &
    fi
    reader_pid=$!
    is_named "$1" "$2" || fail "not the $1 was named"
    umount -l mnt
    wait_until 30 sh -c "! grep -q ' $work/mnt ' /proc/self/mounts"
    kill $reader_pid 2>/dev/null || :
    wait $reader_pid || :
}

# Many lanes and a small budget: small parts, of which a full link has many in its queue.
# (It takes two seconds to learn that it is full.)
small="lanes=40,buffer=64K,budget=64M"
late="late,ms=1000,over=600/"
link_is --rtt 300us --rate 100mbit --queue 1s
is_limited_by network 7 "$small,connections=8"
is_limited_by source 3 "$small,connections=4" "$late"
is_limited_by reader 3 "lanes=2,buffer=64K,connections=2"
is_limited_by budget 3 "lanes=3,buffer=64K,connections=16,budget=10M" "$late"
is_limited_by "shuffle block" 3 "lanes=1,buffer=120M,connections=2"
link_is --rtt 50ms --rate 200mbit
is_limited_by network 4 "$small"
