# SPDX-License-Identifier: MIT
# What is wrong is said in one line that names it: the port, the host, the device, the limit of
# locked memory.
. "$top/tests/rdma/functions.sh"

# says WORDS COMMAND...
says() {
    words=$1
    echo "$words"
    shift
    ! "$@" 2>said || fail "no error: $*"
    grep -q "$words" said || fail "$*: $(cat said)"
    [ "$(wc -l <said)" = 1 ] || fail "more than a line: $(cat said)"
}
tar=$data/part-0.tar
says "nobody listens there" send "$tar" rdma://$ADDRESS:9 --give-up 1
says "no RDMA device of this host can reach it\|does not answer" send "$tar" rdma://10.77.0.99:9 --give-up 1
says "no RDMA device of this host can reach it\|does not answer" send "$tar" rdma://192.0.2.1:9 --give-up 1
says "this host has no RDMA device 'mlx5_7'" send "$tar" "rdma://$ADDRESS:9?device=mlx5_7"
says "is not rdma://HOST:PORT" send "$tar" rdma://$ADDRESS
says "its options are device=NAME and relaxed-ordering=yes|no" send "$tar" "rdma://$ADDRESS:9?port=1"
says "relaxed-ordering= is an option of recv" send "$tar" "rdma://$ADDRESS:9?relaxed-ordering=yes"
says "device=nearest is an option of recv" send "$tar" "rdma://$ADDRESS:9?device=nearest"
says "device=nearest means nearest to the GPU of --memory cuda: add that" "$sidecar" recv "rdma://*:0?device=nearest" --insecure --ring x
says "no RDMA device of this host has this address" "$sidecar" recv rdma://192.0.2.1:9 --insecure --ring x
recv
says "Address already in use" "$sidecar" recv "$url" --insecure --ring x
kill $receiver
wait $receiver || :

recv
says "the limit of locked memory is 65536; raise it (ulimit -l" \
    sh -c "ulimit -l 64; exec setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock \
        '$sidecar' send '$tar' '$url' --fields '$fields' --batch 4"
kill $receiver
wait $receiver || :

mkdir plugins
ln -s "$build/rdma.so" "$build/tests/lib/fakegpu.so" plugins/
ip link add other type dummy
ip link set other up
rdma link add rxe1 type rxe netdev other
says "cannot tell which RDMA device is nearest to the GPU at ffff:00:1f.7: .*; name one with device=" \
    env SHUFFLEFS_PLUGINS="$PWD/plugins" "$sidecar" recv "rdma://*:0?device=nearest" --insecure --ring x --memory fakegpu
rdma link delete rxe1
ip link delete other

rdma link delete rxe0
says "this host has no RDMA device" send "$tar" rdma://$ADDRESS:9
says "this host has no RDMA device" "$sidecar" recv rdma://$ADDRESS:9 --insecure --ring x
