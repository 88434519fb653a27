#!/bin/sh
# SPDX-License-Identifier: MIT
# A list of shards, an index of wids, a spec of WebDataset, and the parts of a folder that energon has
# prepared may be at a URL: of a server without ranges or lengths, and of every store.  Names in them
# count from the URL, and are read with the same credentials.  What is wrong with one is said in one line
# with what to do, and no secret of a URL is shown.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/s3.sh"
. "$top/tests/lib/gcs.sh"
. "$top/tests/lib/azure.sh"
. "$top/tests/lib/hf.sh"
. "$top/tests/lib/webhdfs.sh"

make_shards data/set --shards 4 --samples 20 --bytes 2000
mkdir -p data/lists data/set/.nv-meta
printf '# shards\r\n../set/train-000002.tar\r\n\n  ../set/./train-000000.tar\n' >data/lists/list.txt
echo '{"wids_version": 1, "base": "../set", "shardlist": [{"url": "train-000003.tar", "nsamples": 20}],
    "datasets": [{"source_url": "../lists/more.json"}]}' >data/lists/index.json
echo '{"wids_version": 1, "shardlist": [{"url": "../set/train-000001.tar", "nsamples": 20}]}' >data/lists/more.json
echo 'datasets: [{shards: "train-00000{3,1}.tar", buckets: set}]' >data/spec.yaml
echo '{"split_parts": {"train": ["train-{000002..000001}.tar"], "val": ["train-000000.tar"]}}' >data/set/.nv-meta/split.json
echo '{"shard_counts": {"train-000000.tar": 20}}' >data/set/.nv-meta/.info.json
yaml=$("$shufflefs" --version | grep -c "libyaml" || :)

# wants NUMBER...: want.tar is the epoch of these shards, in this order.
wants() {
    for n in "$@"; do
        echo "data/set/train-00000$n.tar"
    done >local.txt
    "$shufflefs" cat $quick @local.txt epochs/0.tar >want.tar
}

# gives "OPTIONS" URL: these are read from below this URL.
gives() {
    wants 2 0
    arrives $1 "@$2/lists/list.txt"
    wants 3 1
    arrives $1 "$2/lists/index.json"
    wants 2 1
    arrives $1 -o split=train "$2/set/"
}

wants 2 0
arrives "@file://$work/data/lists/list.txt"

# fails WORDS [OPTION...] SOURCE: in one line.
fails() {
    words=$1
    shift
    refused "$@"
    said "$words"
    not_said 'SECRET'
}

# ---- HTTP ----

start_origin data
gives "" $origin
[ $yaml = 0 ] || {
    wants 3 1
    arrives "$origin/spec.yaml"
}
wants 0
arrives -o split=val "$origin/set"
"$shufflefs" ls --json -o split=val "$origin/set" | grep -q '"samples": *20' || fail "no counts"
for fault in chunked nolength ignorerange close redirect 503,times=2 rst,times=1 "cut,bytes=20,times=1"; do
    wants 2 0
    arrives -o retries=2 "@$origin/$fault,only=*.txt/lists/list.txt"
done
arrives "@$origin/lists/list.txt::@$origin/lists/list.txt"
said "shards are named again 2 times"
url="${origin#http://}/auth,user=me,password=p1/lists/list.txt"
arrives "@http://me:p1@$url?signature=SECRET"
echo SECRET >data/token
echo 'cat data/token' >command
arrives -o bearer-token-file=data/token "@$origin/bearer,file=token/lists/list.txt"
echo '[ -e ran ] || { : >ran; echo OLD; exit; }; cat data/token' >command
arrives -o bearer-token-command="sh command" "@$origin/bearer,file=token,status=403,again/lists/list.txt"
wants 3 1
arrives "$origin/lists/index.json?x=.yaml"

fails "^shufflefs: cannot read $origin/lists/none.txt: HTTP 404: check its name$" @$origin/lists/none.txt
fails "cannot read $origin/none/index.json: HTTP 404: check its name" $origin/none/index.json
fails "cannot read $origin/403/lists/list.txt?\*\*\*: HTTP 403: check the password, the token or the signature$" \
    "@$origin/403/lists/list.txt?signature=SECRET"
fails "HTTP 401: check the password" "@http://me:SECRET@$url"
fails "cannot read .*: HTTP 503" -o retries=0 "@$origin/503/lists/list.txt"
fails "more than 10 redirects" "@$origin/redirect,to=loop/lists/list.txt"
fails "Content-Encoding 'gzip', which was not asked for" "@$origin/gzip/lists/list.txt"
echo "# nothing" >data/lists/empty.txt
fails "$origin/lists/empty.txt: the list is empty" "@$origin/lists/empty.txt"
printf '\n<!DOCTYPE html><html>SECRET' >data/lists/page.txt
fails "cannot read $origin/lists/page.txt: a web page is there, perhaps to log in" "@$origin/lists/page.txt"
cp data/lists/page.txt data/lists/page.json
fails "a web page is there" "$origin/lists/page.json"
fails "$origin/set/train-000000.tar: line 1 has a NUL in it: this is not a list of shards" "@$origin/set/train-000000.tar"
printf 'x.tar\npipe:cat x.tar\n' >data/lists/pipe.txt
fails "$origin/lists/pipe.txt:2: 'pipe:' is refused" "@$origin/lists/pipe.txt"
echo '{"a": 1}' >data/lists/other.json
fails "$origin/lists/other.json?\*\*\* is no index of shards (wids): line 2: it has no 'shardlist'" \
    "$origin/lists/other.json?signature=SECRET"
fails "split=train: '$origin/lists' is no folder that energon has prepared" -o split=train $origin/lists/
fails "split.json: it has no part 'test', only: train, val" -o split=test $origin/set/
fails "cannot read http://127.0.0.1:9/list.txt: .*127.0.0.1" @http://127.0.0.1:9/list.txt

# The token is for the server that the user named, and not for others that a list names.
here=$origin
echo "http://localhost:${here##*:}/bearer,file=token,elsewhere/set/train-000000.tar" >data/lists/elsewhere.txt
sed 's/localhost/127.0.0.1/' data/lists/elsewhere.txt >data/lists/here.txt
echo 'cat data/token' >command
for option in bearer-token-command="sh command" bearer-token-file=data/token header="Authorization: Bearer SECRET"; do
    fails "HTTP 401 (headers and tokens are not sent to a host that only a list at another one names; get the list first" \
        -o "$option" "@$here/lists/elsewhere.txt"
    "$shufflefs" ls -o "$option" @$here/lists/here.txt >out || fail "the token is not sent to the list's own server"
    "$shufflefs" ls -o "$option" @data/lists/elsewhere.txt >out || fail "the token is not sent to a server of a local list"
done
echo '{"wids_version": 1, "datasets": [{"source_url": "'"$(cat data/lists/elsewhere.txt | sed 's/set.*/lists/')"'/index.json"}]}' >data/lists/to.json
fails "elsewhere/lists/index.json: HTTP 401 (headers" -o bearer-token-file=data/token "$here/lists/to.json"

# ---- stores ----

rm -rf data/lists/page.*
mkdir -p world/buckets world/datasets/me/it
ln -s "$PWD/data" world/buckets/bucket
ln -s "$PWD/data" world/datasets/me/it/one

# store PROGRAM CONFIG: starts its server, of the stores' own URL.
store() {
    expect "$2"
    start_origin world 0 "$1"
}

has_keys AKIDONE SECRET/one+1
store s3.py '{"keys": {"AKIDONE": {"secret": "SECRET/one+1"}}}'
gives "-o endpoint=$origin" s3://bucket
fails "cannot read s3://bucket/lists/none.txt: HTTP 404 NoSuchKey: no such object" -o endpoint=$origin @s3://bucket/lists/none.txt
fails "cannot read s3://bucket/lists/: it is a pattern or a folder; name one object" -o endpoint=$origin @s3://bucket/lists/
fails "cannot read s3://bucket/\*.txt: it is a pattern" -o endpoint=$origin "@s3://bucket/*.txt"
fails "split=train: 's3://bucket/set/\*' is no folder" -o endpoint=$origin,split=train "s3://bucket/set/*"
has_keys AKIDONE SECRET/other
fails "cannot read s3://bucket/lists/list.txt: HTTP 403 SignatureDoesNotMatch" -o endpoint=$origin @s3://bucket/lists/list.txt

has_token TOKEN.one
store gcs.py '{"tokens": ["TOKEN.one"]}'
gives "-o endpoint=$origin" gs://bucket
fails "HTTP 404 NoSuchKey" -o endpoint=$origin @gs://bucket/lists/none.txt

store azure.py '{}'
AZURE_STORAGE_KEY=$azure_key gives "-o endpoint=$origin/acct" az://bucket
has_sas bucket 3600
wants 2 0
arrives -o endpoint=$origin/acct,sas-file=sas @az://bucket/lists/list.txt
fails "HTTP 404 BlobNotFound" -o endpoint=$origin/acct,sas-file=sas @az://bucket/lists/none.txt

store hf.py '{"tokens": ["TOKEN-1"], "private": true}'
HF_TOKEN=TOKEN-1 gives "-o endpoint=$origin" hf://datasets/me/it
HF_TOKEN=TOKEN-1 fails "HTTP 404 EntryNotFound: the dataset 'me/it' has no file 'lists/none.txt'" -o endpoint=$origin @hf://datasets/me/it/lists/none.txt
fails "HTTP 401 RepoNotFound" -o endpoint=$origin @hf://datasets/me/it/lists/list.txt

start_webhdfs
gives "" "$hdfs/bucket"
fails "HTTP 404 FileNotFoundException" "@$hdfs/bucket/lists/none.txt"

# ---- a local list of names in a store that no other source has named ----

wants 2 0
printf '%s\n' "$hdfs/bucket/set/train-000002.tar" "$hdfs/bucket/set/train-000000.tar" >hdfs.txt
arrives @hdfs.txt
store hf.py '{"revisions": {"main": "one"}}'
printf '%s\n' hf://datasets/me/it/set/train-000002.tar hf://datasets/me/it/set/train-000000.tar >hf.txt
arrives -o endpoint=$origin @hf.txt
not_asked 'resolve/main' # but the commit that it was
unset AZURE_STORAGE_ACCOUNT
echo az://bucket/set/train-000000.tar >az.txt
fails "az.txt:1: az://bucket/ needs an account" @az.txt
echo az://bucket@acct.blob.invalid/set/train-000000.tar >az.txt
fails "https://acct.blob.invalid/bucket/set/train-000000.tar: " -o anonymous,retries=0,read-timeout=5s @az.txt
