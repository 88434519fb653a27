#!/bin/sh
# SPDX-License-Identifier: MIT
# A command that prints a token with the time at which it expires, in the JSON of az, gcloud, kubectl or
# Bazel's helpers, runs again before that, while no server has refused the token: for https, and for
# the stores that take tokens.  A file may hold the same.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/gcs.sh"
requires_fuse

good_shards --samples 10
mkdir world/buckets/bucket
ln -s "$PWD/shards" world/buckets/bucket/set
start_origin shards
http=$origin
http_log=origin-log.$n_origins
start_gcs

# serve TOKEN: what the servers want from now on.
serve() {
    echo "$1" >shards/new
    mv shards/new shards/token
    expect "{\"tokens\": [\"$1\"]}"
}

# prints PYTHON: what the command does: t is the token of the file `next`, soon a time 4 s from now.
prints() {
    cat >program.py <<END
import json, time
t = open("next").read().strip()
soon = int(time.time()) + 4
date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(soon))
open("runs", "a").write("run\n")
print(json.dumps($1))
END
}

# renews OPTION [-o OPTIONS] URL: in a mount, the command runs again by itself.
renews() {
    echo SECRET1 >next
    serve SECRET1
    option=$1
    shift
    mount_ds $quick -o index-cache=no -o "$option=$python program.py" "$@" mnt
    cat mnt/epochs/1.tar >got.tar
    : >runs
    echo SECRET2 >next
    wait_until 20 test -s runs
    # (It has run, and what it printed may not be read yet.)
    n=$(wc -l <runs)
    wait_until 20 sh -c "[ \$(wc -l <runs) -gt $n ]"
    serve SECRET2
    same want.tar mnt/epochs/0.tar
    ! grep -h '"status": 40[13]' "$http_log" "origin-log.$n_origins" || fail "a token was refused"
    ! grep 'SECRET\|HTTP 40[13]' mnt/.shufflefs/errors || fail "a refusal, or a token"
    umount_ds mnt
}

prints '{"access_token": t, "expires_in": 4}'
renews bearer-token-command "$http/bearer,file=token,1/$three"
prints '{"accessToken": t, "expires_on": soon, "tokenType": "Bearer"}'
renews bearer-token-command -o endpoint=$origin gs://bucket/set/
prints '{"headers": {"Authorization": ["Bearer " + t]}, "expires": date}'
renews header-command "$http/bearer,file=token,2/$three"

# Files, and what is of no use.
serve SECRET1
echo '{"kind": "ExecCredential", "status": {"token": "SECRET1", "expirationTimestamp": "2026-01-01T00:00:00Z"}}' >file
arrives -o bearer-token-file=file "$http/bearer,file=token,3/$three"
arrives -o endpoint=$origin,bearer-token-file=file gs://bucket/set/
arrives -o header=@file "$http/bearer,file=token,4/$three"
for source in "$http/bearer,file=token,5/$three" gs://bucket/set/; do
    refused -o endpoint=$origin,bearer-token-command='echo "{\"AccessKeyId\": \"SECRET3\"}"' "$source"
    said "bearer-token-command.*no token is in its JSON: one would be a string at access_token"
    not_said SECRET
done
