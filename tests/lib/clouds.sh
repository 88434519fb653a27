# SPDX-License-Identifier: MIT
# What the tests with real clients of clouds and with Azurite share, after functions.sh, faults.sh and
# azure.sh.  They are in $CLOUDS: scripts/get-clouds installs them.

# find_clouds: from here on; else the test is skipped.
find_clouds() {
    ! has_sanitizer || skip "Azure is tried on tests/lib/azure.py under a sanitizer: once on Azurite is enough"
    if [ -n "${SHUFFLEFS_CI:-}" ] && [ -e "${CLOUDS:-}.unreached" ]; then
        skip "no Azurite: $(tail -n 1 "$CLOUDS.unreached")"
    fi
    [ -e "${CLOUDS:-}/complete" ] || skip "no Azurite: scripts/get-clouds FOLDER installs it, then CLOUDS=FOLDER"
}

# cloud_client ARGUMENT...: see cloud-client.py.  (-I: the package azure, and not azure.py beside it.)
cloud_client() {
    "$CLOUDS/venv/bin/python" -I "$top/tests/lib/cloud-client.py" "$@"
}

# start_azurite [PORT]: with its data in ./azurite and the account acct; sets $azurite, the URL of the
# account, $azurite_port and $azurite_pid.
start_azurite() {
    export AZURITE_ACCOUNTS="acct:$azure_key"
    for try in 1 2 3 4 5; do
        azurite_port=${1:-$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')}
        azurite="http://127.0.0.1:$azurite_port/acct"
        # (SIGTERM does not end it while somebody has a connection.)
        rm -f azurite-pid
        {
            node "$CLOUDS/node_modules/.bin/azurite-blob" --silent --skipApiVersionCheck --blobHost 127.0.0.1 \
                --blobPort "$azurite_port" --location "$work/azurite" >azurite-log 2>&1 &
            echo $! >azurite-pid
            trap 'kill -9 $(cat azurite-pid)' TERM
            wait
        } &
        wait_until 30 test -s azurite-pid
        azurite_pid=$(cat azurite-pid)
        for i in $(seq 60); do
            ! is_gone $azurite_pid || continue 2
            ! cloud_client "$azurite" ready 2>/dev/null || return 0
        done
    done
    fail "Azurite does not start: $(cat azurite-log)"
}

kill_azurite() {
    kill -9 $azurite_pid
    wait_until 30 is_gone $azurite_pid
}
