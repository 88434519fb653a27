# SPDX-License-Identifier: MIT
# What the tests of AIStore share, after functions.sh and faults.sh: start_ais starts a proxy and
# two targets (ais.py), whose buckets are the folders of world/buckets.

unset AIS_ENDPOINT AIS_AUTHN_TOKEN AIS_AUTHN_TOKEN_FILE
. "$top/tests/lib/stores.sh"

start_ais() {
    expect '{}'
    start_origin world 0 ais.py
    ais="-o endpoint=$origin"
}

# keeps_secrets: no token has gone to a target, and no redirect or token was shown.
keeps_secrets() {
    not_asked '"target[01]".*"authorization"'
    not_said 'SECRET\|utm=\|TOKEN-'
}
