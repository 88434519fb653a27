#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make a dataset of tar shards for tests: always the same bytes for the same options.

  make-shards.py FOLDER [--shards 3] [--samples 50] [--bytes 2000] [--format ustar]
                 [--restart-keys] [--name train-%06d.tar] [--fields jpg,cls] [--odd]

--bytes is the mean size of the first field; sizes vary from nothing to twice that.
--format webdataset is pax with a fraction in each mtime, as WebDataset's own writer
makes it.  --odd adds to every shard what real ones have and readers stumble over.
Standard library only.
"""
import argparse
import io
import os
import random
import tarfile

FORMATS = {
    "ustar": tarfile.USTAR_FORMAT,
    "gnu": tarfile.GNU_FORMAT,
    "pax": tarfile.PAX_FORMAT,
    "webdataset": tarfile.PAX_FORMAT,
}


def member(name, size=0, **fields):
    info = tarfile.TarInfo(name)
    info.size = size
    info.mode = 0o444
    info.uname = info.gname = "bigdata"
    info.mtime = 1500000000
    for key, value in fields.items():
        setattr(info, key, value)
    return info


def add(tar, name, data, **fields):
    tar.addfile(member(name, len(data), **fields), io.BytesIO(data))


def add_odd_things(tar, rng, shard):
    """What a sample-by-sample reader must pass over, or get right."""
    tag = "%d-%d" % (shard, rng.randrange(1 << 30))
    add(tar, "__meta__/about.json", b"{}")
    add(tar, "README", b"no extension: in no sample")
    add(tar, ".hidden.jpg", b"in no sample")
    tar.addfile(member("some-folder", type=tarfile.DIRTYPE, mode=0o755))
    add(tar, "odd/first-%s.jpg" % tag, rng.randbytes(700))
    tar.addfile(member("link-%s" % tag, type=tarfile.SYMTYPE, linkname="/etc/passwd"))
    add(tar, "odd/first-%s.cls" % tag, b"1")
    tar.addfile(member("hard-%s.jpg" % tag, type=tarfile.LNKTYPE, linkname="README"))
    add(tar, "odd/second-%s.seg.PNG" % tag, rng.randbytes(1300))
    add(tar, "odd/second-%s.cls" % tag, b"2")
    add(tar, "odd/empty-%s.txt" % tag, b"")
    add(tar, "with.dots/in.folders/x-%s.jpg" % tag, rng.randbytes(512))
    add(tar, "quirk-%s/.hidden.jpg" % tag, b"its key ends in a slash")
    add(tar, "./dotted-%s.jpg" % tag, rng.randbytes(10))
    add(tar, "./dotted-%s.cls" % tag, b"3")


def add_long_names(tar, rng, shard):
    tag = "%d" % shard
    long_name = "long/" + "d" * 90 + "/" + "n" * 120 + "-" + tag
    add(tar, long_name + ".jpg", rng.randbytes(900))
    add(tar, long_name + ".cls", b"4")
    add(tar, "ünï/côdé-%s-%s.jpg" % ("é" * 60, tag), rng.randbytes(100))
    add(tar, "ünï/côdé-%s-%s.cls" % ("é" * 60, tag), b"5")


def make_shard(path, args, shard):
    rng = random.Random("shufflefs %d" % shard)
    fields = args.fields.split(",")
    with tarfile.open(path, "w", format=FORMATS[args.format]) as tar:
        for i in range(args.samples):
            number = i if args.restart_keys else shard * args.samples + i
            extra = {"mtime": 1500000000.25 + i} if args.format == "webdataset" else {}
            for n, field in enumerate(fields):
                size = rng.randrange(2 * args.bytes + 1) if n == 0 else 1 + rng.randrange(3)
                data = b"%d %d %s " % (shard, i, field.encode()) + rng.randbytes(size)
                if n == 0 and i % 17 == 3:
                    data = b""
                add(tar, "%s%06d.%s" % (args.prefix, number, field), data, **extra)
            if args.odd and i == args.samples // 2:
                add_odd_things(tar, rng, shard)
                if args.format != "ustar":
                    add_long_names(tar, rng, shard)
    os.utime(path, (1600000000, 1600000000))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--shards", type=int, default=3)
    parser.add_argument("--samples", type=int, default=50)
    parser.add_argument("--bytes", type=int, default=2000)
    parser.add_argument("--format", choices=sorted(FORMATS), default="ustar")
    parser.add_argument("--restart-keys", action="store_true")
    parser.add_argument("--name", default="train-%06d.tar")
    parser.add_argument("--prefix", default="")
    parser.add_argument("--fields", default="jpg,cls")
    parser.add_argument("--odd", action="store_true")
    args = parser.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    for shard in range(args.shards):
        name = args.name % shard if "%" in args.name else args.name
        make_shard(os.path.join(args.folder, name), args, shard)


main()
