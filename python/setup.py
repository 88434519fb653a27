# SPDX-License-Identifier: MIT
"""The extension: the C library of rings is compiled into it.  Its sources are in
sidecar/ring/ and include/ of the repository, and are copied from there to csrc/, which a source
distribution has.

shufflefs-sidecar comes along if this source tree has built it, in its folder or in build/, or in
the folder that SHUFFLEFS_BUILD names.  If not, shufflefs.Batches looks for an installed one."""
import os
import shutil
import sys

from setuptools import Extension, setup

COPIES = {
    "sidecar/ring/ring-consumer.c": "csrc/ring/ring-consumer.c",
    "sidecar/ring/ring-guard.h": "csrc/ring/ring-guard.h",
    "sidecar/ring/ring-memory.h": "csrc/ring/ring-memory.h",
    "sidecar/ring/ring-sane.h": "csrc/ring/ring-sane.h",
    "include/shufflefs/ring.h": "csrc/shufflefs/ring.h",
    "LICENSE": "LICENSE",
}
if os.path.exists("../sidecar/ring/ring-consumer.c"):
    os.makedirs("csrc/ring", exist_ok=True)
    os.makedirs("csrc/shufflefs", exist_ok=True)
    for original, copy in COPIES.items():
        shutil.copyfile("../" + original, copy)

SIDECAR = "shufflefs-sidecar"
BUILT = [os.path.join(folder, SIDECAR)
         for folder in (os.environ.get("SHUFFLEFS_BUILD"), "..", "../build") if folder]
bundled = os.path.join("shufflefs/bin", SIDECAR)
if os.path.exists(bundled):
    os.remove(bundled)
for built in BUILT:
    if os.access(built, os.X_OK):
        os.makedirs("shufflefs/bin", exist_ok=True)
        shutil.copy(built, bundled)
        print("shufflefs-sidecar is %s" % os.path.abspath(built))
        break
else:
    print("shufflefs-sidecar is missing: this source tree has not built it (./autogen.sh && ./configure && "
          "make). shufflefs.Batches needs one that is installed.", file=sys.stderr)

setup(
    ext_modules=[Extension(
        "shufflefs._ring", ["shufflefs/_ring.c", "csrc/ring/ring-consumer.c"],
        depends=["csrc/ring/ring-guard.h", "csrc/ring/ring-memory.h", "csrc/ring/ring-sane.h", "csrc/shufflefs/ring.h"],
        include_dirs=["csrc"],
        define_macros=[("_GNU_SOURCE", "1"), ("Py_LIMITED_API", "0x03090000")],
        extra_compile_args=["-std=gnu11", "-fvisibility=hidden"],
        py_limited_api=True)],
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)
