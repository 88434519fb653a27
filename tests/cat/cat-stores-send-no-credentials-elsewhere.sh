#!/bin/sh
# SPDX-License-Identifier: MIT
# Where a store's server redirects to another, that one is asked without any credentials: neither
# signature nor token nor SAS, nor a header that goes with them.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/s3.sh"
. "$top/tests/lib/gcs.sh"
. "$top/tests/lib/azure.sh"

good_shards
mkdir -p elsewhere/buckets
ln -s "$PWD/shards" world/buckets/con
ln -s "$PWD/shards" elsewhere/buckets/con
echo '{"public": ["con"], "keys": {}}' >elsewhere/server.json

# redirects SERVER: sets $near, which redirects to another one.
redirects() {
    start_origin world 0 "$1"
    near=$origin
    start_origin elsewhere 0 "$1"
    expect "{\"keys\": {\"AKIDONE\": {\"secret\": \"SECRET/one+1\", \"token\": \"TOKEN\"}}, \"tokens\": [\"TOKEN.one\"], \"elsewhere\": \"$origin\"}"
}

# bare: the other one got the requests for bytes, and none of them had more than these need.
bare() {
    asked '"status": 206'
    not_asked -i 'authorization\|token\|x-amz\|x-goog\|x-ms\|sig=\|SECRET'
    forget
}

not_asked() {
    ! grep "$1" -e "$2" "origin-log.$n_origins" || fail "there was a request with '$2'"
}

redirects s3.py
has_keys AKIDONE SECRET/one+1 TOKEN
arrives -o endpoint="$near" s3://con/
bare
arrives -o endpoint="$near" "s3://con/train-{000000..000002}.tar"
bare

redirects gcs.py
has_token TOKEN.one
arrives -o endpoint="$near" gs://con/
bare

redirects azure.py
for source in az://con/ "az://con/train-{000000..000002}.tar"; do
    AZURE_STORAGE_KEY=$azure_key arrives -o endpoint="$near/acct" "$source"
    bare
    AZURE_STORAGE_TOKEN=TOKEN.one arrives -o endpoint="$near/acct" "$source"
    bare
    AZURE_STORAGE_SAS_TOKEN="$(a_sas con 3600)" arrives -o endpoint="$near/acct" "$source"
    bare
done
