# SPDX-License-Identifier: MIT
# What the tests of stored indexes share, after functions.sh:
#
#     . "$top/tests/lib/indexed.sh"
#
# Three shards in shards/, and of their epochs what is read without any index: want.tar,
# epoch 0, and tail.tar, which is $tail, the end of epoch 1.

tail=epochs/1@100.tar
three="train-{000000..000002}.tar"
one=train-000001.tar
opts="-o lanes=2,buffer=64K,retries=1,stall-timeout=60s"

# some_shards [OPTION...]
some_shards() {
    make_shards shards --bytes 20000 --samples 40 "$@"
    "$shufflefs" cat $opts,index-cache=no shards epochs/0.tar >want.tar
    "$shufflefs" cat $opts,index-cache=no shards $tail >tail.tar
    [ "$(find home shards -name '*.index' | wc -l)" = 0 ] || fail "index-cache=no keeps some"
}

# n_indexes FOLDER
n_indexes() {
    find "$1" -name '*.index' 2>/dev/null | wc -l
}

# gives WANTED ARG...: what `shufflefs cat` of these writes.  What it says is in `said`.
gives() {
    wanted=$1
    shift
    timeout $patience "$shufflefs" cat $opts "$@" >got.tar 2>said || fail "status $? of: $*: $(cat said)"
    same "$wanted" got.tar
}

# indexes ARG...: `shufflefs index` of these; what it says is in `said`, $status its status.
indexes() {
    status=0
    timeout $patience "$shufflefs" index $opts "$@" >said 2>&1 </dev/null || status=$?
    [ $status -lt 124 ] || fail "status $status of: $*: $(cat said)"
}

said() {
    grep -q -e "$1" said || fail "no '$1' in: $(cat said)"
}

silent() {
    [ ! -s said ] || fail "something was said: $(cat said)"
}

# shards_asked N: at most so many bytes of shards were asked for since the last call.
# (In answer to "how large are you?" comes one byte.)  Requests are whole blocks, and a busy
# machine may ask for 512 KiB a second time: hence the margin.
margin=$((300000 + 524288))
n_seen=0
shards_asked() {
    tail -n +$((n_seen + 1)) "origin-log.$n_origins" >new-log
    n_seen=$(wc -l <"origin-log.$n_origins")
    n=$(sed -n 's/.*\.tar", "headers.*"range": "bytes=\([0-9]*\)-\([0-9]*\)".*/\2 - \1 + 1/p' new-log |
        while read -r range; do echo $(($range)); done | awk '{n += $1} END {print n + 0}')
    [ "$n" -le "$1" ] || fail "$n bytes of shards were asked for, not $1 at most"
}
