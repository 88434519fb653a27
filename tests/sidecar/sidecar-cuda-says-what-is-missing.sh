#!/bin/sh
# SPDX-License-Identifier: MIT
# The plug-in for CUDA links the runtime and not the driver; without the runtime, without a driver,
# or without that GPU, one line says which it is.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
[ -e "$build/cuda.so" ] || {
    [ -z "${CUDA_FOR_TESTS:-}" ] || fail "configured with CUDA in $CUDA_FOR_TESTS, and there is no cuda.so"
    skip "built without CUDA (configure --with-cuda)"
}
requires readelf
unset LD_LIBRARY_PATH
export SHUFFLEFS_PLUGINS="$build"
readelf -d "$build/cuda.so" >needs
grep -q 'NEEDED.*libcudart' needs || fail "does not link the runtime: $(cat needs)"
! grep 'NEEDED.*libcuda\.' needs || fail "links the driver"
! grep -E 'R(UN)?PATH' needs || fail "has a path of this machine"
make_shards data --shards 1 --samples 8

# complaint MEMORY: what send says, in one line
complaint() {
    "$build/shufflefs-sidecar" send data/*.tar "local:ring?memory=$1" --fields cls:bytes,16 --batch 4 --give-up 1 2>log &&
        fail "$1 is fine"
    [ "$(wc -l <log)" = 1 ] || fail "not one line: $(cat log)"
    cat log
}

library=$(sed -n 's/.*NEEDED.*\[\(libcudart[^]]*\)\].*/\1/p' needs)
folder=$(sed -n 's/^CUDA_LIBDIR = //p' "$build/Makefile")
if ! ldconfig -p 2>/dev/null | grep -q "$library"; then
    complaint cuda | grep "cannot load the plug-in .*cuda.so: $library: cannot open.*install it, or name its folder" ||
        fail "without the runtime: $(cat log)"
fi
export LD_LIBRARY_PATH="$folder"
if [ -e /dev/nvidiactl ]; then
    complaint cuda:GPU-0 | grep "there is no GPU 'GPU-0'; choose one of" || fail "of a wrong UUID: $(cat log)"
else
    complaint cuda | grep 'this host has no CUDA driver (libcuda.so.1): install' || fail "without a driver: $(cat log)"
    # So says the Python module.
    PYTHONPATH=$top/tests/lib "$python" - "$top" "$folder" <<'END' || fail "see above"
import sys, types, importlib.util
top, folder = sys.argv[1:]
package = types.ModuleType("shufflefs")
package.__path__ = [top + "/python/shufflefs"]
ring = types.ModuleType("shufflefs._ring")
ring.RingError = type("RingError", (RuntimeError,), {})
sys.modules.update({"shufflefs": package, "shufflefs._ring": ring})
sys.dont_write_bytecode = True
from shufflefs import cuda
try:
    cuda.Runtime().n_devices()
    sys.exit("there is a driver?")
except ring.RingError as error:
    assert "has no CUDA driver (libcuda.so.1)" in str(error), error
try:
    cuda.Runtime().call("cudaSetDevice", 99)
    sys.exit("there is a device 99?")
except ring.RingError as error:
    assert str(error).startswith("CUDA: cudaSetDevice: "), error
END
fi
