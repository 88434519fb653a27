#!/bin/sh
# SPDX-License-Identifier: MIT
# configure --without-sidecar builds a mount where there is no libjpeg, libpng or ZeroMQ.  It
# installs nothing of the sidecar, its help and manuals do not promise it, forwarding says that it
# was built without it, and `make check` skips the sidecar's tests with that reason.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

[ -x "$top/configure" ] || skip "no configure: this is not the tree of a build"
! has_sanitizer || skip "once without a sanitizer is enough"

# A system without them: neither pkg-config nor the compiler finds them.
mkdir pc hidden hidden/infiniband hidden/rdma out
pkg-config --variable pc_path pkg-config | tr : '\n' | while read -r folder; do
    for pc in "$folder"/*.pc; do
        [ ! -e "$pc" ] || [ -e "pc/${pc##*/}" ] || ln -s "$pc" pc/
    done
done
rm -f pc/libjpeg.pc pc/libturbojpeg.pc pc/libpng*.pc pc/libzmq.pc pc/libibverbs.pc pc/librdmacm.pc
for header in jpeglib.h turbojpeg.h png.h zmq.h infiniband/verbs.h rdma/rdma_cma.h cuda_runtime_api.h; do
    echo '#error "it is not installed"' >"hidden/$header"
done
export PKG_CONFIG_LIBDIR="$work/pc" CPPFLAGS="-I$work/hidden"
unset PKG_CONFIG_PATH MAKEFLAGS MAKELEVEL MFLAGS TESTS TEST_LOGS

cd out
! "$top/configure" -q PYTHON3="$python" >said 2>&1 || fail "configured a sidecar without libjpeg"
grep -q "libjpeg-turbo is missing.*--without-sidecar" said || fail "no remedy: $(cat said)"
! "$top/configure" -q --without-sidecar --with-zmq >said 2>&1 || fail "a plug-in of no sidecar"
grep -q -e "--with-zmq .* --without-sidecar" said || fail "why? $(cat said)"

"$top/configure" -q --without-sidecar --enable-werror --prefix=/usr PYTHON3="$python" CFLAGS=-O0 >said 2>&1 ||
    fail "$(cat said)"
grep -q "sidecar .*  no$" said || fail "the summary does not say so: $(cat said)"
make -s -j"$(nproc)" >made 2>&1 || fail "$(tail -n 30 made)"
make -s install DESTDIR="$work/root" >made 2>&1 || fail "$(tail -n 30 made)"
cd ..
(cd root && find . ! -type d) | sort >installed
grep -qx ./usr/bin/shufflefs installed || fail "what was installed? $(cat installed)"
! grep -i -e sidecar -e ring -e ioctl -e '\.so' installed || fail "it installs something of the sidecar"
mount=$work/root/usr/bin/shufflefs
! ldd "$mount" | grep -e jpeg -e png -e zmq -e ibverbs || fail "it is linked with the sidecar's libraries"

# What is promised.
"$mount" --help >help
! grep -i -e forward -e sidecar -e tensor help || fail "--help promises it"
sed 's/^\.\\".*//' root/usr/share/man/man1/shufflefs.1 >manual
! grep -i -e forward -e sidecar -e tensor -e shufflefs-ioctl manual || fail "the manual promises it"
grep -q "XDG_CACHE_HOME" manual || fail "the manual ends early"
"$mount" forward --help >said
grep -q "built without the sidecar" said || fail "forward --help: $(cat said)"
! "$mount" forward --fields=cls x.tar local:/tmp/x >said 2>&1 || fail "it forwards"
[ "$(cat said)" = "shufflefs: this shufflefs was built without the sidecar" ] || fail "forward says: $(cat said)"

# Its tests.
make -s -C out check-TESTS TESTS="tests/lib/sidecar-unit-tests-are-left-out.sh tests/sidecar/sidecar-tcp-feeds-a-ring.sh
    tests/fuse/fuse-a-stream-is-forwarded-by-ioctl.sh tests/cat/cat-help-of-a-command-is-about-it.sh
    tests/repo/repo-manuals-are-whole.sh" >said 2>&1 || fail "$(cat said out/tests/*/*.log)"
for test in lib/sidecar-unit-tests-are-left-out sidecar/sidecar-tcp-feeds-a-ring; do
    grep -q "^SKIP: this build is --without-sidecar" "out/tests/$test.log" || fail "$test: $(cat "out/tests/$test.log")"
done
grep -q "^PASS: tests/cat/cat-help-of-a-command" said || fail "$(cat said)"
printf 'print-tests:\n\t@echo $(TESTS) $(check_PROGRAMS)\n' >print.mk
make -s -C out -f Makefile -f ../print.mk print-tests | tr ' ' '\n' >tests
grep -qx tests/unit/tar/unit-key-follows-webdataset tests || fail "no unit tests: $(cat tests)"
! grep -e tests/unit/sidecar -e tests/lib/ring tests || fail "these cannot be built"

# The ioctl of a mount.
[ -w /dev/fuse ] || exit 0
make_labels data.tar 10
mkdir mnt
"$mount" mount data.tar mnt
"$python" - "$top" mnt/epochs/0.tar <<'PY' || fail "the ioctl"
import errno, fcntl, struct, sys

def ioctl(nr, size, data):
    argument = bytearray(struct.pack("II", size, 0) + data.ljust(size - 8, b"\0"))
    try:
        fcntl.ioctl(file, 0xC0000000 | size << 16 | 0xEF << 8 | nr, argument)
        return 0, argument
    except OSError as error:
        return error.errno, argument

file = open(sys.argv[2], "rb")
error, version = ioctl(0, 64, b"")
abi, commands = struct.unpack_from("II", version, 8)
assert (error, abi, commands & 3) == (0, 1, 1), (error, abi, commands)
error, answer = ioctl(1, 3584, b"")
assert error == errno.EOPNOTSUPP, error
assert b"built without the sidecar" in answer, answer
PY
"$mount" umount mnt
