#!/bin/sh
# SPDX-License-Identifier: MIT
# In the middle of an epoch from the Hugging Face Hub, all signed URLs of its storage expire, and the token is
# replaced in its file, by a rename, in place or by a link's new target: nothing is lost, and the storage
# never sees a token.  URLs that are good only once cost more requests.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/hf.sh"

make_shards data --shards 12 --samples 30 --bytes 100000
opts="-o lanes=2,buffer=64K,budget=10M"
"$shufflefs" cat $opts data epochs/0.tar >want.tar
mkdir -p world/datasets/me/it/one
cp data/* world/datasets/me/it/one
start_hf
expect '{"tokens": ["TOKEN-1"], "private": true}'
mkdir -p "$HOME/.cache/huggingface" ..data
echo TOKEN-1 >token
ln -s token now
ln -s "$PWD/now" "$HOME/.cache/huggingface/token"
file="$HOME/.cache/huggingface/token"
shards="hf://datasets/me/it/train-{000000..000011}.tar"

n=1
for how in link rename write; do
    begin $hf "$shards"
    n=$((n + 1))
    echo "TOKEN-$n" >"token$n"
    case $how in
    link)
        ln -s "token$n" new
        mv -T new now
        ;;
    rename)
        cp "token$n" new
        mv -T new now
        ;;
    write) cat "token$n" >now ;;
    esac
    expect '{"tokens": ["TOKEN-'$n'"], "private": true, "signature": "'$n'"}'
    finish 0
    same want.tar got.tar
    not_said .
    keeps_secrets
    asked '"storage".*"status": 403'
    asked "Bearer TOKEN-$n"
done

# A signed URL that is good once.
forget
expect '{"tokens": ["TOKEN-'$n'"], "uses": 1}'
arrives $opts $hf "$shards"
not_said .
keeps_secrets
asked '"storage".*"status": 403'

# The commit goes away, because somebody rewrites the history.
opts="$opts -o retries=1"
begin $hf "$shards"
mv world/datasets/me/it/one world/datasets/me/it/two
expect '{"tokens": ["TOKEN-'$n'"], "signature": "gone", "revisions": {"main": "two"}}'
finish 1
said "HTTP 404 RevisionNotFound: the commit that the revision 'main' was when the mount began has gone"
keeps_secrets

# One that never is.
expect '{"tokens": ["TOKEN-'$n'"], "uses": 0, "revisions": {"main": "two"}}'
refused -o retries=1 $hf hf://datasets/me/it/train-000000.tar
said "HTTP 403 from the storage that the Hub redirects to"
keeps_secrets
