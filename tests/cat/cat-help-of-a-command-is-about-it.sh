#!/bin/sh
# SPDX-License-Identifier: MIT
# --help of a command says how to use that command and no other, names each of its options, and
# fits into 80 columns; so does --help of the programs.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

# helps PROGRAM [COMMAND]: its help is in the file help.
helps() {
    "$build/$1" ${2:+"$2"} --help >help 2>said || fail "$*: $(cat said)"
    [ ! -s said ] || fail "$*: $(cat said)"
    [ -z "$(awk 'length > 80' help)" ] || fail "$* is too wide: $(awk 'length > 80' help)"
    head -n 1 help | grep -q "^usage: $1 ${2:+$2 }" || fail "$*: $(head -n 1 help)"
}

# options SOURCE-FILE TABLE: the options in this table of the source.
options() {
    awk "/$2\\[\\] = {/ { on = 1 } on { print } on && /^};|[{]0[}]};/ { exit }" "$top/$1" | grep -o '{"[a-z-]*", [a-z0]' | sed 's/{"\(.*\)".*/\1/; /^help$/d'
}

# names PROGRAM COMMAND SOURCE-FILE TABLE: the help has all these options.
names() {
    helps "$1" "$2"
    [ "$(options "$3" "$4" | wc -l)" -gt 0 ] || fail "$4 is not understood"
    for option in $(options "$3" "$4"); do
        grep -q -e "--$option\([ =,]\|\$\)" help || fail "$1 $2 --help lacks --$option"
    done
}

helps shufflefs
commands=$(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' help)
[ "$(echo "$commands" | wc -l)" -ge 9 ] || fail "which commands are there? $commands"
for command in $commands; do
    helps shufflefs "$command"
    ! grep "^ *\(usage: \|       \)shufflefs [a-z]" help | grep -v "shufflefs $command " ||
        fail "$command: about another command"
    "$shufflefs" help "$command" | cmp - help || fail "help $command: another one"
done
# By its other name, too; and only what is a command has one.
"$shufflefs" umount --help >help
"$shufflefs" unmount --help | cmp - help || fail "unmount --help is not that of umount"
for name in $(sed -n 's/^	{"\([a-z]*\)", do_.*/\1/p' "$top/fusefs/commands.c"); do
    "$shufflefs" "$name" --help >help
    ! grep -q "^Commands:" help || fail "$name --help is the help of all commands"
done
! "$shufflefs" help nonsense >help 2>said || fail "there is help for nonsense"
grep -q "there is no command 'nonsense'" said || fail "help nonsense: $(cat said)"
helps shufflefs mount
grep -q "^  budget=SIZE  *Memory" help || fail "mount: no options"
for command in ls plan index bench top; do
    names shufflefs $command fusefs/commands.c ${command}_options
done
helps shufflefs umount
for option in lazy force; do
    grep -q "^  --$option  " help || fail "umount --help lacks --$option"
done

has_sidecar || exit 0
helps shufflefs-sidecar
"$build/shufflefs-sidecar" help | cmp - help || fail "shufflefs-sidecar help: another one"
for command in send recv; do
    grep -q "^  $command " help || fail "no $command"
    "$build/shufflefs-sidecar" help $command >said
    "$build/shufflefs-sidecar" $command --help | cmp - said || fail "help $command: another one"
done

# Those of the sidecar have a table of their own.
tr '\n' ' ' <"$top/sidecar/options/options.def" | sed 's/OPTION(/\n&/g' |
    sed -n 's|^OPTION(\([A-Z |]*\), *[A-Z_]*, *"\([a-z-]*\)".*|\2 \1|p' >table
for each in "shufflefs-sidecar send" "shufflefs-sidecar recv" "shufflefs forward"; do
    helps ${each% *} ${each#* }
    word=$(echo ${each#* } | tr a-z A-Z)
    grep -w "$word" table | cut -d " " -f 1 >options
    [ "$(wc -l <options)" -gt 9 ] || fail "options.def is not understood"
    while read -r option; do
        grep -q -e "--$option\([ =,]\|\$\)" help || fail "$each --help lacks --$option"
    done <options
done
