#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make the bench's data: always the same bytes for the same scale.

  make-data.py FOLDER [--scale X] [--sizes]

  FOLDER/big/train-%06d.tar    20 shards of 900 samples: jpg of 110 KB on average, and cls
  FOLDER/tiny/train-%06d.tar   10 shards of 10,000 samples: jpg of 2048 bytes, and cls
  FOLDER/many/train-%06d.tar   1,000 shards of 72 samples as big's: 8 GB
  FOLDER/links/train-%06d.tar  1,000 shards, hard links of big's 20, in turn: 100 GB to read
  FOLDER/made.json             what they hold

  with --sizes, for bench/sweep, other sets instead, named in sizes.json:
  FOLDER/size-N/train-%06d.tar   16 shards, 512 MB in all, of samples whose jpg has N bytes

Lanes that read links of one file in step find its bytes in the processor's cache, so rates
are measured on `many`; `links` are for bench/far, whose link is slower than any memory.

--scale makes the shards smaller, never fewer.  The jpgs cannot be compressed and all
differ, but they are no pictures.  What is there stays.  Standard library only.
"""
import argparse
import json
import os
import random
import shutil
import sys
import tarfile

MARK = "/.made-by-make-data"
SEED = 3
N_LINKS = 1000
POOL_BYTES = 8 << 20


def around_110_kb(rng):
    """Sizes of photos: most are near, a few are far above."""
    return int(min(max(rng.lognormvariate(11.457, 0.55), 8000), 600000))


def exactly(n_bytes):
    return lambda rng: n_bytes


SIZES = (2 << 10, 10 << 10, 30 << 10, 110 << 10, 1 << 20)
SIZES_SHARDS = 16
SIZES_BYTES = 512 * 1000 * 1000
SETS = {
    "big": {"shards": 20, "samples": 900, "jpg_bytes": around_110_kb},
    "tiny": {"shards": 10, "samples": 10000, "jpg_bytes": exactly(2048)},
    "many": {"shards": 1000, "samples": 72, "jpg_bytes": around_110_kb, "pool_bytes": 1 << 20},
}
for size in SIZES:
    in_tar = size + 3 * 512  # two headers, and a block for the cls
    SETS["size-%d" % size] = {
        "shards": SIZES_SHARDS,
        "samples": SIZES_BYTES // SIZES_SHARDS // in_tar,
        "jpg_bytes": exactly(size),
    }


def member(name, data):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    info.mode = 0o444
    info.mtime = 1500000000
    return b"".join([info.tobuf(tarfile.USTAR_FORMAT), data, bytes(-len(data) % 512)])


def sample(rng, key, pool, jpg_bytes):
    head, tail = b"\xff\xd8\xff\xe0" + key.encode(), b"\xff\xd9"
    at = rng.randrange(len(pool) - jpg_bytes)
    jpg = head + pool[at : at + jpg_bytes - len(head) - len(tail)] + tail
    return member(key + ".jpg", jpg) + member(key + ".cls", b"%d" % rng.randrange(1000))


def make_shard(path, rng, first_key, n_samples, what):
    pool = rng.randbytes(what.get("pool_bytes", POOL_BYTES))
    jpg_bytes = what["jpg_bytes"]
    with open(path, "wb") as f:
        for i in range(n_samples):
            f.write(sample(rng, "%09d" % (first_key + i), pool, jpg_bytes(rng)))
        f.write(bytes(1024))
        f.write(bytes(-f.tell() % tarfile.RECORDSIZE))
    return os.path.getsize(path)


def samples_of_a_shard(name, scale):
    return max(1, round(SETS[name]["samples"] * scale))


def make_set(folder, name, scale):
    what, n_samples = SETS[name], samples_of_a_shard(name, scale)
    os.makedirs("%s/%s" % (folder, name))
    sizes = []
    for i in range(what["shards"]):
        rng = random.Random("%d %s %d" % (SEED, name, i))
        path = "%s/%s/train-%06d.tar" % (folder, name, i)
        sizes.append(make_shard(path, rng, i * n_samples, n_samples, what))
    return {"shards": what["shards"], "samples": n_samples * what["shards"], "bytes": sum(sizes)}


def make_links(folder, big):
    os.makedirs(folder + "/links")
    for i in range(N_LINKS):
        link = "%s/links/train-%06d.tar" % (folder, i)
        os.link("%s/big/train-%06d.tar" % (folder, i % big["shards"]), link)
    times = N_LINKS // big["shards"]
    return {"shards": N_LINKS, "samples": big["samples"] * times, "bytes": big["bytes"] * times}


def take_folder(folder):
    """Sets are made anew in a folder of ours; another's files would be replaced."""
    os.makedirs(folder, exist_ok=True)
    is_ours = any(os.path.exists(folder + name) for name in (MARK, "/made.json", "/sizes.json"))
    if os.listdir(folder) and not is_ours:
        sys.exit("make-data.py: %s is not empty, and was not made by it: name a new folder" % folder)
    open(folder + MARK, "w").close()


def read_made(path):
    try:
        with open(path) as f:
            return json.load(f)
    except FileNotFoundError:
        return {}


def write_made(path, made):
    with open(path + ".new", "w") as f:
        json.dump(made, f, indent=1)
    os.rename(path + ".new", path)


def is_made(made, name, scale):
    """Another version of this program may have made fewer samples, or others."""
    n_shards = SETS[name]["shards"]
    wanted = {"shards": n_shards, "samples": n_shards * samples_of_a_shard(name, scale)}
    return {key: made.get(name, {}).get(key) for key in wanted} == wanted


def make_anew(folder, path, made, name, make):
    """A set is named in `path` only while all of it is there.  Its folder goes first: a file
    in it may be a link to another set's."""
    print("make-data.py: making %s/%s" % (folder, name), file=sys.stderr, flush=True)
    if made.pop(name, None):
        write_made(path, made)
    shutil.rmtree("%s/%s" % (folder, name), ignore_errors=True)
    made[name] = make()
    os.sync()
    write_made(path, made)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("folder")
    args.add_argument("--scale", type=float, default=1.0)
    args.add_argument("--sizes", action="store_true")
    args = args.parse_args()

    take_folder(args.folder)
    path = args.folder + ("/sizes.json" if args.sizes else "/made.json")
    made = read_made(path)
    wanted = [name for name in SETS if name.startswith("size-") == args.sizes]
    missing = [name for name in wanted if not is_made(made, name, args.scale)]
    for name in missing:
        make_anew(args.folder, path, made, name, lambda: make_set(args.folder, name, args.scale))
    if not args.sizes and ("big" in missing or "links" not in made):
        make_anew(args.folder, path, made, "links", lambda: make_links(args.folder, made["big"]))


main()
