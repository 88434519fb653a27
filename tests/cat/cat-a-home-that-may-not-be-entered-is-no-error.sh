#!/bin/sh
# SPDX-License-Identifier: MIT
# A HOME that may not be entered, is no folder or does not exist is as one without files: a dataset
# given by its path is read.  An ini file that is there and may not be read is an error.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
mkdir -p closed/.config/shufflefs
echo "seed = 7" >closed/.config/shufflefs.conf
chmod 755 "$work"
if [ "$(id -u)" = 0 ]; then
    requires setpriv
    as_user="setpriv --reuid=65534 --regid=65534 --clear-groups"
    $as_user test -x "$shufflefs" || skip "an ordinary user cannot reach $shufflefs"
else
    as_user=""
fi

# reads HOME [ARG...]: the epoch, and nobody is told of ini files.
reads() {
    home=$1
    shift
    env HOME="$home" XDG_CONFIG_HOME="${XDG-$home/.config}" $as_user "$shufflefs" cat $quick "$@" "$work/shards" epochs/0.tar \
        >got.tar 2>said || fail "HOME=$home: $(cat said)"
    same want.tar got.tar
    ! grep -q "\.conf" said || fail "$(cat said)"
}
chmod 0 closed
reads "$work/closed"
reads "$work/closed" -o index-cache=no
XDG="$work/closed/deeper" reads "$work/none"
reads /dev/null
reads "$work/none"
reads "$work/shards/train-000000.tar"

# A section's name is looked for in vain, and that is said.
! env HOME="$work/closed" XDG_CONFIG_HOME="$work/closed/.config" $as_user "$shufflefs" ls thing 2>said ||
    fail "there is no such dataset"
said "'thing' is neither a file nor a section"

chmod 755 closed
chmod 0 closed/.config/shufflefs.conf
! env HOME="$work/closed" XDG_CONFIG_HOME="$work/closed/.config" $as_user "$shufflefs" ls "$work/shards" 2>said ||
    fail "a file of settings was left out"
said "closed/.config/shufflefs.conf: Permission denied"
chmod 755 closed/.config/shufflefs.conf
