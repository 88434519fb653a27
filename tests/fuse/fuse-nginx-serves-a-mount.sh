#!/bin/sh
# SPDX-License-Identifier: MIT
# A real server: plain, through a redirect, with a password in the URL, in ~/.netrc and in a
# header; what is wrong is one line, and nothing is mounted.  No secret is shown anywhere.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 3 --samples 30 --bytes 20000
start_nginx data
opts=lanes=2,buffer=128K
spec="train-{000000..000002}.tar"
"$shufflefs" cat -o $opts data epochs/0.tar >want.tar

# hidden [FILE...]: no secret in these, nor in what the mount shows.  "c2ZzOnNlY3JldA==" is
# how the pair goes over the wire.
hidden() {
    for f in "$@" mnt/README mnt/.shufflefs/*; do
        [ ! -e "$f" ] || ! grep -H -e secret -e c2ZzOnNl "$f" || fail "a secret in $f"
    done
    ! grep " $work/mnt " /proc/self/mounts | grep secret || fail "a secret in the table of mounts"
}

# serves ARG...: mounts these, and all is there
serves() {
    "$shufflefs" mount -f -o $opts,log-level=debug "$@" mnt 2>log &
    job=$!
    wait_until 60 test -e mnt/README
    same want.tar mnt/epochs/0.tar
    same data/train-000001.tar mnt/shards/train-000001.tar
    tar xOf data/train-000002.tar 000061.jpg | cmp - mnt/samples/train-000002.tar/000061.jpg
    hidden log
    umount_ds mnt
    wait $job || fail "status $? of: $*: $(cat log)"
    hidden log
}

# refused WORDS ARG...: one line that has these words, and nothing is mounted
refused() {
    words=$1
    shift
    status=0
    timeout $patience "$shufflefs" mount -o $opts "$@" mnt 2>said || status=$?
    [ $status = 1 ] || fail "status $status of: $*"
    [ "$(wc -l <said)" = 1 ] && grep -q "^shufflefs: .*$words" said || fail "no '$words' in: $(cat said)"
    hidden said
    ! grep -q " $work/mnt " /proc/self/mounts || fail "something is mounted"
}

mkdir mnt
host=${nginx#http://}
serves "$nginx/$spec"
serves "$nginx/hop/$spec"
serves "http://sfs:secret@$host/auth/$spec"
echo "machine 127.0.0.1 login sfs password secret" >home/.netrc
serves "$nginx/auth/$spec"
mv home/.netrc elsewhere
serves -o netrc-file=elsewhere "$nginx/auth/$spec"
echo "Authorization: Basic c2ZzOnNlY3JldA==" >header
serves --header @header "$nginx/auth/$spec"

# Indexes there, behind the password and with a signature; one of them is of no use.
"$shufflefs" index --to=data/indexes "$nginx/$spec" >said
echo damaged >data/indexes/train-000000.tar.index
"$shufflefs" cat -o $opts,index-cache=no data epochs/1@20.tar >tail.tar
index="http://sfs:secret@$host/auth/indexes/?signature=secret"
mount_ds -o $opts,index-cache=no,index="$index" "$nginx/$spec" mnt
same tail.tar mnt/epochs/1@20.tar
errors_have mnt "the index http://$host/auth/indexes/train-000000.tar.index?\*\*\* is not used"
[ "$(wc -l <mnt/.shufflefs/errors)" = 1 ] || fail "$(cat mnt/.shufflefs/errors)"
hidden
umount_ds mnt

refused "HTTP 401" "$nginx/auth/$spec"
refused "HTTP 401" "http://sfs:secret2@$host/auth/$spec"
refused "HTTP 404" "$nginx/no-such-{0..9}.tar"
refused "does not serve ranges" "$nginx/norange/$spec"

# Several nginx folders are one dataset.
mount_ds -o $opts "$nginx/train-000000.tar" "http://sfs:secret@$host/auth/train-{000001..000002}.tar" mnt
tar tf mnt/epochs/0.tar | sort >names
tar tf want.tar | sort | cmp - names || fail "other names from two folders"
hidden
umount_ds mnt
