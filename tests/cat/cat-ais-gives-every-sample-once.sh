#!/bin/sh
# SPDX-License-Identifier: MIT
# An epoch from AIStore is the local one, byte for byte: by a prefix, a glob or braces, over our
# own connections and over libcurl, with keys of any characters, page by page.  The proxy is asked
# once where an object is; sizes come from the listing.  No token goes to a target.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/ais.sh"

good_shards --shards 12 --samples 10
mkdir -p "world/buckets/bucket/the set/more"
cp shards/*.tar "world/buckets/bucket/the set"
echo x >"world/buckets/bucket/the set/readme.txt"
start_ais
expect '{"tokens": ["TOKEN-1"], "page": 5}'
export AIS_AUTHN_TOKEN=TOKEN-1

# By whole shards, each of which is one part; and by default.
cp want.tar default.tar
"$shufflefs" cat $quick,segment=shard shards epochs/0.tar >whole.tar

for wire in ours libcurl; do
    for source in "ais://bucket/the set/" "ais://bucket/the set/train-*.tar" \
        "ais://bucket/the set/train-{000000..000011}.tar"; do
        forget
        cp whole.tar want.tar
        arrives -o segment=shard $ais "$source"
        keeps_secrets
        not_asked '\.tar?[^"]*", "status": [45]' # (there are no indexes)
        asked '"proxy".*"authorization": "Bearer TOKEN-1"'
        n=$(requests '\.tar", "status": 301')
        [ "$n" -ge 12 ] && [ "$n" -lt 24 ] || fail "the proxy was asked $n times for 12 objects"
        n=$(requests '\.tar?.*bytes=0-51')
        case $source in
        *{*) [ "$n" -ge 12 ] || fail "$n sizes were asked for" ;;
        *) [ "$n" -lt 12 ] || fail "$n sizes were asked for, though all were listed" ;;
        esac
        case $source in
        *{*) ;;
        *) [ "$(requests '"GET", "path": "/v1/buckets')" = 3 ] || fail "not three pages" ;;
        esac
        cp default.tar want.tar
        arrives $ais "$source"
        keeps_secrets
    done
    # Through a proxy of HTTP, libcurl makes all requests.  Passwords of .netrc are not for AIStore.
    echo "machine 127.0.0.1 login x password y" >"$HOME/.netrc"
    ais="$ais,proxy=$origin"
done
not_asked 'Basic'

# Where versions are off, checksums count; where those are of ranges, they do not.
unset AIS_AUTHN_TOKEN
export AIS_ENDPOINT="$origin"
for like in '"versioning": false' '"enable_read_range": true' '"checksum": "none"'; do
    expect "{\"buckets\": {\"bucket\": {$like}}}"
    arrives "ais://bucket/the set/"
    not_said .
    arrives "ais://bucket/the set/train-{000000..000011}.tar"
    not_said .
done
expect '{"buckets": {"bucket": {"versioning": false, "checksum": "none"}}}'
arrives "ais://bucket/the set/"
said "will not notice if a shard changes and keeps its size"

# A bucket in a cloud.
expect '{"buckets": {"bucket": {"provider": "aws"}}}'
forget
arrives -o provider=aws "ais://bucket/the set/"
asked '\.tar?provider=aws&pid='

# Keys of any characters; names in the mount are the keys.
rm -rf want shards/* "world/buckets/bucket/the set"
mkdir -p "world/buckets/bucket/odd" odd
i=0
for key in "a b" "a+b" "a%20b" "a%b" "é日" "a&b=c" "a'b(c)!*" "a#b" "a;b,c@d:e\$f" "[x]" 'a"<>^`b'; do
    i=$((i + 1))
    make_shards one --shards 1 --samples 5 --prefix "k$i-"
    cp one/train-000000.tar "odd/$key.tar"
    rm -r one
done
cp odd/* "world/buckets/bucket/odd"
expect '{}'
"$shufflefs" cat $quick -o keys=asis odd epochs/0.tar >want.tar
arrives -o keys=asis ais://bucket/odd/
