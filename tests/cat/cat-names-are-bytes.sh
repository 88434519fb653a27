#!/bin/sh
# SPDX-License-Identifier: MIT
# Names are bytes.  Neighbours that differ only by the form of a character, by a surrogate
# or by bytes that are no UTF-8 are samples of their own: in the order, its numbers and its
# @K, and in a shard's index for DALI, in every dialect of tar and whatever the locale.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

for format in ustar gnu pax webdataset; do
    make_shards ds --shards 2 --samples 6 --bytes 300 --format $format --restart-keys --odd \
        --lookalikes --name "$format-%d.tar"
done

# Headers of every dialect, with names of any bytes in each place that they may stand in;
# many neighbours have one key, or nearly.
mkdir raw
"$python" - raw <<'EOF'
import random, sys

r = random.Random("names")
ALPHABET = [b"a", b"e", b"\xcc\x81", b"\xc3\xa9", b"\xe1\x84\x80", b"\xe1\x85\xa1", b"\xea\xb0\x80", b"\xed\xa0\xbd",
            b"\xed\xb8\x80", b"\xff", b"\xc3", b"\n", b" ", b"_", b"/", b"\x01", b"\\", b"\t", b"."]


def header(name, type=b"0", size=0, magic=b"ustar\00000", prefix=b"", size_field=None):
    block = name[:100].ljust(100, b"\0") + b"0000644\0" * 3 + (size_field or b"%011o\0" % size)
    block += b"%011o\0" % 1500000000 + b" " * 8 + type + b"\0" * 100 + magic
    block = (block.ljust(345, b"\0") + prefix).ljust(512, b"\0")
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def padded(data):
    return data + bytes(-len(data) % 512)


def record(keyword, value):
    n = len(keyword) + len(value) + 3
    while n != len(b"%d %s=%s\n" % (n, keyword, value)):
        n = len(b"%d %s=%s\n" % (n, keyword, value))
    return b"%d %s=%s\n" % (n, keyword, value)


def pax(*pairs, type=b"x"):
    body = b"".join(record(*pair) for pair in pairs)
    return header(b"pax", type, len(body)) + padded(body)


def long(type, name):
    return header(b"././@LongLink", type, len(name) + 1, b"ustar  \0") + padded(name + b"\0")


def sparse(name):
    body = padded(b"1\n0\n10\n") + padded(b"0123456789")
    values = [(b"GNU.sparse.major", b"1"), (b"GNU.sparse.minor", b"0"), (b"GNU.sparse.name", name),
              (b"GNU.sparse.realsize", b"1000")]
    return pax(*values) + header(b"GNUSparseFile.1/x", b"0", 512 + 10) + body


def sparse_list(name):
    values = [(b"GNU.sparse.size", b"1000"), (b"GNU.sparse.numblocks", b"1"), (b"GNU.sparse.name", name),
              (b"GNU.sparse.map", b"7,10")]
    return pax(*values) + header(b"GNUSparseFile.1/x", b"0", 10) + padded(b"0123456789")


def in_a_folders_header(name, data):
    """The name is in an extension that ends with NULs; the header's is a folder's."""
    body = record(b"path", name) + bytes(r.choice([0, 1, 9]))
    extensions = [header(b"pax", b"x", len(body)) + padded(body), long(b"K", r.choice(NAMES))]
    r.shuffle(extensions)
    return b"".join(extensions) + header(b"folder/", b"0", len(data)) + padded(data)


def name():
    stem = b"".join(r.choice(ALPHABET) for _ in range(r.randrange(1, 4))).strip(b"/") or b"x"
    if r.random() < .2:
        stem = r.choice([b"p" * 90 + b"/", b"cafe\xcc\x81/" * 12, b"l" * 200]) + stem
    return stem


def member(name):
    data = r.randbytes(r.choice([0, 5, 512, 700]))
    body, short = padded(data), r.choice([b"short", b"sh\xff", name[:100]])
    kinds = [pax((b"path", name)) + header(short, size=len(data)) + body,
             pax((b"path", name), type=b"X") + header(short, size=len(data)) + body,
             pax((b"hdrcharset", b"BINARY"), (b"path", name)) + header(short, size=len(data)) + body,
             pax((b"path", b"no.not-this"), (b"mtime", b"1.5"), (b"path", name)) + header(short, size=len(data)) + body,
             pax((b"path", name), (b"size", b"%d" % len(data))) + header(short, size=0) + body,
             long(b"L", name) + header(short, size=len(data), magic=b"ustar  \0") + body,
             long(b"K", r.choice(NAMES)) + long(b"L", name) + header(short, size=len(data), magic=b"ustar  \0") + body,
             pax((b"linkpath", r.choice(NAMES)), (b"path", name)) + header(short, size=len(data)) + body,
             sparse(name), sparse_list(name), in_a_folders_header(name, data)]
    if len(name) <= 100:
        kinds += [header(name, size=len(data)) + body, header(name, size=len(data), magic=b"ustar  \0") + body,
                  header(name, b"\0", len(data), magic=b"") + body, header(name, b"7", len(data)) + body,
                  header(name, magic=b"ustar  \0", size_field=b"\x80" + len(data).to_bytes(11, "big")) + body,
                  pax((b"uname", b"\xff"), (b"mtime", b"2.5")) + header(name, size=len(data)) + body,
                  pax((b"linkpath", r.choice(NAMES))) + header(name, size=len(data)) + body]
    folder, slash, last = name.partition(b"/")
    if slash and len(folder) <= 155 and 0 < len(last) <= 100:
        kinds += [header(last, size=len(data), prefix=folder) + body,
                  header(last, size=len(data), prefix=folder, magic=b"ustar\0\0\0") + body] * 4
    return r.choice(kinds)


for shard in range(6):
    NAMES = [name() for _ in range(30)]
    with open("%s/random-%d.tar" % (sys.argv[1], shard), "wb") as file:
        for _ in range(300):
            stem = r.choice(NAMES)
            for field in range(r.randrange(1, 4)):
                file.write(member(stem + b".%d" % field))
            if r.random() < .1:
                file.write(long(b"K", stem) + header(stem[:100], b"2", magic=b"ustar  \0"))
            if r.random() < .1:
                file.write(pax((b"comment", stem), type=b"g"))
        file.write(header(b"last") + bytes(1024))  # (Python fails at a last global header)
EOF

# What Python's tarfile sees, and so WebDataset: each sample's shard and key, and the names
# of each shard's members that are in samples.
cat >by-python.py <<'EOF'
import os, re, sys, tarfile

KEY = re.compile(rb"^((?:.*/|)[^.]+)[.]([^/]*)$")
META = re.compile(rb"__[^/]*__($|/)")
keys = []
for shard in sorted(os.listdir(sys.argv[1])):
    before = None
    with tarfile.open(sys.argv[1] + "/" + shard) as tar, open(shard + ".names", "wb") as names:
        for info in tar:
            name = os.fsencode(info.name)
            match = KEY.match(name)
            if not info.isreg() or not match or META.match(name):
                continue
            names.write(name + b"\0")
            if match[1] != before:
                key = match[1]
                for byte, letter in (b"\\", b"\\"), (b"\t", b"t"), (b"\n", b"n"), (b"\r", b"r"):
                    key = key.replace(byte, b"\\" + letter)
                keys.append(os.fsencode(shard) + b"\t" + key)
            before = match[1]
sys.stdout.buffer.write(b"".join(key + b"\n" for key in sorted(keys)))
EOF

for folder in ds raw; do
    "$python" by-python.py $folder >keys
    for locale in C.UTF-8 C; do
        LC_ALL=$locale "$shufflefs" cat -o index-cache=no,lanes=3 $folder epochs/0.order >order
        "$python" "$top/scripts/order.py" list $folder 0.tar --lanes 3 >want
        same want order
        cut -f4- order | LC_ALL=C sort >got-keys
        same keys got-keys
    done

    # There are so many, and each @K begins with its sample.
    n=$(wc -l <order)
    for settings in index-cache=no "index-cache=$work/cache" "index-cache=$work/cache,segment=sample"; do
        script=$(echo ",lanes=3,keys=asis,$settings" | sed 's/,index-cache=[^,]*//; s/,/ --/g; s/=/ /g')
        for k in 0 7 $((n - 1)) "$n"; do
            # shellcheck disable=SC2086 # options are words
            "$python" "$top/scripts/order.py" stream $folder "1@$k.tar" $script >want.tar
            "$shufflefs" cat -o "lanes=3,keys=asis,$settings" $folder "epochs/1@$k.tar" >got.tar
            same want.tar got.tar
        done
    done
done

# Where keys repeat, samples are renamed: those with the same bytes, and no others.
for keys in auto unique; do
    "$python" "$top/scripts/order.py" stream ds 0.tar --lanes 8 --buffer 0 --keys $keys >want.tar
    "$shufflefs" cat -o lanes=8,buffer=0,keys=$keys ds epochs/0.tar >got.tar
    same want.tar got.tar
done

# The index for DALI: four words a member, the last of which is its name.
cat >names-of.py <<'EOF'
import sys
words = [line.split(b" ") for line in open(sys.argv[1], "rb").read().split(b"\n")[1:]]
sys.stdout.buffer.write(b"".join(name + b"\0" for line in words for name in line[3::4]))
EOF
for shard in ds/*.tar; do
    file=$(basename "$shard")
    "$shufflefs" cat -o index-cache=no ds "shards/${file%.tar}.idx" >idx
    "$python" names-of.py idx >got-names
    same "$file.names" got-names
done
