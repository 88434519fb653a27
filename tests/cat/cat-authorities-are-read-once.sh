#!/bin/sh
# SPDX-License-Identifier: MIT
# The file of authorities is read once, not for each connection, which takes tens of
# milliseconds where it holds all that a system trusts.  Those in a folder are trusted, too.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

speaks_tls
good_shards --shards 30
start_origin shards
thirty="train-{000000..000029}.tar"
cat /etc/ssl/certs/ca-certificates.crt origin.pem >many.pem 2>/dev/null || cp origin.pem many.pem
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=nobody \
    -keyout other.key -out other.pem 2>>openssl-log
mkdir folder
cp origin.pem "folder/$(openssl x509 -hash -noout -in origin.pem).0"

# n_opened FILE COMMAND...: how often it was opened meanwhile, in the file `opened`.
n_opened() {
    "$python" - "$@" <<'END' >opened
import ctypes, os, struct, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(os.O_NONBLOCK)
# IN_OPEN and IN_CLOSE_NOWRITE: events of one kind in a row would be one.
assert libc.inotify_add_watch(fd, sys.argv[1].encode(), 0x20 | 0x10) >= 0
assert subprocess.run(sys.argv[2:], stdout=open("got.tar", "wb")).returncode == 0
try:
    events = os.read(fd, 1 << 20)
except BlockingIOError:
    events = b""
print(sum(mask & 0x20 != 0 for _, mask, _, _ in struct.iter_unpack("iIII", events)))
END
}

# reads FILE TIMES: by that file of authorities.  (A second process is not started.)
reads() {
    n_opened "$1" "$shufflefs" cat $quick "$origin/$thirty" epochs/0.tar
    same want.tar got.tar
    [ "$(cat opened)" -ge 1 ] && [ "$(cat opened)" -le "$2" ] || fail "$1 was read $(cat opened) times"
}
connections() {
    "$python" -c 'import json, sys
print(len({json.loads(line)["peer"] for line in open(sys.argv[1])}))' "origin-log.$n_origins"
}

# Twice perhaps: two connections may begin at the same time.
for folder in "" "$work/folder"; do
    [ -z "$folder" ] || export SSL_CERT_DIR="$folder"
    export CURL_CA_BUNDLE="$work/many.pem"
    reads many.pem 2
done
[ "$(connections)" -ge 10 ] || fail "too few connections to tell: $(connections)"

export CURL_CA_BUNDLE="$work/other.pem"
arrives "$origin/$thirty"
unset SSL_CERT_DIR
refused "$origin/$thirty"
said "certificate"
