# SPDX-License-Identifier: MIT
# What the tests against a real MinIO share, after functions.sh, faults.sh and s3.sh.  Its program
# is that of $MINIO, or in the PATH: scripts/get-minio builds it.  In CI it may be missing only
# where its source cannot be had.

# A region of its own, which it insists on.
minio_region=eu-west-1

find_minio() {
    ! has_sanitizer ||
        skip "S3 is tried on tests/lib/s3.py under a sanitizer: once on MinIO is enough"
    minio_program=${MINIO:-$(command -v minio || true)}
    if [ -n "${SHUFFLEFS_CI:-}" ] && [ -n "$minio_program" ]; then
        [ ! -e "$minio_program.unreached" ] || skip "no MinIO: $(tail -n 1 "$minio_program.unreached")"
        [ ! -e "$minio_program.failed" ] || fail "MinIO could not be built: $(tail -n 5 "$minio_program.failed")"
    fi
    [ -x "$minio_program" ] || skip "no MinIO: scripts/get-minio FOLDER builds it, then MINIO=FOLDER/minio"
}

# client COMMAND...: as the owner of the server; see minio-client.py.
client() {
    AWS_ACCESS_KEY_ID=AKIDONE AWS_SECRET_ACCESS_KEY=SECRET-of-minio AWS_REGION=$minio_region \
        "$python" "$top/tests/lib/minio-client.py" "$minio" "$@" || fail "the client failed: $*"
}

# start_minio [PORT]: with its data in ./minio, by TLS if ./certs is there; sets $minio, its URL,
# $minio_pid, and $s3, the options for it.  Its owner's keys are AKIDONE and SECRET-of-minio.
start_minio() {
    find_minio
    export MINIO_ROOT_USER=AKIDONE MINIO_ROOT_PASSWORD=SECRET-of-minio MINIO_SITE_REGION=$minio_region
    export MINIO_UPDATE=off MINIO_BROWSER=off
    mkdir -p minio
    for try in 1 2 3 4 5; do
        port=${1:-$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')}
        minio="http://127.0.0.1:$port"
        [ ! -e certs ] || minio="https://127.0.0.1:$port"
        s3="-o endpoint=$minio,region=$minio_region"
        "$minio_program" server --quiet --certs-dir "$work/certs" --address "127.0.0.1:$port" minio >minio-log 2>&1 &
        minio_pid=$!
        # (A server that has ended would be waited for in vain.)
        for i in $(seq 120); do
            kill -0 $minio_pid 2>/dev/null || continue 2
            ! "$python" "$top/tests/lib/minio-client.py" "$minio" ready 2>/dev/null || return 0
        done
    done
    fail "MinIO does not start: $(cat minio-log)"
}

# start_identity: MinIO, started after it, lends keys for any time (client assume).
start_identity() {
    "$python" "$top/tests/lib/minio-client.py" http://nowhere identity >identity-port 2>identity-log &
    wait_until 30 grep -q . identity-port
    MINIO_IDENTITY_PLUGIN_URL="http://127.0.0.1:$(cat identity-port)/"
    export MINIO_IDENTITY_PLUGIN_URL MINIO_IDENTITY_PLUGIN_ROLE_ID=tests MINIO_IDENTITY_PLUGIN_ROLE_POLICY=readwrite
}

kill_minio() {
    kill -9 $minio_pid
    wait $minio_pid 2>/dev/null || true
}

# owner_has_keys: those of the server's owner are in the file of credentials.
owner_has_keys() {
    has_keys AKIDONE SECRET-of-minio
}
