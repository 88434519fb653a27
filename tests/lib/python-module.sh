# SPDX-License-Identifier: MIT
# The Python module, for tests that use it: source it after functions.sh.
#
# has_module [PACKAGE,...]: PYTHONPATH has it, with the sidecar of this build, and $python is one that
# can use it and has the packages (numpy, unless others are named).  The first test builds it, in the
# build's folder; the others take that, until a source or the sidecar is another one.

module_is_built() {
    [ "$(cat "$built/key" 2>/dev/null)" = "$key" ]
}

has_module() {
    needs="import setuptools, ${1:-numpy}, os, sysconfig
os.stat(os.path.join(sysconfig.get_paths()['include'], 'Python.h'))"
    if ! "$python" -c "$needs" 2>lacks; then
        python=/usr/bin/python3
        "$python" -c "$needs" 2>lacks || {
            [ "${SHUFFLEFS_CI:-}" != 1 ] || fail "the module cannot be built: $(tail -n 1 lacks)"
            skip "no python3 with its headers, setuptools and ${1:-numpy}: $(tail -n 1 lacks)"
        }
    fi
    built=$build/tests/lib/python-module
    key=$(command -v "$python" && cd "$top" && cat python/setup.py python/shufflefs/*.* sidecar/ring/*.[ch] \
        include/shufflefs/*.h "$build/shufflefs-sidecar" | cksum)
    mkdir -p "$build/tests/lib"
    {
        flock 9
        module_is_built || build_module
    } 9>"$built.lock"
    ln -s "$built/site" site
    export PYTHONPATH="$work/site"
}

build_module() {
    mkdir source
    cp -R "$top/python" "$top/sidecar" "$top/include" "$top/LICENSE" source
    chmod -R u+w source
    (cd source/python && SHUFFLEFS_BUILD="$build" "$python" -W ignore setup.py -q build_ext --inplace) >said 2>&1 ||
        fail "no module: $(cat said)"
    rm -rf "$built"
    mkdir "$built"
    mv source/python "$built/site"
    rm -rf source
    echo "$key" >"$built/key"
}
