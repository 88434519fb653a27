#!/bin/sh
# SPDX-License-Identifier: MIT
# An epoch from S3 is the local one, byte for byte: by a prefix, a glob or braces, over our own
# connections and over libcurl, with keys of any characters.  Every request is signed, as the
# server finds by itself.  Sizes come from the listing: only two shards are asked for theirs.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/s3.sh"

good_shards --shards 12 --samples 10
mkdir -p "world/buckets/bucket/the set/more"
cp shards/*.tar "world/buckets/bucket/the set"
echo x >"world/buckets/bucket/the set/readme.txt"
start_s3
has_keys AKIDONE SECRET/one+1

for wire in ours libcurl; do
    for source in "s3://bucket/the set/" "s3://bucket/the set/train-*.tar" \
        "s3://bucket/the set/train-00000?.tar s3://bucket/the set/train-0000[1]*.tar" \
        "s3://bucket/the set/train-{000000..000011}.tar"; do
        forget
        case $source in
        *" s3:"*) arrives $s3 "${source%% s3:*}" "s3:${source##* s3:}" ;;
        *) arrives $s3 "$source" ;;
        esac
        not_asked '.tar", "status": [345]' # (there are no indexes)
        not_asked '"method": "HEAD"'
        not_asked 'Basic'
        asked 'AWS4-HMAC-SHA256'
        n=$(requests '.tar", .*bytes=0-51')
        case $source in
        *{*) [ "$n" -ge 12 ] || fail "$n sizes were asked for" ;;
        *) [ "$n" -lt 12 ] || fail "$n sizes were asked for, though all were listed" ;;
        esac
    done
    # Through a proxy, libcurl makes all requests.  Passwords of .netrc are not for S3.
    expect '{"keys": {"AKIDONE": {"secret": "SECRET/one+1"}}, "page": 5}'
    echo "machine 127.0.0.1 login x password y" >"$HOME/.netrc"
    s3="$s3,proxy=$origin"
done
s3="-o endpoint=$origin"

# Keys of any characters; names in the mount are the keys.
rm -rf want shards/* "world/buckets/bucket/the set"
mkdir -p "world/buckets/bucket/odd" odd
i=0
for key in "a b" "a+b" "a%20b" "a%b" "é日" "a&b=c" "a'b(c)!*" "a~b_c-d.e" "a#b" "a;b,c@d:e\$f" "[x]" 'a"<>^`b'; do
    i=$((i + 1))
    make_shards one --shards 1 --samples 5 --prefix "k$i-"
    cp one/train-000000.tar "odd/$key.tar"
    rm -r one
done
cp odd/* "world/buckets/bucket/odd"
"$shufflefs" cat $quick -o keys=asis odd epochs/0.tar >want.tar
arrives $s3 -o keys=asis s3://bucket/odd/
not_asked '.tar", "status": [345]'
cat_of $s3 "s3://bucket/odd/a%20b.tar" "s3://bucket/odd/a b.tar" epochs/0.tar
[ $status = 0 ] || fail "exit status $status"

# A bucket that is open to all.
expect '{"keys": {}, "public": ["bucket"]}'
forget
arrives $s3 -o keys=asis,anonymous s3://bucket/odd/
not_asked 'authorization'
# One whose requester pays.
expect '{"keys": {"AKIDONE": {"secret": "SECRET/one+1"}}, "payers": ["bucket"]}'
arrives $s3 -o keys=asis,requester-pays s3://bucket/odd/
