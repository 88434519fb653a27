# SPDX-License-Identifier: MIT
# What the tests written in shell share.  A test begins with:
#
#     . "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
#
# It then runs in a folder of its own, which goes away when it ends, with all that
# it has mounted and started.  Exit 0: so it is; 77: cannot be tried here.

set -eu
export LC_ALL=C.UTF-8

top=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd)
build=${abs_top_builddir:-$top}
shufflefs=${SHUFFLEFS:-$build/shufflefs}
python=${PYTHON3:-python3}
name=$(basename "$0")
# What a test does at random depends on this, and on the order in which threads run.
test_seed=${TEST_SEED:-$(date +%s)}
work=$(mktemp -d "${TMPDIR:-/tmp}/shufflefs-$name.XXXXXX")
cleanups=""
# After so many seconds, what should end does not, however busy the machine is.
patience=400

# A user's own settings must not change what is tested.
unset XDG_CACHE_HOME http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy no_proxy NO_PROXY
export HOME="$work/home" XDG_CONFIG_HOME="$work/home/.config"
mkdir -p "$XDG_CONFIG_HOME"
cd "$work"

clean_up() {
    status=$?
    trap - EXIT
    set +e
    for m in "$work"/mnt*; do
        grep -qs " $m " /proc/self/mounts && umount -l "$m"
    done
    eval "$cleanups"
    jobs -p >"$work/jobs" # (in a pipe, dash would show the jobs of a child)
    xargs -r kill <"$work/jobs" 2>/dev/null
    wait 2>/dev/null
    cd /
    rm -rf --one-file-system "$work" # (what could not be unmounted stays)
    exit $status
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# What the mounts have to say goes along with it: it may not fail again for long.
fail() {
    echo "FAIL: $*" >&2
    for m in "$work"/mnt*; do
        grep -qs " $m " /proc/self/mounts || continue
        timeout 5 cat "$m/.shufflefs/stats.json" "$m/.shufflefs/errors" | tail -n 40 >&2
    done
    exit 1
}

skip() {
    echo "SKIP: $*"
    exit 77
}

# cleanup COMMAND: run when the test ends, however it does.
cleanup() {
    cleanups="$*; $cleanups"
}

requires() {
    for c in "$@"; do
        command -v "$c" >/dev/null || skip "$c is not installed"
    done
}

has_sidecar() {
    [ "${WITH_SIDECAR:-yes}" != no ]
}

has_sanitizer() {
    [ -n "${WITH_SANITIZER:-}" ] && [ "$WITH_SANITIZER" != no ]
}

requires_sidecar() {
    has_sidecar || skip "this build is --without-sidecar"
}

requires_fuse() {
    [ -w /dev/fuse ] || skip "/dev/fuse cannot be opened here"
}

# From here on, $python has WebDataset.
requires_webdataset() {
    python=${WEBDATASET_PYTHON:-$python}
    # (Torch is not needed for that, and takes a second to load.)
    "$python" -c 'import sys; sys.modules["torch"] = None; import webdataset' 2>import-error && return
    [ -z "${SHUFFLEFS_CI:-}" ] || fail "no WebDataset: $(cat import-error)"
    skip "$python has no webdataset"
}

# From here on, $python has Tensorcom.
requires_tensorcom() {
    [ -e "$build/zmq.so" ] || skip "this build has no plug-in for ZeroMQ"
    python=${TENSORCOM_PYTHON:-$python}
    "$python" -c "import tensorcom" 2>import-error && return
    [ -z "${SHUFFLEFS_CI:-}" ] || fail "no Tensorcom: $(cat import-error)"
    skip "$python has no tensorcom"
}

# requires_reader MODULE: from here on, $python has DuckDB, DALI or boto3, see scripts/get-readers.
requires_reader() {
    ! has_sanitizer || skip "once without a sanitizer is enough"
    unreached=${READERS_PYTHON:-}
    unreached=${unreached%/bin/python}.unreached
    [ ! -e "$unreached" ] || skip "no $1: $(tail -n 1 "$unreached")"
    python=${READERS_PYTHON:-$python}
    "$python" -c "import $1" 2>import-error && return
    skip "no $1: scripts/get-readers FOLDER installs it, then READERS_PYTHON=FOLDER/bin/python"
}

# From here on, $python has torch and Pillow.
requires_torch() {
    for python in "${TORCH_PYTHON:-$python}" /usr/bin/python3; do
        "$python" -c "import torch.distributed, PIL" 2>import-error && return
    done
    [ -z "${SHUFFLEFS_CI:-}" ] || fail "no torch: $(cat import-error)"
    skip "neither the python3 of this build nor Debian's has torch and Pillow"
}

requires_root() {
    [ "$(id -u)" = 0 ] || skip "needs root"
}

# mount_ds [ARG...] DIR: shufflefs mount, in the background, logging to log.N.
n_mounts=0
mount_ds() {
    for dir in "$@"; do :; done
    mkdir -p "$dir"
    n_mounts=$((n_mounts + 1))
    "$shufflefs" mount "$@"
}

umount_ds() {
    "$shufflefs" umount "$1"
}

# daemon_pid DIR
daemon_pid() {
    sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$1/.shufflefs/stats.json"
}

# our_processes PGREP-OPTION...: those of the processes that this test has started.
our_processes() {
    for pid in $(pgrep "$@"); do
        ! grep -zqsx "HOME=$HOME" "/proc/$pid/environ" || echo "$pid"
    done
}

# stat_of DIR NAME: one number of stats.json
stat_of() {
    sed -n "s/.*\"$2\":\([0-9]*\).*/\1/p" "$1/.shufflefs/stats.json"
}

# wait_until SECONDS COMMAND...: for events that nobody announces.  SECONDS are those of a quiet
# machine; a busy one has five times as many.
wait_until() {
    wait_until=$(($1 * 5 * 20))
    shift
    while ! "$@" >/dev/null 2>&1; do
        wait_until=$((wait_until - 1))
        [ $wait_until -gt 0 ] || fail "waited in vain for: $*"
        sleep 0.05
    done
}

# is_gone PID: it has ended (and may be a zombie, for its parent to ask about).
is_gone() {
    ! read -r line <"/proc/$1/stat" || case "$line" in *") Z "*) ;; *) return 1 ;; esac
}

# junk N: that many bytes that mean nothing, the same ones for one $test_seed.
junk() {
    "$python" -c 'import random, sys
sys.stdout.buffer.write(random.Random(sys.argv[2]).randbytes(int(sys.argv[1])))' "$1" "$test_seed"
}

# make_shards FOLDER [OPTION...]: see make-shards.py.
make_shards() {
    "$python" "$top/tests/lib/make-shards.py" "$@"
}

# make_alike SHARDS [OPTION...]: the folder data, of one shard, linked SHARDS times.
make_alike() {
    n_alike=$1
    shift
    make_shards data --shards 1 "$@"
    for i in $(seq $((n_alike - 1))); do
        ln data/train-000000.tar "data/train-$(printf %06d "$i").tar"
    done
}

# make_labels FILE SAMPLES: a tar whose sample i has one member, NNNNNN.cls: the number i.
make_labels() {
    "$python" - "$@" <<'EOF'
import io, sys, tarfile

with tarfile.open(sys.argv[1], "w", format=tarfile.USTAR_FORMAT) as tar:
    for i in range(int(sys.argv[2])):
        member = tarfile.TarInfo("%06d.cls" % i)
        data = b"%d" % i
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
EOF
}

# make_dense SHARDS SAMPLES: the folder dense, of one shard with SAMPLES samples of a header
# each, linked SHARDS times.
make_dense() {
    mkdir dense
    "$python" - "$1" "$2" <<'EOF'
import os, sys, tarfile

with tarfile.open("dense/0.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
    for i in range(int(sys.argv[2])):
        tar.addfile(tarfile.TarInfo("%06d.x" % i))
for i in range(1, int(sys.argv[1])):
    os.link("dense/0.tar", "dense/%d.tar" % i)
EOF
}

# start_origin FOLDER [PORT [PROGRAM]]: an HTTP server that misbehaves on demand (origin.py);
# sets $origin, its URL, and $origin_pid.  After speaks_tls it has TLS.
n_origins=0
start_origin() {
    n_origins=$((n_origins + 1))
    port_file="$work/origin-port.$n_origins"
    rm -f "$port_file" # of one that is counted anew
    "$python" "$top/tests/lib/${3:-origin.py}" "$1" "${2:-0}" >"$port_file" 2>"$work/origin-log.$n_origins" &
    origin_pid=$!
    wait_until 10 grep -q . "$port_file"
    origin="http${ORIGIN_TLS:+s}://127.0.0.1:$(cat "$port_file")"
}

# speaks_tls: origins that are started from now on do, and shufflefs trusts them.
speaks_tls() {
    requires openssl
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=origin \
        -addext subjectAltName=IP:127.0.0.1 -keyout origin.key -out origin.pem 2>openssl-log
    unset SSL_CERT_FILE SSL_CERT_DIR
    export ORIGIN_TLS="$work/origin.pem $work/origin.key" CURL_CA_BUNDLE="$work/origin.pem"
}

# refusing_port: sets $refusing, a port of 127.0.0.1 where nobody listens, nor can meanwhile.
refusing_port() {
    rm -f "$work/refusing-port"
    "$python" -c 'import socket, time
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
time.sleep(3600)' >"$work/refusing-port" &
    wait_until 30 grep -q . "$work/refusing-port"
    refusing=$(cat "$work/refusing-port")
}

# asked_side_by_side LEAST: the newest origin got so many requests for parts at least, and less
# than half of them one after the other.  The connection used last is used first: where there
# is only one request at a time, one connection gets all of them.
asked_side_by_side() {
    "$python" - "origin-log.$n_origins" "$@" <<'EOF' || fail "one at a time"
import json, sys
least = int(sys.argv[2])
peers = [r["peer"] for r in map(json.loads, open(sys.argv[1]))
         if len(r["headers"]["range"]) > len("bytes=0-511")]
alone = sum(a == b for a, b in zip(peers, peers[1:]))
print(len(peers), "requests,", alone, "of them alone")
sys.exit(len(peers) < least or alone > len(peers) / 2)
EOF
}

# start_nginx FOLDER: a real one; sets $nginx, its URL.  Its log has what asked_side_by_side
# reads.
start_nginx() {
    requires nginx
    n_origins=$((n_origins + 1))
    root=$(cd "$1" && pwd)
    mkdir -p nginx-run/tmp
    for try in 1 2 3 4 5; do
        port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
        user_line=""
        [ "$(id -u)" != 0 ] || user_line="user root;"
        cat >nginx-run/nginx.conf <<EOF
$user_line daemon off; pid nginx.pid; worker_processes 1;
events { worker_connections 4096; }
http { sendfile on; tcp_nopush on;
  log_format asked escape=json '{"peer": \$connection, "address": "\$server_addr", "headers": {"range": "\$http_range"}}';
  access_log $work/origin-log.$n_origins asked;
  client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp;
  uwsgi_temp_path tmp; scgi_temp_path tmp;
  server { listen 127.0.0.1:$port; root $root;
    location /norange/ { alias $root/; max_ranges 0; }
    location /hop/ { rewrite ^/hop/(.*)\$ /\$1 redirect; }
    location /auth/ { alias $root/; auth_basic x; auth_basic_user_file htpasswd; }
  } }
EOF
        printf 'sfs:{PLAIN}secret\n' >nginx-run/htpasswd
        nginx -p nginx-run -c nginx.conf -e stderr 2>nginx-run/log &
        nginx_pid=$!
        for i in $(seq 100); do
            kill -0 $nginx_pid 2>/dev/null || break
            if "$python" -c "import socket; socket.create_connection(('127.0.0.1', $port), 1)" 2>/dev/null; then
                nginx="http://127.0.0.1:$port"
                return 0
            fi
            sleep 0.05
        done
    done
    fail "nginx does not start: $(cat nginx-run/log)"
}

# same A B: two files hold the same bytes.
same() {
    cmp "$1" "$2" || fail "wrong bytes: $1 and $2 differ"
}

# errors_have DIR WORDS: .shufflefs/errors names this.
errors_have() {
    grep -q "$2" "$1/.shufflefs/errors" || {
        cat "$1/.shufflefs/errors" >&2
        fail "no '$2' in .shufflefs/errors"
    }
}

case $name in sidecar-*) requires_sidecar ;; esac
