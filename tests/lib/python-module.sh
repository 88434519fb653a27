# SPDX-License-Identifier: MIT
# The Python module, for tests that use it: source it after functions.sh.
#
# has_module: builds it into $work/site, with the sidecar of this build, and sets $python to one that
# can; PYTHONPATH has it.

has_module() {
    has_module="import setuptools, numpy, os, sysconfig
os.stat(os.path.join(sysconfig.get_paths()['include'], 'Python.h'))"
    if ! "$python" -c "$has_module" 2>lacks; then
        python=/usr/bin/python3
        "$python" -c "$has_module" 2>lacks || {
            [ "${SHUFFLEFS_CI:-}" != 1 ] || fail "the module cannot be built: $(tail -n 1 lacks)"
            skip "no python3 with its headers, numpy and setuptools: $(tail -n 1 lacks)"
        }
    fi
    mkdir source
    cp -R "$top/python" "$top/sidecar" "$top/include" "$top/LICENSE" source
    chmod -R u+w source
    (cd source/python && SHUFFLEFS_BUILD="$build" "$python" -W ignore setup.py -q build_ext --inplace) >built 2>&1 ||
        fail "no module: $(cat built)"
    mv source/python site
    rm -rf source
    export PYTHONPATH="$work/site"
}
