#!/bin/sh
# SPDX-License-Identifier: MIT
# A token of header=@FILE that is renewed in the middle of an epoch costs nothing: the file is
# read again when it has changed, and at once when a server refuses the old one.  A server that
# refuses a token which has not changed is an error.  No token is ever shown.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

make_alike 12 --samples 30 --bytes 100000
opts="-o retries=0,lanes=2,buffer=64K,budget=10M,log-level=info"
"$shufflefs" cat $opts data epochs/0.tar >want.tar
start_origin data
shards=train-{000000..000011}.tar

# read_from FAULT: begin.  ends STATUS: finish.
read_from() {
    begin -o header=@token "$origin/$1/$shards"
}

ends() {
    finish "$1"
    not_said SECRET
}

# serve TOKEN, hold TOKEN: what the server wants, and what the file has.
serve() {
    echo "$1" >data/new
    mv data/new data/token
}

hold() {
    echo "Authorization: Bearer $1" >new
    mv new token
}

for wire in ours libcurl; do
    [ $wire = ours ] || : >"$HOME/.netrc" # then libcurl makes all requests
    for status in 401 403; do
        hold SECRET1
        serve SECRET1
        read_from "bearer,file=token,status=$status,$wire"
        # By a rename; and then in place, through a moment in which it is empty.
        hold SECRET2
        serve SECRET2
        head -c 10000000 <&3 >>got.tar
        : >token
        head -c 10000000 <&3 >>got.tar
        echo "Authorization: Bearer SECRET3" >token
        serve SECRET3
        ends 0
        same want.tar got.tar
        said "header=@.*/token: read again"
        not_said "HTTP 40"
    done

    # Nobody has renewed it.
    read_from "bearer,file=token,$wire"
    serve SECRET4
    ends 1
    said "lost: train-.*HTTP 401"
done

# While mounting, too; and not where a redirect leads.
hold SECRET4
cat_of $opts -o header=@token "$origin/bearer,file=token/train-000000.tar" epochs/0.tar
[ $status = 0 ] || fail "exit status $status"
rm "$HOME/.netrc"
: >origin-log.1
cat_of $opts -o header=@token "$origin/redirect,to=other/bearer,file=token/train-000000.tar" epochs/0.tar
asked '"path": "/redirect.*SECRET4'
not_asked '"path": "/train.*SECRET4'
