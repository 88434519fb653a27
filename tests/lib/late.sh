# SPDX-License-Identifier: MIT
# What the tests of commands that give up share, after functions.sh:
#
#     . "$top/tests/lib/late.sh"

soon="-o read-timeout=3s,lanes=2,buffer=64K,index-cache=no"

# ends_late COMMAND...: in the background: it fails, by its deadline and not before, and says
# so.  all_ended waits for all of these.
n_late=0
ends_late() {
    n_late=$((n_late + 1))
    (
        begun=$(date +%s)
        status=0
        timeout $patience "$@" >got.$n_late 2>said.$n_late || status=$?
        took=$(($(date +%s) - begun))
        [ $status != 124 ] || echo "still at it after $patience s: $*"
        [ $status = 1 ] || echo "status $status of: $*: $(cat said.$n_late)"
        [ $took -ge 2 ] || echo "gave up after $took s: $*: $(cat said.$n_late)"
        grep -q " 3 s (read-timeout)" said.$n_late ||
            echo "said by $*: $(cat said.$n_late)"
    ) >verdict.$n_late 2>&1 &
    late_jobs="${late_jobs:-} $!"
}

all_ended() {
    wait $late_jobs
    late_jobs=""
    cat verdict.*
    [ -z "$(cat verdict.*)" ] || fail "see above"
}
