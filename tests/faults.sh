# SPDX-License-Identifier: MIT
# What the tests of faults share, after functions.sh:
#
#     . "$top/tests/faults.sh"
#
# want.tar is the epoch as it should be, got.tar what was read, `said` what was said on
# standard error; $status is the exit status.

# Give up early, so that the tests are fast.
quick="-o retries=2,stall-timeout=300ms,connect-timeout=2s,lanes=2,buffer=64K"
three="train-{000000..000002}.tar"

# dash knows no jobs in a pipe's subshell, so that clean_up would wait for the origins.
cleanup 'jobs -p >"$work/jobs"; xargs -r kill <"$work/jobs"'

# good_shards [OPTION...]: three shards in shards/, and the epoch of them in want.tar
good_shards() {
    make_shards shards --bytes 20000 --samples 40 "$@"
    "$shufflefs" cat $quick shards epochs/0.tar >want.tar
    "$python" "$top/tests/compare.py" shards want.tar
}

# cat_of [-o OPTIONS] SOURCE... PATH: shufflefs cat to got.tar, which ends at all.
cat_of() {
    status=0
    timeout 60 "$shufflefs" cat $quick "$@" >got.tar 2>said || status=$?
    sed 's/^/| /' said >&2
    [ $status != 124 ] || fail "still at it after a minute: $*"
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
    cat_of "$@" epochs/0.tar
    [ $status = 1 ] || fail "exit status $status, not 1, of: $*"
    n=$(wc -c <got.tar)
    [ "$n" -lt "$(wc -c <want.tar)" ] || fail "an error, but all bytes, of: $*"
    cmp -n "$n" want.tar got.tar || fail "wrong bytes before the error"
    [ -s said ] || fail "an error without a word"
}

# refused [-o OPTIONS] SOURCE...: an error at once, in one line, without any byte.
refused() {
    cat_of "$@" epochs/0.tar
    [ $status = 1 ] || fail "exit status $status, not 1, of: $*"
    [ ! -s got.tar ] || fail "bytes, though it was refused"
    [ "$(wc -l <said)" = 1 ] || fail "not one line: $(cat said)"
}

# said REGEX, not_said REGEX: on standard error.
said() {
    grep -q -e "$1" said || fail "no '$1' in: $(cat said)"
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

# block_of SHARD NAME: the block (512 bytes) at which this member's header is.
block_of() {
    tar tRf "$1" | sed -n "s|^block \([0-9]*\): $2\$|\1|p"
}

# damaged EXPECTED_FOLDER CAUSE: shards/ has damage.  With on-error=fail an epoch breaks;
# with skip it has what is in the expected folder, exactly once; both name the cause.
damaged() {
    breaks -o on-error=fail shards
    said "lost: train-000001.tar @ [0-9]*: .*$2"
    said "cannot read on after byte [0-9]*: Input/output error"
    cat_of -o on-error=skip shards epochs/0.tar
    [ $status = 0 ] || fail "exit status $status with on-error=skip"
    "$python" "$top/tests/compare.py" "$1" got.tar
    said "skip: train-000001.tar @ [0-9]*: .*$2"
    [ "$(wc -l <said)" = 1 ] || fail "not said once"
}

# end_tar FILE BLOCK: end it before this block, as a whole tar.
end_tar() {
    truncate -s "$(($2 * 512))" "$1"
    truncate -s +1024 "$1"
}
