#!/bin/sh
# SPDX-License-Identifier: MIT
# Credentials that expire in the middle of an epoch cost nothing if there are others by then: in
# the file where they were, from a program, or before they expire.  Otherwise the error names
# them.  No secret is ever shown.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/s3.sh"

make_alike 12 --samples 30 --bytes 100000
opts="-o retries=0,lanes=2,buffer=64K,budget=10M,log-level=info,read-timeout=20s"
"$shufflefs" cat $opts data epochs/0.tar >want.tar
mkdir -p world/buckets
ln -s "$PWD/data" world/buckets/bucket
start_s3

# good ID STATE [ID STATE]: the keys that the server has, each expired or not.
good() {
    keys=""
    while [ $# -gt 0 ]; do
        keys="$keys${keys:+, }\"$1\": {\"secret\": \"SECRET-$1\", \"token\": \"TOKEN-$1\", \"expired\": $2}"
        shift 2
    done
    expect "{\"keys\": {$keys}}"
}

# ends STATUS: the epoch does.
ends() {
    finish "$1"
    not_said 'SECRET\|TOKEN'
}

# A file of credentials, written anew.
good ONE false
has_keys ONE SECRET-ONE TOKEN-ONE
begin $s3 s3://bucket/
has_keys TWO SECRET-TWO TOKEN-TWO
good ONE true TWO false
ends 0
same want.tar got.tar
asked 'Credential=TWO'
asked '"status": 400'

# Nobody has renewed them.
begin $s3 s3://bucket/
good TWO true
ends 1
said "HTTP 400 ExpiredToken: the session token from profile 'default'"

# A program, which says when they expire: they are renewed before.
rm "$HOME/.aws/credentials"
printf '[default]\ncredential_process = %s/program\n' "$PWD" >"$HOME/.aws/config"
cat >program <<'END'
#!/bin/sh
cd "$(dirname "$0")"
echo run >>runs
cat answer
END
chmod +x program
# says ID SECONDS
says() {
    printf '{"Version": 1, "AccessKeyId": "%s", "SecretAccessKey": "SECRET-%s", "SessionToken": "TOKEN-%s", "Expiration": "%s"}' \
        "$1" "$1" "$1" "$(date -u -d "+$2 seconds" +%Y-%m-%dT%H:%M:%SZ)" >new-answer
    mv new-answer answer
}
good ONE false TWO false
says ONE 4
forget
begin $s3 s3://bucket/
says TWO 3600
wait_until 20 sh -c '[ "$(wc -l <runs)" -ge 2 ]'
good ONE true TWO false
ends 0
same want.tar got.tar
asked 'Credential=TWO'
