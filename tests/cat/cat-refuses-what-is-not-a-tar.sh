#!/bin/sh
# SPDX-License-Identifier: MIT
# What is compressed, packed in another format or a web page is refused at once, in one line
# that says what it is and what to do; also when it is only the last shard.  So is a file without a
# byte.  What begins as a tar, or with zeros, is not.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires gzip

make_shards shards --shards 3 --samples 10
mkdir odd
gzip <shards/train-000000.tar >odd/gzip.tar
gzip </dev/null >odd/tiny.tar
printf '\050\265\057\375%4096s' x >odd/zstd.tar
(cd odd && "$python" -m zipfile -c zip.tar ../shards/train-000000.tar)
printf '\n<!doctype html><html><body>Please log in.</body></html>\n' >odd/page.tar
printf '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>' >odd/denied.tar
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\n' >odd/lfs.tar
head -c 5000 "$top/tests/lib/origin.py" >odd/text.tar
echo short >odd/short.tar
start_origin .

# is NAME WORDS: what odd/NAME.tar is, alone and as the last of several.
is() {
    for source in odd "$origin/odd"; do
        refused "$source/$1.tar"
        said "^shufflefs: .*odd/$1.tar is $2"
        refused "${source%odd}{shards/train-000000,shards/train-000001,odd/$1}.tar"
        said "^shufflefs: 1 of 3 shards is not a tar file: .*odd/$1.tar is $(echo "$2" | sed 's/, not a tar//').*; on-error=skip leaves it out$"
    done
}

is gzip "gzip data, not a tar: .*gunzip"
is tiny "gzip data, not a tar: .*gunzip"
is zstd "zstd data, not a tar: .*unzstd"
is zip "a zip file, not a tar: .*repack"
is page "an HTML or XML page, not a tar: .*login"
is denied "an XML page, not a tar: .*error page"
is lfs "a git-lfs pointer, not a tar: .*git lfs pull"
: >odd/empty.tar
is empty "an empty file, not a tar"
for name in text short; do
    for source in odd "$origin/odd"; do
        refused "$source/$name.tar"
        said "$name.tar is not a tar: "
    done
done

# All commands say so, with on-error=skip as well, if there is nothing else.
for command in "cat odd/gzip.tar shards/gzip.tar" "plan odd/gzip.tar" "index --to=to odd/gzip.tar" \
    "bench --stages=source odd/gzip.tar" "mount -f odd/gzip.tar ." \
    "cat -o on-error=skip odd/gzip.tar epochs/0.tar"; do
    status=0
    "$shufflefs" $command >out 2>said || status=$?
    [ $status = 1 ] || fail "exit status $status of: $command"
    said "gzip.tar is gzip data"
    [ "$(wc -l <said)" = 1 ] && [ ! -s out ] || fail "more is said: $(cat said out)"
done

# Where others are there, on-error=skip leaves it out.
cat_of -o on-error=skip shards "odd/gzip.tar" epochs/0.tar
[ $status = 1 ] || fail "a source that is no tar at all"
cat_of -o on-error=skip "{shards/train-000000,shards/train-000001,odd/gzip}.tar" epochs/0.tar
[ $status = 0 ] || fail "exit status $status with on-error=skip"
said "^shufflefs: 1 of 3 shards is not a tar file: .*odd/gzip.tar is gzip data: .*; it is left out$"
said "^shufflefs: skip: odd/gzip.tar @ 0: gzip data"

# Zeros are an empty tar, and an old tar has no magic.
head -c 1024 /dev/zero >odd/zeros.tar
tar --format=v7 -cf odd/old.tar -C shards train-000000.tar
for name in zeros old; do
    cat_of odd/$name.tar epochs/0.tar
    [ $status = 0 ] && [ ! -s said ] || fail "$name: $(cat said)"
done
