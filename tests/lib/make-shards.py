#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make a dataset of tar shards for tests: always the same bytes for the same options.

  make-shards.py FOLDER [--shards 3] [--samples 50] [--bytes 2000] [--format ustar]
                 [--restart-keys] [--name train-%06d.tar] [--fields jpg,cls] [--odd]
                 [--lookalikes]

--bytes is the mean size of the first field; sizes vary from nothing to twice that.
--format webdataset is pax with a fraction in each mtime, as WebDataset's own writer
makes it.  --odd adds to every shard what real ones have and readers stumble over;
--lookalikes adds neighbours whose names are the same to all but those who compare bytes.
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


def add_lookalikes(tar, rng, shard):
    # Neighbours in a row: composed and decomposed; one character that stands for another;
    # two orders of two accents; UTF-16 surrogates as CESU-8 has them, and the character;
    # bytes that are no UTF-8, and what some put in their place.
    rows = [["caf\u00e9", "cafe\u0301"], ["\uac00", "\u1100\u1161"], ["\uac01", "\uac00\u11a8"],
            ["\u03ac", "\u1f71", "\u03b1\u0301"], ["\u00c5", "\u212b", "A\u030a"],
            ["a\u0301\u0323", "a\u0323\u0301", "\u1ea1\u0301"],
            ["\U0001f600", os.fsdecode(b"\xed\xa0\xbd\xed\xb8\x80")],
            [os.fsdecode(b"\xff\xfe"), "\ufffd\ufffd", "??", os.fsdecode(b"\xc0\xae"), os.fsdecode(b"caf\xe9")]]
    rng.shuffle(rows)
    for i, row in enumerate(rows):
        rng.shuffle(row)
        folder = ["", "d\u00fc/", "du\u0308/"][i % 3]
        if i % 4 == 1 and tar.format != tarfile.USTAR_FORMAT:
            folder += "f" * 80 + "/" + "n" * 60
        for k, stem in enumerate(row):
            for field in ["a"] if k % 2 else ["a", "b\u00e9", "be\u0301"]:
                add(tar, folder + stem + "." + field, b"%d %d " % (shard, i) + rng.randbytes(20))
            if k == 0:
                tar.addfile(member("link-" + stem, type=tarfile.SYMTYPE, linkname=stem + ".a"))


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
            if args.lookalikes and i == args.samples // 3:
                add_lookalikes(tar, rng, shard)
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
    parser.add_argument("--lookalikes", action="store_true")
    args = parser.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    for shard in range(args.shards):
        name = args.name % shard if "%" in args.name else args.name
        make_shard(os.path.join(args.folder, name), args, shard)


main()
