#!/bin/sh
# SPDX-License-Identifier: MIT
# The manuals have each option of the one table, as --help and the ini file do, that of the
# order those that are part of it, and mandoc has nothing to say against them.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

man=$build/man/shufflefs.1
options=$(sed -n 's|^OPTION([A-Z]*, "\([a-z0-9-]*\)".*|\1|p' "$top/src/config/options.def")
[ "$(echo "$options" | wc -l)" -gt 10 ] || fail "options.def is not understood"
"$shufflefs" --help >help
for option in $options; do
    grep -q -e "-*$option" help || fail "--help lacks $option"
    sed 's/\\-/-/g' "$man" | grep -q "^\.It .*$option" || fail "the manual lacks $option"
done
order=$top/man/shufflefs-order.7
for option in $(sed -n 's|^OPTION(ORDER, "\([a-z-]*\)".*|\1|p' "$top/src/config/options.def"); do
    grep -q "^\.Cm .*$option" "$order" || fail "the manual of the order lacks $option"
done
page=$top/man/shufflefs-sidecar.1
options=$(sed -n 's|^.*{"\([a-z-]*\)", [a-z]*_argument,.*|\1|p' "$top"/sidecar/*.c)
[ "$(echo "$options" | wc -l)" -gt 10 ] || fail "the options of the sidecar are not understood"
for option in $options; do
    grep -q "^\.It .*Fl -$option\( \|\$\)" "$page" || fail "the manual of the sidecar lacks $option"
done
requires mandoc
for each in "$man" "$build/man/shufflefs.conf.5" "$order" "$top/man/shufflefs-ioctl.4" "$page"; do
    mandoc -T lint -W warning "$each" >said || fail "$(cat said)"
done
