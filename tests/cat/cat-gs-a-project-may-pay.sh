#!/bin/sh
# SPDX-License-Identifier: MIT
# A bucket of Google Cloud Storage whose requester pays is read if user-project= names the project: it is in every
# request, and signed.  Without it, one line says what to set.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/gcs.sh"

good_shards --samples 10
mkdir -p world/buckets/bucket
ln -s "$PWD/shards" world/buckets/bucket/set
start_gcs
expect '{"keys": {"GOOG1ONE": {"secret": "SECRET/one+1"}}, "tokens": ["TOKEN.one"], "payers": {"bucket": "my project/1"}, "page": 2}'
for credentials in key token; do
    if [ $credentials = key ]; then
        has_key GOOG1ONE SECRET/one+1
    else
        has_token TOKEN.one
    fi
    for source in gs://bucket/set/ "gs://bucket/set/$three"; do
        forget
        arrives $gs,user-project="my project/1" "$source"
        not_asked '"status": [45]'
        refused $gs "$source"
        said "HTTP 400 UserProjectMissing: the requester pays for the bucket 'bucket': set user-project="
        refused $gs,user-project=other "$source"
        said "HTTP 403"
    done
done
