# SPDX-License-Identifier: MIT
"""The extension: the C library of rings is compiled into it.  Its sources are in
sidecar/ring/ and include/ of the repository, and are copied from there to csrc/, which a source
distribution has."""
import os
import shutil

from setuptools import Extension, setup

COPIES = {
    "sidecar/ring/ring-consumer.c": "csrc/ring/ring-consumer.c",
    "sidecar/ring/ring-memory.h": "csrc/ring/ring-memory.h",
    "include/shufflefs/ring.h": "csrc/shufflefs/ring.h",
    "LICENSE": "LICENSE",
}
if os.path.exists("../sidecar/ring/ring-consumer.c"):
    os.makedirs("csrc/ring", exist_ok=True)
    os.makedirs("csrc/shufflefs", exist_ok=True)
    for original, copy in COPIES.items():
        shutil.copyfile("../" + original, copy)

setup(
    ext_modules=[Extension(
        "shufflefs._ring", ["shufflefs/_ring.c", "csrc/ring/ring-consumer.c"],
        depends=["csrc/ring/ring-memory.h", "csrc/shufflefs/ring.h"],
        include_dirs=["csrc"],
        define_macros=[("_GNU_SOURCE", "1"), ("Py_LIMITED_API", "0x03090000")],
        extra_compile_args=["-std=gnu11", "-fvisibility=hidden"],
        py_limited_api=True)],
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)
