#!/bin/sh
# SPDX-License-Identifier: MIT
# An epoch from Google Cloud Storage is the local one, byte for byte, for each rank and epoch: by a
# prefix, a glob or braces, with an HMAC key or an access token, with keys of any characters.  Every
# request is signed, as the server finds by itself; sizes come from the listing.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/gcs.sh"

good_shards --shards 12 --samples 10
mkdir -p "world/buckets/my.bucket_1/the set/more"
cp shards/*.tar "world/buckets/my.bucket_1/the set"
echo x >"world/buckets/my.bucket_1/the set/readme.txt"
start_gcs

for credentials in key token; do
    if [ $credentials = key ]; then
        has_key GOOG1ONE SECRET/one+1
    else
        has_token TOKEN.one
    fi
    for source in "gs://my.bucket_1/the set/" "gs://my.bucket_1/the set/train-*.tar" \
        "gcs://my.bucket_1/the set/train-{000000..000011}.tar"; do
        forget
        arrives $gs "$source"
        not_asked '.tar", "status": [345]' # (there are no indexes)
        not_asked '"method": "HEAD"'
        [ $credentials = key ] || not_asked 'AWS4\|x-amz'
        [ $credentials = token ] || not_asked 'Bearer'
        n=$(requests '.tar", .*bytes=0-51')
        case $source in
        *{*) [ "$n" -ge 12 ] || fail "$n sizes were asked for" ;;
        *) [ "$n" -lt 12 ] || fail "$n sizes were asked for, though all were listed" ;;
        esac
    done
    # Through a proxy, libcurl makes all requests; on several pages.
    expect '{"keys": {"GOOG1ONE": {"secret": "SECRET/one+1"}}, "tokens": ["TOKEN.one"], "page": 5}'
    arrives $gs,proxy="$origin" "gs://my.bucket_1/the set/"
    expect "$usual"
done

# Each rank and epoch.
for rank in 0 1; do
    "$shufflefs" cat $quick shards epochs/1/rank-$rank-of-2.tar >want-rank.tar
    "$shufflefs" cat $quick $gs "gs://my.bucket_1/the set/" epochs/1/rank-$rank-of-2.tar >got-rank.tar
    same want-rank.tar got-rank.tar
done

# Where emulators are named.
STORAGE_EMULATOR_HOST=${origin#http://} arrives "gs://my.bucket_1/the set/"

# Keys of any characters; names in the mount are the keys.
rm -rf shards/*
mkdir -p "world/buckets/my.bucket_1/odd" odd
i=0
for key in "a b" "a+b" "a%20b" "a%b" "é日" "a&b=c" "a'b(c)!*" "a~b_c-d.e" "a#b" "a;b,c@d:e\$f" "[x]" 'a"<>^`b'; do
    i=$((i + 1))
    make_shards one --shards 1 --samples 5 --prefix "k$i-"
    cp one/train-000000.tar "odd/$key.tar"
    rm -r one
done
cp odd/* "world/buckets/my.bucket_1/odd"
"$shufflefs" cat $quick -o keys=asis odd epochs/0.tar >want.tar
for credentials in token key; do
    arrives $gs -o keys=asis gs://my.bucket_1/odd/
    unset CLOUDSDK_AUTH_ACCESS_TOKEN_FILE
done

# A bucket that is open to all: without credentials, and with such that are not for it.
expect '{"keys": {}, "public": ["my.bucket_1"]}'
forget
arrives $gs -o keys=asis,anonymous gs://my.bucket_1/odd/
unset GS_ACCESS_KEY_ID
arrives $gs -o keys=asis gs://my.bucket_1/odd/
not_asked 'authorization'
