# SPDX-License-Identifier: MIT
# What the tests in the machine share.  Each runs in an empty folder, with $top, $build, $data
# and $ADDRESS, as root.  (Some also run without a machine, over scripted verbs:
# sidecar-rdma-keeps-its-promises-without-a-card.sh.)
set -eu
sidecar=$build/shufflefs-sidecar
drain=$build/tests/lib/ring-drain
peer=${VERBS_PEER:-$build/tests/lib/verbs-peer}
export SHUFFLEFS_PLUGINS="${SHUFFLEFS_PLUGINS:-$build}"

fail() {
    echo "FAIL: $*"
    tail -n 20 ./*.log 2>/dev/null || :
    exit 1
}

# until_so COMMAND...: wait for it.
until_so() {
    for _ in $(seq 1500); do
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 0.02
    done
    fail "waited in vain: $*"
}

# The 4000 samples of $data/many.tar are 1000 batches.
fields='img:raw,u1,3x16x16;cls'
send() {
    "$sidecar" send "$@" --fields "$fields" --batch 4
}

# recv OPTION...: at $url, with its process $receiver.  Without a secret, unless $secret is a file.
recv() {
    rm -f recv.log
    "$sidecar" recv "rdma://${at:-$ADDRESS:0}" --ring ring ${secret:+--secret-file} "${secret:---insecure}" "$@" 2>recv.log &
    receiver=$!
    until_so grep -q 'senders on' recv.log
    url=$(sed -n 's/.*senders on //p' recv.log)
}

# drain_to FILE [OPTION...]: what the ring gives; process $trainer.
drain_to() {
    file=$1
    shift
    "$drain" "$@" ring >"$file" 2>drain.log &
    trainer=$!
}

# The rows that $1 has are those of all samples, each once.
has_all() {
    sed -n 's/^row .* //p' "$1" | sort -n >numbers
    seq 0 3999 | cmp - numbers || fail "$1 has other samples"
}

# ---- of two machines that are wired together: $SIDE a receives, and b sends

# meet WHAT: wait until the other one is here as well; the limit of the whole test is the only one.
meet() {
    touch "/run/wire/$NAME.$1.$SIDE"
    until [ -e "/run/wire/$NAME.$1.a" ] && [ -e "/run/wire/$NAME.$1.b" ]; do
        sleep 0.05
    done
}

# wire cut|mend|unplug SIDE|plug SIDE: as tests/rdma/wire does; only side a asks.
wire() {
    echo "$*" >/run/wire/ask.new
    mv /run/wire/ask.new /run/wire/ask
    until_so test ! -e /run/wire/ask
}

# (A test that has failed may have left it broken.)
if [ "${SIDE:-}" = a ]; then
    wire mend
    wire plug a
    wire plug b
fi

# goes_on_after BREAK MEND: while batches flow, the wire breaks.  Both ends notice; when it is whole
# again, the rest arrives, and the trainer has each batch once.
goes_on_after() {
    if [ "$SIDE" = a ]; then
        at=$ADDRESS:7474
        recv
        drain_to got --again 5000
        meet ready
        until_so grep -q batch got
        begin=$(date +%s%N)
        # shellcheck disable=SC2086 # words
        wire $1
        until_so grep -q 'the connection was lost\|it was silent for 10 s' recv.log
        receiver_ms=$((($(date +%s%N) - begin) / 1000000))
        meet lost
        echo "$NAME: the receiver noticed after $receiver_ms ms, both after $((($(date +%s%N) - begin) / 1000000))" \
            >"/run/wire/$NAME.took"
        # shellcheck disable=SC2086
        wire $2
        wait $trainer || fail "the trainer"
        wait $receiver || fail "recv"
        cp got /run/wire/got
        meet end
    else
        drain_to wanted
        send "$data/many.tar" local:ring
        wait $trainer || fail "local"
        meet ready
        send "$data/many.tar" rdma://10.77.0.1:7474 2>send.log &
        sender=$!
        until_so grep -q 'connecting again' send.log
        meet lost
        wait $sender || fail "send"
        meet end
        [ "$(grep -c ^batch /run/wire/got)" = 1000 ] || fail "$(grep -c ^batch /run/wire/got) batches"
        cmp wanted /run/wire/got || fail "others"
    fi
}
