#!/bin/sh
# SPDX-License-Identifier: MIT
# The Python module is built from its source distribution into one wheel for all CPythons since
# 3.9, and takes batches of a real ring: views of its memory, each batch once, with errors that
# say what happened.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

needs="import setuptools, numpy, os, pip, sysconfig, wheel
os.stat(os.path.join(sysconfig.get_paths()['include'], 'Python.h'))"
if ! "$python" -c "$needs" 2>lacks; then
    python=/usr/bin/python3
    "$python" -c "$needs" 2>lacks || {
        [ "${SHUFFLEFS_CI:-}" != 1 ] || fail "the module cannot be built: $(tail -n 1 lacks)"
        skip "no python3 with its headers, numpy, pip, setuptools and wheel: $(tail -n 1 lacks)"
    }
fi
producer=$build/tests/lib/ring-producer
[ -x "$producer" ] || fail "there is no $producer"

mkdir source
cp -R "$top/python" "$top/sidecar" "$top/include" "$top/LICENSE" source
chmod -R u+w source
(cd source/python && "$python" -c "from setuptools import build_meta; build_meta.build_sdist('../..')") >built 2>&1 ||
    fail "no source distribution: $(cat built)"
SHUFFLEFS_BUILD="$build" "$python" -m pip --disable-pip-version-check wheel -q --no-index --no-deps --no-build-isolation \
    --wheel-dir . shufflefs-*.tar.gz >built 2>&1 || fail "no wheel: $(cat built)"
! grep -i warning: built || fail "with warnings"
ls shufflefs-*-cp39-abi3-linux_*.whl || fail "not for all CPythons: $(ls)"
"$python" -m zipfile -e shufflefs-*.whl site
"$python" -c 'import sys, zipfile
assert zipfile.ZipFile(sys.argv[1]).getinfo("shufflefs/bin/shufflefs-sidecar").external_attr >> 16 & 0o111' \
    shufflefs-*.whl || fail "without the sidecar of the build"
cmp "$build/shufflefs-sidecar" site/shufflefs/bin/shufflefs-sidecar || fail "another sidecar"
[ -e site/shufflefs/py.typed ] || fail "without its type hints"

"$python" -c "import torch" 2>/dev/null || echo "$python has no torch: what needs it is left out"
PYTHONPATH=$work/site "$python" -W error::ResourceWarning "$top/tests/lib/python-ring.py" "$producer" "$top" ||
    fail "see above"
