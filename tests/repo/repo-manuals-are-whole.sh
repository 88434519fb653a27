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
set -- "$man" "$build/man/shufflefs.conf.5" "$order"
if has_sidecar; then
    page=$build/man/shufflefs-sidecar.1
    set -- "$@" "$top/man/shufflefs-ioctl.4" "$page"
    "$build/shufflefs-sidecar" send --help >help
    "$build/shufflefs-sidecar" recv --help >>help
    "$shufflefs" help --mdoc-forward >forward
    tr '\n' ' ' <"$top/sidecar/options/options.def" | sed 's/OPTION(/\n&/g' |
        sed -n 's|^OPTION(\([A-Z |]*\), *[A-Z_]*, *"\([a-z-]*\)".*|\2 \1|p' >table
    [ "$(wc -l <table)" -gt 20 ] || fail "the sidecar's options.def is not understood"
    while read -r option commands; do
        [ "${commands#*SEND}${commands#*RECV}" = "$commands$commands" ] ||
            grep -q "^\.It .*Fl -$option\( \|\$\)" "$page" || fail "the manual of the sidecar lacks $option"
        [ "${commands#*SEND}${commands#*RECV}" = "$commands$commands" ] ||
            grep -q "^  --$option\(=\| \|\$\)" help || fail "--help of the sidecar lacks $option"
        [ "${commands#*FORWARD}" = "$commands" ] ||
            grep -q "^\.It Fl -$option\( \|\$\)" forward || fail "the manual of forward lacks $option"
    done <table
    ! grep '.\{80\}' help || fail "--help is wider than a terminal"
fi
requires mandoc
for each; do
    mandoc -T lint -W warning "$each" >said || fail "$(cat said)"
done
