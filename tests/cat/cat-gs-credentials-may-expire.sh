#!/bin/sh
# SPDX-License-Identifier: MIT
# A token for Google Cloud Storage that expires in the middle of an epoch costs nothing if there is
# another by then, in its file or from the metadata server; otherwise the error names it.  An object
# that is replaced is another generation, even if its bytes and its tag are the same.  No secret is
# shown.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/gcs.sh"

make_alike 12 --samples 30 --bytes 100000
opts="-o retries=0,lanes=2,buffer=64K,budget=10M,log-level=info,read-timeout=20s"
"$shufflefs" cat $opts data epochs/0.tar >want.tar
mkdir -p world/buckets
ln -s "$PWD/data" world/buckets/bucket
start_gcs

# ends STATUS: the epoch does.
ends() {
    finish "$1"
    not_said 'SECRET\|TOKEN\|REFRESH'
}

# A file, written anew.
has_token TOKEN.one
begin $gs gs://bucket/
has_token TOKEN.two
expect '{"tokens": ["TOKEN.two"]}'
ends 0
same want.tar got.tar
asked 'Bearer TOKEN.two'
asked '"status": 401'

# Nobody has renewed it.
begin $gs gs://bucket/
expect '{"tokens": []}'
ends 1
said "HTTP 401 AuthenticationRequired: the access token from the file '.*token' has expired or is not valid: get a new one"

# A command gives a token, and another one when that is refused.
unset CLOUDSDK_AUTH_ACCESS_TOKEN_FILE
cat >command <<'END'
echo run >>runs
cat token
END
has_token TOKEN.five
expect '{"tokens": ["TOKEN.five"]}'
begin $gs,bearer-token-command="sh command" gs://bucket/
has_token TOKEN.six
expect '{"tokens": ["TOKEN.six"]}'
ends 0
same want.tar got.tar
asked 'Bearer TOKEN.six'
# (One is for http URLs.)
[ "$(wc -l <runs)" -le 4 ] || fail "it ran $(wc -l <runs) times"
GOOGLE_OAUTH_ACCESS_TOKEN=TOKEN.old begin $gs,bearer-token-file=token gs://bucket/
ends 0

# The metadata server says when they expire: they are renewed before.
unset CLOUDSDK_AUTH_ACCESS_TOKEN_FILE NO_GCE_CHECK GOOGLE_OAUTH_ACCESS_TOKEN
export GCE_METADATA_HOST=${origin#http://}
expect '{"tokens": ["TOKEN.three", "TOKEN.four"], "grant": ["TOKEN.three", 4]}'
forget
begin $gs gs://bucket/
expect '{"tokens": ["TOKEN.three", "TOKEN.four"], "grant": ["TOKEN.four", 3600]}'
wait_until 20 sh -c "[ \$(grep -c computeMetadata 'origin-log.$n_origins') -ge 2 ]"
expect '{"tokens": ["TOKEN.four"], "grant": ["TOKEN.four", 3600]}'
ends 0
same want.tar got.tar
asked 'Bearer TOKEN.four'

# Another generation of the same bytes.
begin $gs gs://bucket/
touch -d '1 hour ago' data/*.tar
ends 1
said "the object changed since the mount began: its ETag was \"generation [0-9]*\", is \"generation [0-9]*\""
n=$(wc -c <got.tar)
cmp -n "$n" want.tar got.tar || fail "wrong bytes before the error"
