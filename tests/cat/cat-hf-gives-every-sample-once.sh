#!/bin/sh
# SPDX-License-Identifier: MIT
# An epoch of a dataset of the Hugging Face Hub is the local one, byte for byte, and ranks share it: by a
# folder, a glob or braces, over our own connections and over libcurl, page by page.  Sizes come from the
# listing, also of names in braces; the Hub is asked once where a shard is.  A branch that moves changes
# nothing.  No token goes to the storage.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/hf.sh"

good_shards --shards 12 --samples 10
one=world/datasets/me/my.set/one
mkdir -p "$one/the set/more"
cp shards/*.tar "$one/the set"
echo x >"$one/the set/readme.txt"
start_hf
expect '{"tokens": ["TOKEN-1"], "private": true, "page": 5}'
export HF_TOKEN=TOKEN-1

set="hf://datasets/me/my.set"
# By whole shards, each of which is one part; and by default.
cp want.tar default.tar
"$shufflefs" cat $quick,segment=shard shards epochs/0.tar >whole.tar

for wire in ours libcurl; do
    for source in "$set/the set/" "$set" "$set@main/the set/train-*.tar" "$set/**/train-0*.tar" \
        "$set/the set/train-{000000..000011}.tar"; do
        forget
        cp whole.tar want.tar
        arrives -o segment=shard $hf "$source"
        keeps_secrets
        not_asked '\.tar", "status": [45]' # (there are no indexes)
        asked '"hub".*"authorization": "Bearer TOKEN-1"'
        [ "$(requests '/revision/')" = 1 ] || fail "the revision was asked for more than once"
        n=$(requests '\.tar", "status": 302')
        [ "$n" -ge 12 ] && [ "$n" -lt 24 ] || fail "the Hub was asked $n times for 12 shards"
        n=$(requests '"storage".*bytes=0-51')
        [ "$n" -lt 12 ] || fail "$n sizes were asked for, though all were listed"
        [ "$(requests '/tree/')" -ge 3 ] || fail "fewer than three pages"
        cp default.tar want.tar
        arrives $hf "$source"
        keeps_secrets
    done
    # Through a proxy of HTTP, libcurl makes all requests.  Passwords of .netrc are not for the Hub.
    echo "machine 127.0.0.1 login x password y" >"$HOME/.netrc"
    hf="$hf,proxy=$origin"
done
not_asked 'Basic'

# Of a large folder, no more is listed than it takes to find what was named.
forget
cat_of $hf "$set/the set/train-{000000..000002}.tar" epochs/0.tar
[ $status = 0 ] || fail "exit status $status"
[ "$(requests '/tree/')" = 1 ] || fail "more than one page"

# Epochs and ranks.
export HF_ENDPOINT="$origin"
for path in epochs/1.tar epochs/0/rank-0-of-2.tar epochs/0/rank-1-of-2.tar; do
    "$shufflefs" cat $quick shards "$path" >want.part
    "$shufflefs" cat $quick "$set/the set/" "$path" >got.part
    same want.part got.part
done

# A file that comes from the Hub itself, and a dataset that was renamed.
expect '{"direct": true}'
unset HF_TOKEN
forget
arrives "$set/the set/"
not_said .
not_asked '"node": "storage"'
expect '{"renamed": {"you/old": "me/my.set"}}'
arrives "hf://datasets/you/old/the set/"
arrives "hf://datasets/you/old/the set/train-{000000..000011}.tar"
not_said .

# Revisions: a tag, a commit, and names with a slash in them.
mkdir -p world/datasets/me/my.set/two
cp shards/*.tar world/datasets/me/my.set/two
sha=$(printf two | sha1sum | cut -c 1-40)
expect '{"revisions": {"main": "one", "v2": "two", "refs/convert/parquet": "two", "a/b": "two"}}'
for revision in v2 "$sha" refs%2Fconvert%2Fparquet refs/convert/parquet a%2Fb; do
    forget
    arrives "$set@$revision/"
    not_said .
    asked "/resolve/$sha/train-000000.tar"
done
not_asked "/revision/$sha"

# The branch moves in the middle of an epoch.
expect '{}'
forget
opts="$quick"
begin "$set/the set/train-{000000..000011}.tar"
rm -r world/datasets/me/my.set/two/*
expect '{"revisions": {"main": "two"}}'
finish 0
same want.tar got.tar

# Keys of any characters; names in the mount are the keys.
rm -rf want shards/* world/datasets/me/my.set/one/*
mkdir -p odd world/datasets/me/my.set/one/odd
i=0
for key in "a b" "a+b" "a%20b" "a%b" "é日" "a&b=c" "a'b(c)!*" "a#b" "a;b,c@d:e\$f" "[x]" 'a"<>^`b'; do
    i=$((i + 1))
    make_shards one --shards 1 --samples 5 --prefix "k$i-"
    cp one/train-000000.tar "odd/$key.tar"
    rm -r one
done
cp odd/* world/datasets/me/my.set/one/odd
expect '{}'
"$shufflefs" cat $quick -o keys=asis odd epochs/0.tar >want.tar
arrives -o keys=asis "$set/odd/"
