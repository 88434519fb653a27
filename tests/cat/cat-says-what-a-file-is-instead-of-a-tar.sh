#!/bin/sh
# SPDX-License-Identifier: MIT
# A file that is no tar but looks like one by its name, such as a page of a portal or a
# compressed tar, is an error that says what it is, at once; or is left out, and named.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

small_shards
: >"rest/$one"
truncate -s 1024 "rest/$one"

# is WORDS: what is on standard input.
is() {
    cat >"$victim"
    truncate -s 4096 "$victim"
    for source in shards "$origin/$three"; do
        cat_of -o on-error=skip "$source" epochs/0.tar
        [ $status = 0 ] || fail "exit status $status with on-error=skip"
        "$python" "$top/tests/lib/compare.py" rest got.tar
        said "^shufflefs: 1 of 3 shards is not a tar file: .*$one is $1: .*; it is left out$"
        said "skip: $one @ 0: $1, not a tar header"
        [ "$(wc -l <said)" = 2 ] || fail "not said once: $(cat said)"
        refused -o on-error=fail "$source"
        said "^shufflefs: 1 of 3 shards is not a tar file: .*$one is $1: .*; on-error=skip leaves it out$"
    done
}

gzip <"whole/$one" | is "gzip data"
echo "<html><body>please log in</body></html>" | is "an HTML page"
echo "<!DOCTYPE html><html></html>" | is "an HTML or XML page"
echo "<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>" | is "an XML page"
echo "version https://git-lfs.github.com/spec/v1" | is "a git-lfs pointer"

# What is not recognized is damage.
head -c 4096 "$top/tests/lib/origin.py" >"$victim"
truncate -s 4096 "$victim"
damaged 0 "wrong header checksum"
