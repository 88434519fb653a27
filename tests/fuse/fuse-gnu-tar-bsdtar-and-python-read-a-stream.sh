#!/bin/sh
# SPDX-License-Identifier: MIT
# GNU tar, bsdtar and Python's tarfile list and extract the same from an epoch, from the
# file and from a pipe: what they extract from the shards.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
requires tar bsdtar

# py_tar t|x FILE|-: as tar does
py_tar() {
    "$python" - "$@" <<'END'
import sys, tarfile
mode, name = sys.argv[1:]
with tarfile.open(name, "r:") as tar:
    for member in tar:
        if mode == "t":
            print(member.name)
        else:
            tar.extract(member)
END
}

# tree FOLDER: every file and its hash
tree() {
    (cd "$1" && find . -type f -exec sha256sum {} + | sort -k 2)
}

for format in ustar gnu pax webdataset; do
    rm -rf data out
    make_shards data --shards 4 --samples 25 --format $format
    mkdir -p out/shards out/gnu out/bsd out/python out/pipe out/bsd-pipe
    for s in data/*.tar; do tar xf "$s" -C out/shards; done
    mount_ds -o lanes=3,buffer=100K data mnt
    stream=$work/mnt/epochs/3.tar

    tar tf "$stream" >names 2>said
    [ ! -s said ] || fail "$format: tar says: $(cat said)"
    bsdtar tf "$stream" | cmp - names || fail "$format: bsdtar lists something else"
    py_tar t "$stream" | cmp - names || fail "$format: Python lists something else"
    tar t <"$stream" | cmp - names || fail "$format: tar lists something else from a pipe"
    for s in data/*.tar; do tar tf "$s"; done | sort >wanted
    sort names | cmp - wanted || fail "$format: other names than in the shards"
    ! cmp -s names wanted || fail "$format: it is not shuffled"

    tar xf "$stream" -C out/gnu
    bsdtar xf "$stream" -C out/bsd
    (cd out/python && py_tar x "$stream")
    # shellcheck disable=SC2002 # a pipe it shall be
    cat "$stream" | tar x -C out/pipe
    cat "$stream" | bsdtar x -C out/bsd-pipe
    tree out/shards >wanted
    [ "$(wc -l <wanted)" = 200 ] || fail "$format: $(wc -l <wanted) files"
    for how in gnu bsd python pipe bsd-pipe; do
        tree out/$how | cmp - wanted || fail "$format: $how extracts something else"
    done
    umount_ds mnt
done
