# SPDX-License-Identifier: MIT
"""Mounts that people use for tars today: rclone and ratarmount.

Each measurement has a mount of its own, so that nothing is cached by the one before;
mounting is not timed.
"""
import contextlib
import os
import shutil
import subprocess
import tempfile

import lab

MOUNT_SECONDS = 120
SHARE_OF_MEMBERS = 5  # members are slow to read one by one: a fifth of the shards


def ratarmount():
    return os.environ.get("RATARMOUNT") or shutil.which("ratarmount")


def why_no_rclone():
    return "" if shutil.which("rclone") else "no rclone in the PATH (apt install rclone)"


def why_no_ratarmount():
    program = ratarmount()
    if not program:
        return "no ratarmount in the PATH (pip install ratarmount, or set RATARMOUNT)"
    if not lab.output_of(program, "--version"):
        return "%s --version does not work" % program
    return ""


def version(name):
    return lab.version(ratarmount() if name == "ratarmount" else name, "--version")


def files_under(folder):
    """All files, in the order of their names."""
    found = []
    for parent, folders, names in os.walk(folder):
        folders.sort()
        found += ["%s/%s" % (parent.rstrip("/"), name) for name in sorted(names)]
    return [path for path in found if not path.endswith(".idx")]


def shards_of_members(bench, group):
    n_shards = max(1, bench.made[group.data]["shards"] // SHARE_OF_MEMBERS)
    return ["%s/%s/train-%06d.tar" % (bench.data, group.data, i) for i in range(n_shards)]


def n_members(bench, group):
    """Of the shards that are read as files: a jpg and a cls a sample."""
    made = bench.made[group.data]
    return 2 * made["samples"] // made["shards"] * len(shards_of_members(bench, group))


def command_of(case, bench, group, folder, cache):
    if case.on == "rclone":
        remote = [":http:", folder, "--http-url", "%s/%s/" % (bench.server.url, group.data)]
        return ["rclone", "mount", *remote, "--config", "", "--cache-dir", cache, *case.flags]
    index = ["--index-file", cache + "/index.sqlite"]
    return [ratarmount(), "-f", *index, *shards_of_members(bench, group), folder]


@contextlib.contextmanager
def mounted(case, bench, group):
    """The files of the peer's mount that the case reads, and its processes."""
    with tempfile.TemporaryDirectory(dir=bench.folder) as cache:
        folder = cache + "/mnt"
        os.mkdir(folder)
        with open(cache + "/log", "w") as log:
            command = command_of(case, bench, group, folder, cache)
            process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            lab.wait_until(case.on, lambda: is_ready(process, folder, cache + "/log"), MOUNT_SECONDS)
            paths = files_under(folder)
            lab.settle([process.pid])
            yield paths, [process.pid]
        finally:
            subprocess.run(["umount", folder], stderr=subprocess.DEVNULL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()
            subprocess.run(["umount", "-l", folder], stderr=subprocess.DEVNULL)


def is_ready(process, folder, log):
    if process.poll() is not None:
        raise lab.BenchError("%s does not mount: %s" % (process.args[0], lab.read_text(log).strip()[-300:]))
    return os.path.ismount(folder) and bool(os.listdir(folder))
