#!/bin/sh
# SPDX-License-Identifier: MIT
# Lists, patterns, folders below a folder, and several sources in one: each names the dataset
# that its shards name one by one, in the same order.  Where nothing is named, one line says
# so.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

mkdir -p data/a data/b lists
make_shards data/a --shards 2 --samples 20
make_shards data/b --shards 3 --samples 20
printf '%s\n' data/a/train-000000.tar data/a/train-000001.tar data/b/train-000000.tar \
    data/b/train-000001.tar data/b/train-000002.tar >list.txt
start_origin .

# (The folder that neighbours with one key get is named after their shard, and so after the source.)
quick="-o seed=7,keys=asis"
# shellcheck disable=SC2046 # names without blanks
"$shufflefs" cat $quick $(cat list.txt) epochs/0.tar >want.tar
[ "$(tar tf want.tar | wc -l)" = 200 ] || fail "not all samples"

# alike SOURCE...: the same epoch, without a word.
alike() {
    arrives "$@"
    [ ! -s said ] || fail "$(cat said)"
}

alike data/a data/b
alike "data/{a,b}"
alike data/a::data/b
alike "data/a/train-{000000..000001}.tar::data/b"
alike "data/*"
alike "data/?/*.tar"
alike "data/**"
alike "$work/data/**/train-*.tar"
alike @list.txt
alike "@$work/list.txt"
alike - <list.txt
cat list.txt | alike -
cat list.txt | alike @/dev/fd/0
sed 's/$/ \r/; s/^/# shards\r\n\r\n\t/' list.txt >odd.txt
alike @odd.txt
sed 's|^|../|' list.txt >lists/up.txt
alike @lists/up.txt
cp want.tar lists
(cd lists && alike @up.txt)
sed "s|^|$origin/|" list.txt >urls.txt
alike @urls.txt
head -n 2 urls.txt >first.txt
alike @first.txt::data/b

# The order is that of the names as they come.
tac list.txt >back.txt
cat_of @back.txt epochs/0.tar
[ $status = 0 ] || fail "exit status $status of a list backwards"
! cmp -s want.tar got.tar || fail "the order of a list does not count"

# Named twice, a shard is taken once, and one line says so.
cat_of "data/**" data/a/train-000001.tar epochs/0.tar
same want.tar got.tar
said "^shufflefs: a shard is named more than once, and taken once: $work/data/a/train-000001.tar$"
[ "$(wc -l <said)" = 1 ] || fail "$(cat said)"

# What has a special name is itself, if it is there.
mv data/b/train-000002.tar 'data/b/train-00000::*.tar'
for source in 'data/b/train-00000::*.tar' "data/b/train-00000[1]*.tar" "file://$work/data/b/train-00000%3A%3A*.tar"; do
    "$shufflefs" ls "$source" >out 2>said || fail "$source: $(cat said)"
    [ "$(wc -l <out)" = 1 ] || fail "$source is $(cat out)"
done

printf '# nothing\n\n' >empty.txt
printf 'data/a/train-000000.tar\nhttp://host:99999/a.tar\n' >port.txt
head -c 2000 data/a/train-000000.tar >tar.txt
refused 'data/*.zip'
said "^shufflefs: nothing matches '$work/data/\*.zip'$"
refused @nothing.txt
said "^shufflefs: $work/nothing.txt: No such file or directory$"
refused @empty.txt
said "^shufflefs: $work/empty.txt: the list is empty$"
refused - </dev/null
said "^shufflefs: standard input: the list is empty$"
refused @port.txt
said "^shufflefs: $work/port.txt:2: .* no valid port"
refused @tar.txt
said "^shufflefs: $work/tar.txt: line 1 has a NUL in it: this is not a list of shards$"
refused @data
said "^shufflefs: $work/data: Is a directory$"
refused data
said "^shufflefs: no \*.tar in the folder $work/data; those of its folders are $work/data/\*\*$"
refused "pipe:cat data/a/train-000000.tar"
said "^shufflefs: 'pipe:' is refused: .*; name the path or URL that the command reads$"

# Shards that differ in their hosts alone, or in their queries.
here=$origin
start_origin data/b
"$shufflefs" ls "$here/data/b/train-{000000..000001}.tar" "$origin/train-000000.tar" \
    "$here/data/b/train-000000.tar?part=SECRET" >out 2>said || fail "$(cat said)"
sed 's/^ *[^ ]*  //' out >names
printf '%s\n' "${here#http://}/data/b/train-000000.tar" "${here#http://}/data/b/train-000001.tar" \
    "${origin#http://}/train-000000.tar" "${here#http://}/data/b/train-000000~2.tar" | cmp - names ||
    fail "$(cat out)"
cat_of "$here/data/b/train-000000.tar" "$origin/train-000000.tar" "$here/data/b/train-000000.tar?again" epochs/0.tar
[ "$(tar tf got.tar | wc -l)" = 120 ] || fail "not all samples"
