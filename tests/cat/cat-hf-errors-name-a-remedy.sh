#!/bin/sh
# SPDX-License-Identifier: MIT
# What is wrong with a name, a token, a dataset, its revision or its terms on the Hugging Face Hub is said in
# one line with what to do.  No token and no redirect is shown.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/hf.sh"

good_shards
mkdir -p world/datasets/me/it/one/set
cp shards/*.tar world/datasets/me/it/one/set
start_hf

# refuses WORDS [OPTION...] SOURCE
refuses() {
    words=$1
    shift
    refused "$@"
    said "$words"
    keeps_secrets
}

write="write hf://datasets/OWNER/NAME/FOLDER/"
it=hf://datasets/me/it
refuses "'host:9' is not an endpoint" -o endpoint=host:9 $it/set/
export HF_ENDPOINT="$origin"
for name in hf://models/me/it/ hf://me/it/x.tar hf://buckets/me/it/x.tar; do
    refuses "'$name' is not a dataset of the Hugging Face Hub (its models, .*: $write" "$name"
done
refuses "lacks the owner or the name of a dataset: $write" hf://datasets/squad
refuses "lacks the owner or the name of a dataset: $write" "hf://datasets/*/it/"
refuses "has a character that the Hub does not allow in the name of an owner or a dataset: $write" "hf://datasets/me/i*t/x.tar"
refuses "has an '@' without a branch, a tag or a commit after it: $write" $it@/set/
refuses "has a folder without a name: $write" $it//set/
refuses "has no name of a dataset: write hf://datasets/OWNER/NAME/" hf:///x
refuses "HTTP 401 RepoNotFound: there is no dataset 'me/no' at $origin, or it is private and needs a token: .* set HF_TOKEN" \
    hf://datasets/me/no/
refuses "$it@v9: HTTP 404 RevisionNotFound: the dataset 'me/it' has no revision 'v9'" $it@v9/set/
refuses "HTTP 404 EntryNotFound: the dataset 'me/it' has no folder 'no' at the revision 'main'" $it/no/
refuses "no object matches $it/set/\*.tgz, only 3 other" "$it/set/*.tgz"
refuses "HTTP 404 EntryNotFound: the dataset 'me/it' has no file 'set' .*; to name all \*.tar of a folder" $it/set
refuses "3 shards are missing" "$it/set/test-{0..2}.tar"

expect '{"gated": ["TOKEN-2"], "tokens": ["TOKEN-1", "TOKEN-2"]}'
for source in $it/set/ $it/set/train-000000.tar; do
    refuses "HTTP 401 GatedRepo: the dataset 'me/it' is gated: accept its terms at $origin/datasets/me/it, and use a token" $source
    HF_TOKEN=TOKEN-1 refuses "HTTP 403 GatedRepo: .* is gated, and the token from HF_TOKEN may not read it: accept" $source
done
expect '{"tokens": ["TOKEN-1"]}'
HF_TOKEN=TOKEN-0 refuses "HTTP 401: the token from HF_TOKEN is not valid, or has expired: make a new one at $origin/settings/tokens" $it/set/
HF_TOKEN="TOKEN-1 x" refuses "HF_TOKEN holds a blank" $it/set/
HF_TOKEN=TOKEN-1 refuses "HTTP 404 RepoNotFound: .* the token from HF_TOKEN may not read it" hf://datasets/me/no/
echo "TOKEN-1 x" >odd
HF_TOKEN_PATH="$PWD/odd" refuses "the token from the file '$PWD/odd': it holds no token" $it/set/
expect '{"private": true, "tokens": ["TOKEN-1"]}'
HF_TOKEN=TOKEN-1 HF_HUB_DISABLE_IMPLICIT_TOKEN=1 refuses "or it is private and needs a token" $it/set/
expect '{"disabled": true}'
refuses "HTTP 403: the Hub has disabled the dataset 'me/it'" $it/set/
expect '{"broken": {"/api/datasets/me/it/revision/main": 500}}'
refuses "$it: HTTP 500" -o retries=0 $it/set/

# Somebody else's server, and one that sends elsewhere.
echo '<html>' >world/index.html
start_origin world
refuses "HTTP 404: $origin knows no revision 'main' of the dataset 'me/it': .* endpoint=" -o endpoint=$origin $it/set/
start_origin world 0 hf.py
expect '{"moved": "http://127.0.0.1:9"}'
HF_TOKEN=TOKEN-1 refuses "HTTP 301 redirects to http://127.0.0.1:9/api/datasets/me/it/.*, which is not the Hub at $origin: check endpoint=" \
    -o endpoint=$origin $it/set/
