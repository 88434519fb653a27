#!/bin/sh
# SPDX-License-Identifier: MIT
# What is wrong with a token, a bucket, a prefix or an endpoint of AIStore is said in one line with
# what to do.  No token and no redirect is shown.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/ais.sh"

good_shards
mkdir -p world/buckets/bucket/set
cp shards/*.tar world/buckets/bucket/set
echo x >world/buckets/bucket/set/x.txt
start_ais

# refuses WORDS [OPTION...] SOURCE
refuses() {
    words=$1
    shift
    refused "$@"
    said "$words"
    keeps_secrets
}

refuses "ais:// needs the URL of a proxy of the cluster: set endpoint= or AIS_ENDPOINT" ais://bucket/set/
refuses "'host:9' is not an endpoint" -o endpoint=host:9 ais://bucket/set/
export AIS_ENDPOINT="$origin"
refuses "'A/b' is not a provider" -o provider=A/b ais://bucket/set/
refuses "'ais:///x' has no name of a bucket: write ais://bucket/" ais:///x
refuses "HTTP 404 ErrBckNotFound: there is no bucket 'missing' at $origin" ais://missing/
refuses "there is no bucket 'bucket' of the provider gcp" -o provider=gcp ais://bucket/
refuses "there is no bucket 'missing'" ais://missing/x.tar
refuses "nothing is below ais://bucket/no/: check the name" ais://bucket/no/
refuses "no object matches ais://bucket/set/\*.tgz" "ais://bucket/set/*.tgz"
refuses "HTTP 404 ErrNotFound: no such object; to name all \*.tar below a prefix" ais://bucket/set
refuses "3 shards are missing" "ais://bucket/set/test-{0..2}.tar"

expect '{"tokens": ["TOKEN-1"], "denied": ["bucket"]}'
refuses "HTTP 401 ErrInvalidToken: the cluster wants a token: set AIS_AUTHN_TOKEN" ais://bucket/set/
refuses "the cluster wants a token" ais://bucket/set/train-000000.tar
export AIS_AUTHN_TOKEN=TOKEN-0
refuses "the token from AIS_AUTHN_TOKEN is not valid, or has expired" ais://bucket/set/
refuses "the token from AIS_AUTHN_TOKEN is not valid" ais://bucket/set/train-000000.tar
AIS_AUTHN_TOKEN=TOKEN-1 refuses "HTTP 403 ErrNoPermissions: .* may not list the bucket 'bucket'" ais://bucket/set/
AIS_AUTHN_TOKEN=TOKEN-1 refuses "may not read objects of the bucket" ais://bucket/set/train-000000.tar
AIS_AUTHN_TOKEN="TOKEN-1 x" refuses "AIS_AUTHN_TOKEN holds a blank" ais://bucket/set/
unset AIS_AUTHN_TOKEN
AIS_AUTHN_TOKEN_FILE="$PWD/none" refuses "the token from the file '$PWD/none': No such file" ais://bucket/set/
echo '{"token": "TOKEN-1' >half
AIS_AUTHN_TOKEN_FILE="$PWD/half" refuses "half': it holds no token" ais://bucket/set/
