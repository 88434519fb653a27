#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does shufflefs read odd tars as scripts/order.py does?

  odd-tars.py SHUFFLEFS [ROUNDS [SEED]]    in the current folder

Each round makes a few shards of odd members at random (dialects, extensions, sizes, sparse files,
global headers, damage) and compares streams: their samples, their bytes, and what is an error.
Then it makes many shards of one odd member each, between sound ones, and compares their samples.
"""
import os
import random
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
import order as script  # noqa: E402
import order_tar  # noqa: E402

DIALECTS = {"posix": b"ustar\x0000", "gnu": b"ustar  \0", "v7": bytes(8), "ustar00": b"ustar00\0",
            "ustar000": b"ustar\0\0\0", "star": bytes(8), "xstar": b"ustar\x0000", "none": b"GNUtar \0"}


def chance(p):
    return r.random() < p


def padded(data):
    return data + bytes(-len(data) % 512)


# ---- headers ----

def checksum_field(total):
    return r.choice([b"%06o\0 "] * 20 + [b"%07o\0", b"%06o \0", b" %05o\0 ", b"%08o", b"0%05o\0\0"]) % total


def size_field(size):
    field = b"%011o\0" % size
    if chance(.15):
        field = r.choice([b"%012o" % size, b"%11o " % size, b"%o \0" % size, b"\x80" + size.to_bytes(11, "big"),
                          b"%11o\0" % size, b"%o\0junk" % size, b"%o junk" % size])
    if chance(.02):
        field = r.choice([bytes(12), b" " * 12, b" \0 \0", b"x", b"-1\0", b"\xff" * 12, b"0x10\0", b"19\0", b"\t7\0",
                          b"\x80" + b"\x01" * 11, b"\x81" + bytes(10) + b"\x05", b"1.5", b"777777777777"])
    return field.ljust(12, b"\0")[:12]


def sealed(block):
    rest = block[:148] + block[156:]
    total = sum(rest) + 256
    if chance(.1):
        total = max(0, total - 256 * sum(byte > 127 for byte in rest))
    return block[:148] + checksum_field(total)[:8].ljust(8, b"\0") + block[156:]


def header(name, type=b"0", size=0, dialect="posix", prefix=b"", field=None):
    block = name[:100].ljust(100, b"\0") + b"0000644\0" * 3 + (field or size_field(size))
    block += b"%011o\0" % 1500000000 + b" " * 8 + type + bytes(100) + DIALECTS[dialect]
    block = (block.ljust(345, b"\0") + prefix[:155]).ljust(512, b"\0")
    if dialect == "star":
        block = block[:508] + b"tar\0"
    if dialect == "xstar" and chance(.5):
        block = block[:476] + b"%011o\0%011o\0" % (1, 2) + bytes(8) + b"tar\0"
    if dialect == "gnu" and chance(.3) and type != b"S":
        block = block[:345] + b"14000000000\0" + b"14000000001\0" + block[369:]
    if dialect == "v7" and chance(.3):
        block = block[:329] + r.choice([b"0000000\0" * 2, b"0000001\x000000002\0", b"x" * 8]).ljust(16, b"\0") + block[345:]
    if dialect == "v7" and chance(.05):
        block = block[:r.choice([257, 300, 345, 400, 511])] + b"\1" + block[r.choice([258]):]
    return sealed(block[:512].ljust(512, b"\0"))


def any_header(name, size, type=b"0", field=None):
    dialect = r.choice(["posix"] * 4 + ["gnu"] * 3 + ["v7"] * 2 + list(DIALECTS))
    folder, slash, last = name.rpartition(b"/")
    if slash and folder and last and len(folder) <= 155 and chance(.5) and dialect in (
            "posix", "xstar", "ustar00", "ustar000"):
        return header(last, type, size, dialect, folder, field)
    prefix = r.choice([b"p", b"q" * 155, b"old/prefix"]) if chance(.05) else b""
    return header(name, type, size, dialect, prefix, field)


def record(keyword, value):
    n = len(keyword) + len(value) + 3
    while n != len(b"%d %s=%s\n" % (n, keyword, value)):
        n = len(b"%d %s=%s\n" % (n, keyword, value))
    if chance(.02):
        n += 1 if len(b"0%d" % n) > len(b"%d" % n) else 0
        return b"0%d %s=%s\n" % (n, keyword, value)
    return b"%d %s=%s\n" % (n, keyword, value)


def pax(*pairs, type=b"x"):
    body = b"".join(record(*pair) for pair in pairs)
    if chance(.03):
        body += r.choice([b"\0", bytes(9), bytes(600), b"\0junk", b"junk", b"5 a=\n", b"99 a=b\n", b"6 a b\n", b"4 =\n"])
    return header(b"pax", type, len(body)) + padded(body)


def long_name(type, name):
    body = name + bytes(r.choice([1] * 9 + [0, 2, 5, 600]))
    if chance(.05):
        body += b"junk"
    return header(b"././@LongLink", type, len(body), "gnu") + padded(body)


# ---- members ----

FIELDS = [b"jpg", b"cls", b"txt", b"seg.png"]


def stem():
    return r.choice(STEMS)


def other_name():
    return r.choice([b"", b"/", b"a/", b"no-dot", b".hid", b"a.b/", b"__m__/a.b", b"__a.b__", b"new\nline.x", b"d.e/f",
                     b"q/.hid.x", b"\xff\xfe.x", b"e\xcc\x81.x", stem() + b".x"])


def data():
    return bytes(r.choice(b"abc") for _ in range(r.choice([0, 0, 1, 5, 511, 512, 513, 1200])))


def extended(name, body):
    """Members whose names or sizes are in extensions, mostly sound."""
    short, size = r.choice([b"short", name[:100], b"dir/", b"sh\xff.x"]), len(body)
    return r.choice([
        lambda: pax((b"path", name)) + any_header(short, size),
        lambda: pax((b"path", name), type=b"X") + any_header(short, size),
        lambda: pax((b"mtime", b"1.5"), (b"path", b"not.this"), (b"path", name)) + any_header(short, size),
        lambda: pax((b"path", name), (b"size", b"%d" % size)) + any_header(short, r.choice([size, 0, 700])),
        lambda: pax((b"size", b"3"), (b"size", b"%d" % size)) + any_header(name, 0),
        lambda: pax((b"mtime", b"1.5"), (b"comment", b"path=no")) + any_header(name, size),
        lambda: pax((b"linkpath", stem())) + any_header(name, size),
        lambda: long_name(b"L", name) + any_header(short, size),
        lambda: long_name(b"K", stem()) + long_name(b"L", name) + any_header(short, size),
        lambda: long_name(b"L", name) + long_name(b"K", stem()) + any_header(short, size),
        lambda: long_name(b"K", stem()) + any_header(name, size),
        lambda: long_name(b"L", name) + pax((b"mtime", b"1")) + any_header(short, size),
        lambda: pax((b"mtime", b"1")) + long_name(b"L", name) + any_header(short, size)])() + padded(body)


def refused(name, body):
    """Mostly refused, or nearly so."""
    size = len(body)
    rest = any_header(name, size) + padded(body)
    return r.choice([
        lambda: long_name(b"L", name) + pax((b"path", name)) + rest,
        lambda: pax((b"path", name)) + long_name(b"L", name) + rest,
        lambda: pax((b"mtime", b"1")) + pax((b"path", name)) + rest,
        lambda: pax((b"mtime", b"1")) + pax((b"mtime", b"2"), type=b"X") + rest,
        lambda: long_name(b"L", name) + long_name(b"L", name) + rest,
        lambda: pax((b"mtime", b"1")) + pax((b"comment", b"x"), type=b"g") + rest,
        lambda: long_name(b"L", name) + pax((b"comment", b"x"), type=b"g") + rest,
        lambda: any_header(stem() + b".x/", size) + padded(body),
        lambda: any_header(stem() + b".x/", size, r.choice([b"\0", b"5", b"D", b"Z", b"7"])) + padded(body),
        lambda: pax((b"path", stem() + b".x/")) + any_header(b"x", size) + padded(body),
        lambda: pax((b"path", b"")) + rest,
        lambda: pax((b"path", name + b"\0z")) + rest,
        lambda: pax((b"GNU.sparse.name", r.choice([b"", name]))) + rest,
        lambda: pax((b"key\0word", b"x")) + rest,
        lambda: pax((b"mtime", b"a\0b")) + rest,
        lambda: pax((b"size", r.choice([b"", b"x", b" 5", b"5 ", b"-1", b"1e3", b"5\0", b"9" * 18, b"9" * 19, b"00005"]))) + rest,
        lambda: pax((b"GNU.sparse.size", r.choice([b"x", b"", b"-1"]))) + rest,
        lambda: pax((b"mtime", b"1")) + any_header(b"label", 0, b"V"),
        lambda: pax((b"path", name), (b"size", b"700")) + any_header(name, 700, r.choice([b"1", b"2", b"3", b"4", b"5", b"6"])),
        lambda: pax((r.choice([b"path", b"size", b"SCHILY.realsize", b"GNU.sparse.major", b"GNU.sparse", b"pathx"]), b"7"), type=b"g") + rest,
        lambda: header(b"pax", b"g", 0, field=b"x".ljust(12, b"\0")) + rest,
        lambda: header(b"pax", b"x", 0, field=b"x".ljust(12, b"\0")) + rest,
        lambda: bytes(512) + rest,
        lambda: r.randbytes(512) + rest,
        lambda: header(b"x", r.choice([b"A", b"x"]), 0) + rest])()


def sparse(name):
    """A sparse file of any dialect, sometimes with a map that contradicts itself."""
    runs, size, stored = [], 0, 0
    for _ in range(r.choice([1, 2, 4, 5, 30])):
        size += 512 * r.randrange(1, 5)
        length = 512 * r.randrange(0, 3)
        runs.append([size, length])
        size, stored = size + length, stored + length
    if chance(.3) and runs[-1][1]:
        runs[-1][1] -= 100
        size, stored = size - 100, stored - 100
    if chance(.5):
        size += 1000
        runs.append([size, 0])
    body = bytes([120]) * stored
    if chance(.15):
        k = r.randrange(len(runs))
        runs[k][r.randrange(2)] += r.choice([512, 513, 1, -1, 100000]) * (1 if runs[k][0] else 0)
        runs[k] = [max(0, v) for v in runs[k]]
    numbers = [b"%d" % v for run in runs for v in run]
    kind = r.randrange(4)
    if kind == 0:
        fields = b"".join(b"%011o\0%011o\0" % tuple(run) for run in runs)
        blocks = [fields[96:][i:i + 504] for i in range(0, max(0, len(fields) - 96), 504)]
        block = header(name, b"S", len(body), r.choice(["gnu"] * 8 + ["posix", "v7"]), field=b"%011o\0" % len(body))
        block = block[:386] + fields[:96].ljust(96, b"\0") + (b"\1" if blocks else b"\0") + b"%011o\0" % size
        out = sealed(block.ljust(512, b"\0"))
        for i, part in enumerate(blocks):
            out += (part.ljust(504, b"\0") + (b"\1" if i + 1 < len(blocks) else b"\0")).ljust(512, b"\0")
        return (long_name(b"L", name) if chance(.2) else b"") + out + padded(body)
    if kind == 1:
        pairs = [(b"GNU.sparse.size", b"%d" % size), (b"GNU.sparse.numblocks", b"%d" % len(runs))]
        for run in runs:
            pairs += [(b"GNU.sparse.offset", b"%d" % run[0]), (b"GNU.sparse.numbytes", b"%d" % run[1])]
        return pax(*pairs) + any_header(name, len(body), field=b"%011o\0" % len(body)) + padded(body)
    named = [(b"GNU.sparse.name", name)] + [(b"path", b"GNUSparseFile.1/x.y")] * chance(.5)
    r.shuffle(named)
    if kind == 2:
        return pax((b"GNU.sparse.size", b"%d" % size), (b"GNU.sparse.numblocks", b"%d" % len(runs)), *named,
                   (b"GNU.sparse.map", b",".join(numbers))) + header(b"x", b"0", len(body), field=b"%011o\0" % len(body)) + padded(body)
    body = padded(b"".join(number + b"\n" for number in [b"%d" % len(runs)] + numbers)) + body
    if chance(.05):
        body = bytes(len(body)) if chance(.5) else b"x" + body[1:]
    minor = [(b"GNU.sparse.minor", r.choice([b"0", b"00"]))] * chance(.9)
    return pax((b"GNU.sparse.major", r.choice([b"1", b"1", b"1", b"01"])), *minor, *named, (b"GNU.sparse.realsize", b"%d" % size)) + header(
        b"x", b"0", len(body), field=b"%011o\0" % len(body)) + padded(body)


NUMBERS = [b"0", b"1", b"2", b"5", b"512", b"1000", b"", b"x", b"05", b"9" * 18, b"0" * 18 + b"5", b"1" * 19, b"-1", b"+5", b" 5"]


def odd_number():
    return r.choice(NUMBERS[:6] * 4 + NUMBERS)


def odd_lines(numbers):
    """The map that the data of pax 1.0 begin with, and the data."""
    lines = [b"%d" % n for n in [len(numbers) // 2] + numbers]
    if chance(.25):
        at = r.randrange(len(lines) + 1)
        lines[at:at] = r.choice([[], [b""], [b"#"], [b"5 "], [b"-5"], [b"0" * 30], [odd_number()], [b"\0"], [b"5\r"]])
    elif chance(.1):
        del lines[r.randrange(len(lines)):]
    end = r.choice([b"\n"] * 9 + [b"", b"\0", b"\n\n"])
    return r.choice([padded, padded, padded, lambda lines: lines])(b"\n".join(lines) + end)


def odd_map(name):
    """Records of sparse files, from all dialects, in any mixture, with mistakes."""
    runs, size = [], 0
    for _ in range(r.choice([0, 1, 1, 2, 3])):
        size += r.choice([0, 0, 1, 7, 512])
        runs.append([size, r.choice([0, 5, 5, 512])])
        size += runs[-1][1]
    stored, numbers = sum(length for _, length in runs), [n for run in runs for n in run]
    if not runs and chance(.5):
        size = stored = 5
    size += r.choice([0, 0, 1, 1000])
    pairs = {b"numblocks": [b"%d" % len(runs)], b"map": [b",".join(b"%d" % n for n in numbers) or b","],
             b"size": [b"%d" % size], b"realsize": [b"%d" % size], b"major": [b"1"], b"minor": [b"0"], b"name": [name]}
    what = r.choice([[b"size", b"numblocks", b"map"], [b"size", b"numblocks", b"pairs"], [b"major", b"minor", b"realsize"],
                     [b"size", b"map"], [b"major", b"realsize"], [b"size"], [b"name"], [b"realsize"], [b"numblocks", b"size"], []])
    for _ in range(r.choice([0] * 6 + [1, 2])):
        what.insert(r.randrange(len(what) + 1), r.choice([*pairs, b"pairs"]))
    if what and chance(.1):
        what.remove(r.choice(what))
    if chance(.1):
        r.shuffle(what)
    records = []
    for keyword in what:
        for run in runs if keyword == b"pairs" else []:
            records += [(b"GNU.sparse.offset", b"%d" % run[0]), (b"GNU.sparse.numbytes", b"%d" % run[1])]
        records += [(b"GNU.sparse." + keyword, value) for value in pairs.get(keyword, [])]
    for _ in range(r.choice([0] * 6 + [1, 2])):
        at = r.randrange(len(records) + 1)
        keyword = b"GNU.sparse." + r.choice([*pairs, b"offset", b"numbytes", b"other"])
        extra = r.choice([(keyword, odd_number()), (b"SUN.holesdata", r.choice([b" 0 5", b"x"])), (b"size", b"5"), (b"size", b"517"),
                          (b"SCHILY.realsize", r.choice([b"5", b"x"])), (b"GNU.sparse.map", b",".join(odd_number() for _ in range(r.randrange(5)))),
                          (b"GNU.sparse.major", r.choice([b"0", b"1", b"2"])), (b"GNU.sparse.minor", r.choice([b"0", b"1"]))])
        records[at:at + r.choice([0, 0, 1])] = [extra]
    if records and chance(.08):
        records.pop(r.randrange(len(records)))
    body = bytes([120]) * max(0, stored + r.choice([0] * 12 + [1, -1, 512]))
    if (b"major" in what) != chance(.05):
        body = odd_lines(numbers) + body
    type = r.choice([b"0"] * 30 + [b"\0", b"7", b"S", b"Z", b"5", b"1", b"D"])
    return pax(*records) + any_header(name, len(body), type, b"%011o\0" % len(body)) + padded(body)


def odd_old_map(name):
    """Type S: maps without runs, with numbers that are none, runs after the end, blocks that are too many or cut off."""
    fields = [r.choice([b"%011o\0" % r.choice([0, 1, 5, 512, 2000]), b"\x80" + r.choice([5, 2**63 - 1, 2**63]).to_bytes(11, "big"),
                        b"x" * 12, bytes(12), b" " * 12, b"%11o " % 5]) if chance(.3) else b"%011o\0" % (5 * k)
              for k in range(2 * r.choice([0, 1, 2, 4, 6, 30]))]
    fields = b"".join(fields)
    size = r.choice([0, 5, 5, 100, 2000, 2**63 - 1])
    stored = r.choice([0, 5, 5, 5 * (len(fields) // 24)])
    block = header(name, b"S", stored, "gnu", field=b"%011o\0" % stored)
    n_blocks = max(0, len(fields) - 96 + 503) // 504 + r.choice([0, 0, 0, 1, -1])
    realsize = b"%011o\0" % size if size < 2**33 else b"\x80" + size.to_bytes(11, "big")
    block = block[:386] + fields[:96].ljust(96, b"\0") + (b"\1" if n_blocks > 0 else b"\0") + r.choice([realsize] * 9 + [b"x" * 12, bytes(12)])
    out = sealed(block.ljust(512, b"\0"))
    for i in range(n_blocks):
        part = fields[96 + 504 * i:96 + 504 * (i + 1)]
        out += (part.ljust(504, b"\0") + (b"\1" if i + 1 < n_blocks else b"\0")).ljust(512, b"\0")
    before = r.choice([b""] * 6 + [pax((b"mtime", b"1.5")), pax((b"GNU.sparse.name", name)), pax((b"size", b"%d" % stored))])
    return before + out + bytes([120]) * stored + bytes(-stored % 512)


def at_the_limits(name):
    """Header groups of about 2^20 bytes, and sizes of about 2^63."""
    if chance(.7):
        size = 2**63 - r.choice([1, 510, 511, 512, 513, 1024])
        return r.choice([b"", pax((b"size", b"5")), long_name(b"K", stem())]) + any_header(
            name, 0, r.choice([b"0", b"0", b"7", b"S", b"V", b"Z", b"5"]), b"\x80" + size.to_bytes(11, "big")) + bytes(512)
    n_blocks = r.choice([0, 1, 2, 3])
    start = pax((b"comment", b"c" * (2**20 - 1024 - 512 * r.choice([0, 1, 2, 3]) - 100)))
    kind = r.randrange(3)
    if kind == 0:
        block = header(name, b"S", 0, "gnu", field=b"%011o\0" % 0)
        block = sealed(block[:386] + bytes(96) + (b"\1" if n_blocks else b"\0") + b"%011o\0" % 0 + bytes(17))
        return start + block + b"".join(bytes(504) + (b"\1" if i + 1 < n_blocks else b"\0") + bytes(7) for i in range(n_blocks))
    if kind == 1:
        lines = padded(b"%d\n" % (200 * n_blocks) + b"".join(b"%d\n0\n" % i for i in range(200 * n_blocks)))
        pairs = [(b"GNU.sparse.major", b"1"), (b"GNU.sparse.realsize", b"1000")]
        start = pax(*pairs, (b"comment", b"c" * (2**20 - 2048 - 512 * r.choice([0, 1, 2, 3]) - 100)))
        return start + header(name, b"0", len(lines), field=b"%011o\0" % len(lines)) + lines
    return start + any_header(name, 5) + padded(b"hello")


def folder_by_its_header(name):
    """Files by their extensions, in headers that are a folder's, and the other way round; extensions in any order."""
    extensions = [r.choice([pax((b"path", name)), pax((b"path", name)) , long_name(b"L", name), pax((b"mtime", b"1")),
                            header(b"x", b"x", 20) + padded(record(b"path", name).ljust(20, b"\0")[:20])])]
    extensions += [long_name(b"K", stem())] * chance(.5) + [long_name(b"A", b"x")] * chance(.1)
    r.shuffle(extensions)
    return b"".join(extensions) + any_header(r.choice([b"folder/", b"f/", name + b"/", name[:90]]), 5, r.choice([b"0", b"\0", b"7", b"5", b"D"])) + padded(b"hello")


def global_header():
    if chance(.3):
        n = r.randrange(7)
        body = bytes(n) if chance(.5) or n != 5 else b"5 a=\n"
        return header(b"pax", b"g", n) + padded(body)
    return pax((b"comment", b"c" * r.choice([0, 1, 2, 3, 4, 5, 500, 1100])), type=b"g")


def without_data():
    return r.choice([
        lambda: any_header(stem() + b".x", r.choice([0, 700]), r.choice([b"1", b"2", b"3", b"4", b"5", b"6"])),
        lambda: any_header(stem() + b".x/", r.choice([0, 700]), b"\0"),
        lambda: any_header(stem() + b".x/", 0),
        lambda: any_header(b"label.x", 700, b"V") + bytes(1024),
        lambda: any_header(b"label.x", 0, b"V", bytes(12)),
        lambda: any_header(stem() + b".x", 600, r.choice([b"D", b"M", b"Z", b"N", b"I"])) + bytes(1024)])()


def sample(name):
    out = b""
    for _ in range(r.choice([1, 1, 2, 3])):
        full, body, what = name + b"." + r.choice(FIELDS), data(), r.random()
        if what < .45:
            out += any_header(full, len(body), r.choice([b"0"] * 9 + [b"\0", b"7"])) + padded(body)
        elif what < .75:
            out += extended(full, body)
        elif what < .79:
            out += sparse(full)
        elif what < .79 + ODDS / 10:
            out += r.choice([odd_map, odd_map, odd_map, odd_old_map, odd_old_map, folder_by_its_header])(full)
        elif what < .79 + ODDS / 9:
            out += at_the_limits(full)
        elif what < .82:
            out += sparse(full)
        elif what < .88:
            out += without_data()
        elif what < .94:
            out += global_header()
        elif what < 1 - ODDS:
            full = other_name()
            out += any_header(full, len(body)) + padded(body)
        else:
            out += refused(full, body)
    return out


def shard():
    """Its end may be missing, or more may follow."""
    tar = b"".join(sample(stem()) for _ in range(r.choice([0, 1, 1, 2, 5, 12])))
    if chance(.7):
        return tar + bytes(r.choice([1024, 512, 10240, 1100]))
    cut = r.randrange(len(tar) + 1) if tar else 0
    tar = tar[:r.choice([cut, cut // 512 * 512])] + r.choice([b"", b"", bytes(100), bytes(511), bytes(512), b"\0" * 99 + b"x"])
    if chance(.3) and tar:
        at = r.randrange(len(tar))
        tar = tar[:at] + bytes([tar[at] ^ r.choice([1, 32])]) + tar[at + 1:] + bytes(1024)
    return tar + r.choice([b"", b"x" * 512, bytes(1024) + tar, bytes(512) + tar, bytes(1023) + b"x"])


# ---- the comparison ----

def settings():
    lanes = r.choice([1, 2, 3, 4, 6, 12])
    s = {"lanes": lanes, "seed": r.getrandbits(64), "buffer": r.choice([0, 5000, 100000, 2**26]),
         "segment": r.choice(["shard", "shard", "random", "sample", "1000", "20000"]), "equal": r.choice(["none", "none", "drop", "pad"])}
    if os.environ.get("ODD_TARS_OLD_ORDER"):
        s = {"lanes": 1, "seed": r.getrandbits(64), "buffer": 0}
    s.update({"keys": r.choice(["auto", "unique", "unique", "asis"]), "on-error": r.choice(["skip", "skip", "skip", "fail"])})
    name = "%d" % r.choice([0, 1, 2**56 - 1])
    if chance(.3) and not os.environ.get("ODD_TARS_OLD_ORDER"):
        world = r.choice([w for w in range(1, lanes + 1) if lanes % w == 0])
        name += "/rank-%d-of-%d" % (r.randrange(world), world)
        if chance(.3):
            workers = r.randint(1, 3)
            name += "/worker-%d-of-%d" % (r.randrange(workers), workers)
    return s, name + ("@%d" % r.choice([0, 1, 5, 100]) if chance(.2) else "")


def by_program(program, s, name, suffix):
    options = ",".join("%s=%s" % pair for pair in s.items()) + ",index-cache=no"
    run = subprocess.run([program, "cat", "-o", options, "ds", "epochs/%s.%s" % (name, suffix)],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return run.stdout if run.returncode == 0 else None, run.stdout, run.stderr


def by_script(s, name, suffix):
    args = [word for key, value in s.items() for word in ("--" + key, str(value))]
    run = subprocess.run([sys.executable, script.__file__, "list" if suffix == "order" else "stream", "ds",
                          name + ".tar", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if b"Traceback" in run.stderr:
        sys.exit(run.stderr.decode())
    return run.stdout if run.returncode == 0 else None, run.stdout, run.stderr


def stems():
    return [b"a", b"b", b"\xc3\xa9", b"d/c", b"__d", b"n" * r.choice([90, 99, 200, 495, 505]), b"f" * 60 + b"/" + b"g" * 80]


def odd_member():
    """A sound member, one odd one, perhaps cut off, and another sound one."""
    name = r.choice([b"a.y", b"b.x", b"b.x", b"no-dot", b"c/b.x"])
    odd = r.choice([odd_map] * 12 + [odd_old_map] * 6 + [folder_by_its_header] * 3 + [at_the_limits, sparse, sparse])(name)
    first, last = (header(n, b"0", 5, field=b"%011o\0" % 5) + padded(b"hello") for n in (b"a.x", b"c.x"))
    if chance(.15):
        return first + odd[:r.randrange(len(odd) + 1)]
    return first + odd + last + bytes(1024)


def samples_by_script(name):
    with open("ds/" + name, "rb") as file:
        shard = order_tar.shard_of(name.encode(), file.read(), True)
    return sorted(script.line(0, 0, sample)[4:-1] for sample in shard.samples)


def compare_members(program, what, n):
    shutil.rmtree("ds", ignore_errors=True)
    os.mkdir("ds")
    names = ["%03d.tar" % i for i in range(n)]
    for name in names:
        with open("ds/" + name, "wb") as file:
            file.write(odd_member())
    run = subprocess.run([program, "cat", "-o", "on-error=skip,index-cache=no,lanes=1,keys=asis", "ds", "epochs/0.order"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    got = {name: [] for name in names}
    for line in run.stdout.splitlines():
        got[line.split(b"\t")[3].decode()].append(b"\t".join(line.split(b"\t")[2:]))
    n_odd = 0
    for name in names:
        want = samples_by_script(name)
        n_odd += len(want) > 2
        if want != sorted(got[name]):
            print("script: %s\nprogram: %s\n%s" % (want, sorted(got[name]), b"\n".join(
                line for line in run.stderr.splitlines() if b" %s " % name.encode() in line).decode(errors="replace")), file=sys.stderr)
            sys.exit("odd-tars: other samples: %s in ds, %s" % (name, what))
    return n_odd


def main():
    global r, STEMS, ODDS
    program, rounds = sys.argv[1], int(sys.argv[2]) if sys.argv[2:] else 60
    seed = sys.argv[3] if sys.argv[3:] else str(random.randrange(10**9))
    print("odd-tars: %d rounds, seed %s" % (rounds, seed))
    streams = errors = 0
    for i in range(rounds):
        r = random.Random("%s %d" % (seed, i))
        STEMS = stems()
        ODDS = r.choice([0, 0, .1, .3])
        shutil.rmtree("ds", ignore_errors=True)
        os.mkdir("ds")
        for k in range(r.choice([1, 2, 4])):
            with open("ds/%s%d.tar" % (r.choice(["s", "__s", "long" * 10, "." if False else "t"]), k), "wb") as file:
                file.write(shard())
        s, name = settings()
        for suffix in "order", "tar":
            want, got = by_script(s, name, suffix), by_program(program, s, name, suffix)
            if b"is not a tar: " in got[2]:
                break  # (a mount looks at the first shards)
            streams, errors = streams + 1, errors + (got[0] is None)
            if want[0] != got[0]:
                for what, run in ("script", want), ("program", got):
                    print("%s: %s, %d bytes: %s" % (what, "fails" if run[0] is None else "reads", len(run[1]),
                                                    run[2].decode(errors="replace").strip()[-600:]), file=sys.stderr)
                sys.exit("odd-tars: wrong bytes: round %d of seed %s: %s.%s of ds differs, %s" % (i, seed, name, suffix, s))
    print("odd-tars: %d streams agree, %d of them are errors" % (streams, errors))
    accepted = 0
    for i in range(rounds // 5):
        r = random.Random("%s members %d" % (seed, i))
        STEMS = stems()
        accepted += compare_members(program, "members, round %d of seed %s" % (i, seed), 100)
    print("odd-tars: %d odd members agree, %d of them are samples" % (100 * (rounds // 5), accepted))


main()
