# SPDX-License-Identifier: MIT
# What a ring in CUDA memory must do, for the tests that run it on a GPU and on a runtime without one.
# $CUDA is the --memory that is tried, and SHUFFLEFS_PLUGINS has cuda.so.

producer=$build/tests/ring-producer

# find_module: $python and PYTHONPATH have the module shufflefs, built here.
find_module() {
    needs="import setuptools, os, sysconfig
os.stat(os.path.join(sysconfig.get_paths()['include'], 'Python.h'))"
    "$python" -c "$needs" 2>lacks || python=/usr/bin/python3
    "$python" -c "$needs" 2>lacks || skip "the Python module cannot be built: $(tail -n 1 lacks)"
    mkdir source
    cp -R "$top/python" "$top/rdma" "$top/include" "$top/LICENSE" source
    chmod -R u+w source
    (cd source/python && "$python" setup.py -q build_ext --inplace) >built 2>&1 || fail "$(cat built)"
    export PYTHONPATH=$work/source/python
}

trainer() {
    "$python" "$top/tests/cuda-trainer.py" ring "$@"
}

# produce N: becomes a producer of N batches, and then the end.
produce() {
    { i=0; while [ $i -lt "$1" ]; do echo batch 4; i=$((i + 1)); done; echo end; echo consumed; } >lines
    exec "$producer" ring 4 "$CUDA" <lines >produced
}

# check_contents N LIBRARY: all batches come to another process, with their bytes.
check_contents() {
    produce "$1" &
    trainer "$2" >got || fail "$2: the trainer failed"
    wait $! || fail "$2: the producer failed"
    [ "$(grep -c '^batch ' got)" = "$1" ] || fail "$2: $(tail -n 3 got)"
    [ "$(tail -n 1 got)" = end ] || fail "$2: $(tail -n 3 got)"
}

# check_kills: a trainer that dies with a batch, and a producer that dies.
check_kills() {
    produce 20 &
    trainer numpy die >got && fail "it was to be killed"
    trainer >got || fail "the next trainer failed"
    wait $!
    grep -q '^batch 0 ' got || fail "what the dead held came to nobody: $(head -n 3 got)"

    [ -e commands ] || mkfifo commands
    "$producer" ring 4 "$CUDA" <commands >produced &
    killed=$!
    exec 8>commands
    echo batch 4 >&8
    rm got # the last one's has a batch 0, too
    trainer >got 2>errors &
    wait_until 60 grep -q '^batch 0 ' got
    kill -9 $killed
    wait $! && fail "nobody noticed the producer's death"
    grep -q 'producer died' errors || fail "$(cat errors)"
    exec 8>&-
}
