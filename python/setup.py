# SPDX-License-Identifier: MIT
"""The extension: the C library of rings is compiled into it.  csrc/ has links to the library's
files in this tree, so a source distribution, which has files in their place, needs no tree."""
from setuptools import Extension, setup

setup(
    ext_modules=[Extension(
        "shufflefs._ring", ["shufflefs/_ring.c", "csrc/ring-consumer.c"],
        depends=["csrc/ring-memory.h", "csrc/shufflefs/ring.h"],
        include_dirs=["csrc"],
        define_macros=[("_GNU_SOURCE", "1"), ("Py_LIMITED_API", "0x03090000")],
        extra_compile_args=["-std=gnu11", "-fvisibility=hidden"],
        py_limited_api=True)],
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)
