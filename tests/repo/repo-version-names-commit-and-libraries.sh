#!/bin/sh
# SPDX-License-Identifier: MIT
# `shufflefs --version` names the commit it was built from and the version of each library.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

"$shufflefs" --version >said
cat said
for line in "^shufflefs [0-9]" "^libfuse 3\.[0-9.]*$" "^libcurl [0-9.]* [A-Za-z]" "^libarchive [0-9.]*$" "^inih r\?[0-9]"; do
    [ "$(grep -c "$line" said)" = 1 ] || fail "no line '$line'"
done
[ "$(grep -cv "^libyaml [0-9.]*$" said)" = 5 ] || fail "other lines"

# The build asks git each time; a tarball says what it was made from.
if [ -e "$top/.git" ]; then
    commit=$(git -C "$top" describe --always 2>/dev/null) || skip "git does not want to tell the commit"
    grep -q "^shufflefs [0-9.]* (commit $commit\(-dirty\)\?)$" said || fail "not the commit $commit"
elif [ -n "$(cat "$top/.commit" 2>/dev/null)" ]; then
    grep -q "^shufflefs [0-9.]* (commit $(cat "$top/.commit"))$" said || fail "not the commit $(cat "$top/.commit")"
else
    grep -q "^shufflefs [0-9.]*$" said || fail "a commit, out of nowhere"
fi
