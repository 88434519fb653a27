#!/bin/sh
# SPDX-License-Identifier: MIT
# A file that is no tar but looks like one by its name, such as a page of a portal or a
# compressed tar, is an error that says what it is.
. "${srcdir:-$(dirname "$0")/..}/tests/functions.sh"
. "$top/tests/faults.sh"

small_shards
: >"rest/$one"
truncate -s 1024 "rest/$one"

# is WORDS: what is on standard input.
is() {
    cat >"$victim"
    truncate -s 4096 "$victim"
    damaged 0 "$1"
}

gzip <"whole/$one" | is "gzip data, not a tar header"
echo "<html><body>please log in</body></html>" | is "an HTML page, not a tar header"
echo "<!DOCTYPE html><html></html>" | is "an HTML or XML page, not a tar header"
echo "<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>" | is "an XML page"
echo "version https://git-lfs.github.com/spec/v1" | is "a git-lfs pointer"
head -c 4096 "$top/tests/origin.py" | is "wrong header checksum"
