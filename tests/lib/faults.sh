# SPDX-License-Identifier: MIT
# What the tests of faults share, after functions.sh:
#
#     . "$top/tests/lib/faults.sh"
#
# want.tar is the epoch as it should be, got.tar what was read, `said` what was said on
# standard error; $status is the exit status.

# Give up early, so that the tests are fast; but not because the machine was busy for a while:
# a test of a server that falls silent says itself how soon that counts.
quick="-o retries=2,stall-timeout=60s,connect-timeout=60s,lanes=2,buffer=64K"
three="train-{000000..000002}.tar"

# For what fails as passing, and never stops to: how long it is tried.
brief="-o read-timeout=5s"

# good_shards [OPTION...]: three shards in shards/, and the epoch of them in want.tar
good_shards() {
    make_shards shards --bytes 20000 --samples 40 "$@"
    "$shufflefs" cat $quick shards epochs/0.tar >want.tar
    "$python" "$top/tests/lib/compare.py" shards want.tar
}

# cat_of [-o OPTIONS] SOURCE... PATH: shufflefs cat to got.tar, which ends at all.
cat_of() {
    status=0
    timeout $patience "$shufflefs" cat $quick "$@" >got.tar 2>said || status=$?
    sed 's/^/| /' said >&2
    [ $status != 124 ] || fail "still at it after $patience s: $*"
    [ $status -lt 124 ] || fail "died, status $status: $*"
}

# arrives [-o OPTIONS] SOURCE...: the epoch is read, byte for byte.
arrives() {
    cat_of "$@" epochs/0.tar
    [ $status = 0 ] || fail "exit status $status of: $*"
    same want.tar got.tar
}

# breaks [-o OPTIONS] SOURCE...: the epoch ends in an error, is good up to there, and
# the last line says which error.
breaks() {
    ends_early want.tar "$@"
}

# ends_early TAR [-o OPTIONS] SOURCE...: the same, of an epoch that should be TAR.
ends_early() {
    want=$1
    shift
    cat_of "$@" epochs/0.tar
    [ $status = 1 ] || fail "exit status $status, not 1, of: $*"
    n=$(wc -c <got.tar)
    [ "$n" -lt "$(wc -c <"$want")" ] || fail "an error, but all bytes, of: $*"
    cmp -n "$n" "$want" got.tar || fail "wrong bytes before the error"
    [ -s said ] || fail "an error without a word"
}

# refused [-o OPTIONS] SOURCE...: an error at once, in one line, without any byte.
refused() {
    cat_of "$@" epochs/0.tar
    [ $status = 1 ] || fail "exit status $status, not 1, of: $*"
    [ ! -s got.tar ] || fail "bytes, though it was refused"
    [ "$(wc -l <said)" = 1 ] || fail "not one line: $(cat said)"
}

# mount_refused [-o OPTIONS] SOURCE...: at mnt; an error in one line, and nothing is mounted.
mount_refused() {
    status=0
    timeout $patience "$shufflefs" mount "$@" mnt 2>said || status=$?
    [ $status = 1 ] || fail "exit status $status of: mount $*"
    # (On a busy machine it may have said before what it waits for.)
    [ "$(grep -vc "waiting for the" said)" = 1 ] || fail "not one line: $(cat said)"
    ! grep -qs " $work/mnt " /proc/self/mounts || fail "mounted all the same"
}

# begin [-o OPTIONS] SOURCE...: read the epoch, of which the reader takes only the beginning for now.
begin() {
    rm -f fifo got.tar said status
    mkfifo fifo
    {
        "$shufflefs" cat $opts "$@" epochs/0.tar >fifo 2>said &&
            echo 0 >status || echo $? >status
    } &
    exec 3<fifo
    head -c 100000 <&3 >got.tar
}

# finish STATUS: read the rest, after which the command ends with this exit status.
finish() {
    cat <&3 >>got.tar
    exec 3<&-
    wait_until 60 test -s status
    sed 's/^/| /' said >&2
    [ "$(cat status)" = "$1" ] || fail "exit status $(cat status), not $1"
}

# said REGEX, not_said REGEX: on standard error.  A command that ends with an error says its
# cause, without the name that the event has in the log.
said() {
    regex=${1#lost: }
    grep -q -e "${regex#changed: }" said || fail "no '$1' in: $(cat said)"
}

not_said() {
    ! grep -e "$1" said || fail "'$1' was said"
}

# asked REGEX, not_asked REGEX: a request that the origin got (origin.py).
asked() {
    grep -q -e "$1" "origin-log.$n_origins" || fail "no request with '$1'"
}

not_asked() {
    ! grep -e "$1" "origin-log.$n_origins" || fail "there was a request with '$1'"
}

# ---- damaged shards ----

one=train-000001.tar # the one that gets damaged
victim=shards/$one

# small_shards [OPTION...]: good_shards for damage, also by HTTP; whole/ has a copy of them, and
# rest/ is to have what is left of them.
small_shards() {
    good_shards --bytes 3000 "$@"
    cp -r shards whole
    cp -r shards rest
    start_origin shards
}

# block_of NAME: the block (512 bytes) of the victim at which this member's header is.
block_of() {
    tar tRf "whole/$one" | sed -n "s|^block \([0-9]*\): $1\$|\1|p"
}

byte_of() {
    echo $((512 * $(block_of "$1")))
}

# zero BYTE N: zeros in the victim.
zero() {
    head -c "$2" /dev/zero | dd of="$victim" bs=1 seek="$1" conv=notrunc status=none
}

# flip BYTE: another lowest bit in the victim.
flip() {
    "$python" - "$victim" "$1" <<'EOF'
import sys
with open(sys.argv[1], "r+b") as file:
    file.seek(int(sys.argv[2]))
    byte = file.read(1)[0]
    file.seek(int(sys.argv[2]))
    file.write(bytes([byte ^ 1]))
EOF
}

# restore: no damage any more.
restore() {
    cp whole/* shards
    cp whole/* rest
}

# keep_before NAME: what is left of the victim ends before this member, as a whole tar.
keep_before() {
    cp "whole/$one" "rest/$one"
    truncate -s "$(byte_of "$1")" "rest/$one"
    truncate -s +1024 "rest/$one"
}

# damaged BYTE CAUSE: with on-error=skip an epoch has what is in rest/, exactly once; with
# fail it breaks, and is the same up to there.  (It need not be the epoch of the whole shard:
# sizes of shards are part of the order.)  Both name the byte and the cause; by HTTP just as
# locally.  What skip said is left.
damaged() {
    for source in shards "$origin/$three"; do
        cat_of -o on-error=skip "$source" epochs/0.tar
        [ $status = 0 ] || fail "exit status $status with on-error=skip"
        "$python" "$top/tests/lib/compare.py" rest got.tar
        said "skip: $one @ $1: $2"
        [ "$(wc -l <said)" = 1 ] || fail "not said once"
        mv got.tar skipped.tar
        mv said skip-said
        ends_early skipped.tar -o on-error=fail "$source"
        said "epochs/0.tar: read error at byte [0-9]*: $one @ $1: $2.*; on-error=skip"
        [ "$(wc -l <said)" = 1 ] || fail "not said once"
        mv skip-said said
    done
}
