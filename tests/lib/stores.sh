# SPDX-License-Identifier: MIT
# What the tests of stores share, after functions.sh and faults.sh: the buckets of a store are the
# folders of world/buckets, and world/server.json is what its server is like.

mkdir -p world/buckets

# expect JSON: what it is like from now on.
expect() {
    echo "$1" >world/new.json
    mv world/new.json world/server.json
}

# requests REGEX: how many that the server got have this in their line of the log.
requests() {
    grep -c -e "$1" "origin-log.$n_origins" || true
}

# forget: the requests so far.
forget() {
    : >"origin-log.$n_origins"
}
