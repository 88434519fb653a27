#!/bin/sh
# SPDX-License-Identifier: MIT
# An epoch from Azure is the local one, byte for byte, for each rank and epoch: by a prefix, a glob or
# braces, with the account's key, a SAS, a token, or without any, over our own connections and over
# libcurl, with keys of any characters.  The server checks each request; sizes come from the listing.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/azure.sh"

good_shards --shards 12 --samples 10
mkdir -p "world/buckets/con-1/the set/more" world/buckets/open
cp shards/*.tar "world/buckets/con-1/the set"
echo x >"world/buckets/con-1/the set/readme.txt"
mkdir "world/buckets/con-1/the set/a"
: >"world/buckets/con-1/the set/a/folder.tar"
start_azure

# by WHAT: credentials of that kind, and only those.
by() {
    unset AZURE_STORAGE_KEY AZURE_STORAGE_SAS_TOKEN AZURE_STORAGE_TOKEN AZURE_STORAGE_CONNECTION_STRING
    az="-o endpoint=$origin/acct"
    case $1 in
    key) export AZURE_STORAGE_KEY=$azure_key ;;
    sas) AZURE_STORAGE_SAS_TOKEN="?$(a_sas con-1 3600)" && export AZURE_STORAGE_SAS_TOKEN ;;
    file) has_sas con-1 3600 && az="$az,sas-file=sas" ;;
    token) export AZURE_STORAGE_TOKEN=TOKEN.one ;;
    string)
        az="-o log-level=info"
        export AZURE_STORAGE_CONNECTION_STRING="DefaultEndpointsProtocol=http;AccountName=acct;AccountKey=$azure_key;BlobEndpoint=$origin/acct;"
        ;;
    esac
}

expect '{"tokens": ["TOKEN.one"], "folders": ["the set/a/folder.tar"]}'
for credentials in key sas file token string; do
    by $credentials
    for source in "az://con-1/the set/" "abfs://con-1/the set/train-*.tar" \
        "az://con-1/the set/train-{000000..000011}.tar"; do
        forget
        arrives $az "$source"
        not_asked '.tar[?"].*"status": [345]' # (there are no indexes)
        not_asked '"method": "HEAD"'
        case $credentials in
        key | string) asked 'SharedKey acct:' ;;
        sas | file) asked '[?]sv=.*sig=' ;;
        token) asked 'Bearer' ;;
        esac
        n=$(requests '.tar[?"].*bytes=0-51')
        case $source in
        *{*) [ "$n" -ge 12 ] || fail "$n sizes were asked for" ;;
        *) [ "$n" -lt 12 ] || fail "$n sizes were asked for, though all were listed" ;;
        esac
    done
    # Through a proxy, libcurl makes all requests; on several pages.
    expect '{"tokens": ["TOKEN.one"], "folders": ["the set/a/folder.tar"], "page": 5}'
    arrives $az -o proxy="$origin" "az://con-1/the set/"
    expect '{"tokens": ["TOKEN.one"], "folders": ["the set/a/folder.tar"]}'
done
by key

# Each rank and epoch.
for rank in 0 1; do
    "$shufflefs" cat $quick shards epochs/1/rank-$rank-of-2.tar >want-rank.tar
    "$shufflefs" cat $quick $az "az://con-1/the set/" epochs/1/rank-$rank-of-2.tar >got-rank.tar
    same want-rank.tar got-rank.tar
done

# Keys of any characters; names in the mount are the keys.
rm -rf shards/*
mkdir -p "world/buckets/con-1/odd" odd
i=0
for key in "a b" "a+b" "a%20b" "a%b" "é日" "a&b=c" "a'b(c)!*" "a~b_c-d.e" "a#b" "a;b,c@d:e\$f" "[x]" 'a"<>^`b'; do
    i=$((i + 1))
    make_shards one --shards 1 --samples 5 --prefix "k$i-"
    cp one/train-000000.tar "odd/$key.tar"
    rm -r one
done
cp odd/* "world/buckets/con-1/odd"
"$shufflefs" cat $quick -o keys=asis odd epochs/0.tar >want.tar
for credentials in key sas token; do
    by $credentials
    arrives $az -o keys=asis az://con-1/odd/
done

# A container that is open to all: without credentials, and if they are not to be used.
by nothing
expect '{"public": ["con-1"]}'
forget
arrives $az -o keys=asis az://con-1/odd/
AZURE_STORAGE_TOKEN=TOKEN.old arrives $az -o keys=asis,anonymous az://con-1/odd/
not_asked 'authorization'
