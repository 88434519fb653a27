# SPDX-License-Identifier: MIT
"""What others read objects of S3 with, as bench/stores measures them: the curl command, mounts (rclone,
s3fs) and the reader of s3torchconnector.  All read whole shards, in order; a mount is new for
each measurement, and is read by cat.

Each is given bench/stores' Bench and the server, and returns a part (report.py), whose `cpu` is that of
all that reads and fetches.
"""
import contextlib
import os
import shutil
import subprocess

import lab
from store_servers import BUCKET, PREFIX, S3_KEYS

CURL = "curl, 8 whole shards at a time"
here = os.path.dirname(os.path.abspath(__file__))


def whole(part, n_bytes):
    return dict(part, bytes=n_bytes, cpu=part["cpu"] + part["daemon_cpu"])


def cat(folder, names, pids):
    files = ["%s/%s" % (folder, name) for name in names]
    part = lab.run_command(["cat", *files], lambda: lab.Snapshot(pids, []))
    return whole(part, sum(os.path.getsize(file) for file in files))


def curl(bench, server):
    """Of a bucket that everybody may read."""
    url = "%s/%s/%s/train-[000000-%06d].tar" % (server.url, BUCKET, PREFIX, len(bench.shards) - 1)
    command = ["curl", "-q", "-s", "-f", "-Z", "--parallel-max", "8", "-o", os.devnull, url]
    return whole(lab.run_command(command, lambda: lab.Snapshot([], [])), bench.n_bytes)


# ---- mounts ----


@contextlib.contextmanager
def mounted(command, folder, log, env=None):
    """By a command that stays in the foreground."""
    os.makedirs(folder)
    with open(log, "w") as file:
        process = subprocess.Popen(command, env=env, stdout=file, stderr=file)
    try:
        lab.wait_until("%s, see %s" % (command[0], log), lambda: os.path.ismount(folder), 30)
        yield process.pid
    finally:
        subprocess.run(["umount", folder])
        process.wait()


def rclone(bench, server):
    folder = bench.new_folder("rclone")
    remote = ":s3,provider=Minio,endpoint='%s',access_key_id=%s,secret_access_key=%s:%s/%s" % (
        server.url, S3_KEYS["AWS_ACCESS_KEY_ID"], S3_KEYS["AWS_SECRET_ACCESS_KEY"], BUCKET, PREFIX)
    env = {name: value for name, value in os.environ.items() if name != "AWS_CA_BUNDLE"}
    with mounted(["rclone", "mount", remote, folder, "--config", "", "--read-only"], folder, folder + ".log", env) as pid:
        return cat(folder, bench.shards, [pid])


def s3fs(bench, server):
    folder = bench.new_folder("s3fs")
    keys = folder + ".keys"
    with open(os.open(keys, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write("%(AWS_ACCESS_KEY_ID)s:%(AWS_SECRET_ACCESS_KEY)s\n" % S3_KEYS)
    options = "url=%s,use_path_request_style,ro,passwd_file=%s" % (server.url, keys)
    with mounted(["s3fs", BUCKET, folder, "-f", "-o", options], folder, folder + ".log") as pid:
        return cat("%s/%s" % (folder, PREFIX), bench.shards, [pid])


# ---- PyTorch ----


def s3torch(bench, server):
    command = [bench.s3torch, here + "/s3torch-reader.py", server.url, "s3://%s/%s/" % (BUCKET, PREFIX)]
    return whole(lab.run_reader(command, lambda: lab.Snapshot([], []))[-1], bench.n_bytes)


def found(bench):
    """Those that can be had here, by what they are called in the results."""
    cases = {CURL: curl}
    if shutil.which("rclone"):
        cases["`rclone mount`, `cat` of the shards"] = rclone
    if shutil.which("s3fs"):
        cases["`s3fs`, `cat` of the shards"] = s3fs
    if bench.s3torch:
        cases["s3torchconnector, in a loop"] = s3torch
    return cases
