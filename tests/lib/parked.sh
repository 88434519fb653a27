# SPDX-License-Identifier: MIT
# What the tests of readers that wait share, after functions.sh:
#
#     . "$top/tests/lib/parked.sh"

# Nothing runs out of time by itself while a test runs.
patient="-o stall-timeout=10m,read-timeout=10m,lanes=4,buffer=64K"

# stalling_shards [OPTION...]: shards in shards/, and an origin that sends them;
# while there is a file shards/stalled, it falls silent instead, but for sizes.  Sets
# $origin and $stalling, the URL of its shards.
stalling_shards() {
    make_shards shards --bytes 20000 --samples 20 "$@"
    start_origin shards
    last=$(find shards -name 'train-*.tar' | sort | sed -n '$s/.*-\([0-9]*\)\.tar/\1/p')
    stalling="$origin/stall,over=600,while=stalled/train-{000000..$last}.tar"
    touch shards/stalled
}

# is_parked COMMAND PID...: each runs this command, and waits in the kernel.
is_parked() {
    command=$1
    shift
    for p in "$@"; do
        read -r line <"/proc/$p/stat" || return 1
        case "$line" in
        *"($command) "[SD]*) ;;
        *) return 1 ;;
        esac
    done
}

# are_parked COMMAND PID...: wait until they are, and stay so.
are_parked() {
    wait_until 60 stay_parked "$@"
}

stay_parked() {
    is_parked "$@" && sleep 0.2 && is_parked "$@"
}

# stop PID: and wait until each of its threads has stopped.  Until then one may still take a
# request of the kernel's, and whoever waits for that answer cannot even be killed.
stop() {
    kill -STOP "$1"
    wait_until 60 has_stopped "$1"
}

has_stopped() {
    ! cat "/proc/$1"/task/*/stat | sed 's/.*) //' | grep -qv '^T'
}

# end_daemon PID: whatever still waits then gets an error, so that a test that fails ends.
end_daemon() {
    ! grep -qs '^Name:.*shufflefs' "/proc/${1:-none}/status" || kill -KILL "$1"
}
