#!/bin/sh
# SPDX-License-Identifier: MIT
# What sidecar-a-storm-of-kills-loses-nothing says of tcp:// is so over rdma://, on scripted verbs.
# $RDMA_KILL_ROUNDS rounds, 4 by default.
export KILL_SCHEME=rdma KILL_ROUNDS="${RDMA_KILL_ROUNDS:-4}"
SHUFFLEFS_PLUGINS="${abs_top_builddir:-$PWD}/tests/lib/scripted"
[ -e "$SHUFFLEFS_PLUGINS/rdma.so" ] || {
    echo "SKIP: built without libibverbs"
    exit 77
}
export SHUFFLEFS_PLUGINS
exec sh "${srcdir:-$(dirname "$0")/../..}/tests/sidecar/sidecar-a-storm-of-kills-loses-nothing.sh"
