#!/bin/sh
# SPDX-License-Identifier: MIT
# A SAS or token for Azure that expires in the middle of an epoch costs nothing if there is another by
# then, in its file or from the machine's identity; otherwise the error names it.  A blob that is
# replaced meanwhile is an error that says so.  No secret is shown.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/azure.sh"

make_alike 12 --samples 30 --bytes 100000
opts="-o retries=0,lanes=2,buffer=64K,budget=10M,log-level=info,read-timeout=20s"
"$shufflefs" cat $opts data epochs/0.tar >want.tar
mkdir -p world/buckets
ln -s "$PWD/data" world/buckets/con
start_azure

# sig_of FILE: the signature of a SAS, decoded.
sig_of() {
    "$python" -c 'import sys, urllib.parse; print(urllib.parse.parse_qs(open(sys.argv[1]).read().strip())["sig"][0])' "$1"
}

# ends STATUS: the epoch does.
ends() {
    finish "$1"
    not_said 'sig=[^.]\|TOKEN\|SECRET'
    not_said "$(sig_of sas)"
}

# A file, written anew, and the old SAS is revoked.
has_sas con 3600
old=$(sig_of sas)
begin $az,sas-file=sas az://con/
has_sas con 7200
expect "{\"revoked\": [\"$old\"]}"
ends 0
same want.tar got.tar
asked '"status": 403'

# Nobody has renewed it.
begin $az,sas-file=sas az://con/
expect "{\"revoked\": [\"$(sig_of sas)\"]}"
ends 1
said "HTTP 403 AuthenticationFailed: the SAS from the file '.*sas' is not valid"

# The file is read again before the SAS in it expires.
expect "$usual"
has_sas con 8
forget
begin $az,sas-file=sas az://con/
has_sas con 3600
new=$(sed 's/.*sig=//' sas)
# more: has the new one been sent, now that some more was read?
more() {
    head -c 100000 <&3 >>got.tar
    grep -q -F "$new" "origin-log.$n_origins"
}
wait_until 30 more
ends 0
same want.tar got.tar
not_asked '"status": 403'

# The identity of a machine says when its tokens expire.
AZURE_POD_IDENTITY_AUTHORITY_HOST=$origin
expect '{"tokens": ["TOKEN.three", "TOKEN.four"], "grant": ["TOKEN.three", 4]}'
forget
begin $az az://con/
expect '{"tokens": ["TOKEN.three", "TOKEN.four"], "grant": ["TOKEN.four", 3600]}'
n=$(grep -c metadata/identity "origin-log.$n_origins") # that may have got the old one
wait_until 20 sh -c "[ \$(grep -c metadata/identity 'origin-log.$n_origins') -gt $n ] ||
    grep -q 'Bearer TOKEN.four' 'origin-log.$n_origins'"
expect '{"tokens": ["TOKEN.four"], "grant": ["TOKEN.four", 3600]}'
ends 0
same want.tar got.tar
asked 'Bearer TOKEN.four'

# Replaced blobs of the same size.
export AZURE_STORAGE_KEY=$azure_key
begin $az az://con/
for shard in data/*.tar; do
    cp "$shard" new
    printf x | dd of=new bs=1 seek=700 conv=notrunc status=none
    mv new "$shard"
done
ends 1
said "the object changed since the mount began: its ETag was"
n=$(wc -c <got.tar)
cmp -n "$n" want.tar got.tar || fail "wrong bytes before the error"
