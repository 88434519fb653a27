#!/bin/sh
# SPDX-License-Identifier: MIT
# Images are what Pillow makes of the same files: JPEG of all kinds of colour, subsampling and
# scans, PNG with palettes and alpha; whole, resized, cut from the centre (as torchvision's Resize
# and CenterCrop, too), and cut and mirrored at random where a program that knows only docs/internals/sidecar.md says.  The same through a
# mount, to a ring and over TCP, with any number of workers.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
if /usr/bin/python3 -c "import PIL.Image" 2>/dev/null; then
    python=/usr/bin/python3
elif ! "$python" -c "import PIL.Image" 2>lacks; then
    [ -z "${SHUFFLEFS_CI:-}" ] || fail "no Pillow: $(cat lacks)"
    skip "no python3 with Pillow"
fi
sidecar=$build/shufflefs-sidecar

# 40 samples in order of their keys; all.tar is the stream, which tells epoch 3.
mkdir -p shards epochs
"$python" - <<'END'
import io, random, tarfile
import PIL.Image
rng = random.Random(2)

def picture(mode, width, height):
    bands = len(PIL.Image.new(mode, (1, 1)).getbands())
    small = PIL.Image.frombytes(mode, (5, 4), rng.randbytes(20 * bands))
    noise = PIL.Image.frombytes(mode, (width, height), rng.randbytes(width * height * bands))
    return PIL.Image.blend(small.resize((width, height), PIL.Image.BICUBIC), noise, 0.1)

def made(i):
    width, height = rng.choice([(1, 1), (7, 300), (64, 48), (61, 47), (99, 140), (333, 200), (16, 16), (8, 9)])
    kind = i % 10
    if kind < 6:
        mode = ["RGB", "RGB", "RGB", "L", "CMYK", "RGB"][kind]
        options = [{"subsampling": 2}, {"subsampling": 0}, {"progressive": True, "subsampling": 1}, {}, {},
                   {"exif": b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"}][kind]
        return picture(mode, width, height), "jpeg", dict(options, quality=rng.randrange(40, 96))
    image = picture({6: "RGB", 7: "L", 8: "RGBA", 9: "RGB"}[kind], width, height)
    return image.quantize(16) if kind == 9 else image, "png", {}

with tarfile.open("epochs/3.tar", "w", format=tarfile.USTAR_FORMAT) as stream, \
        tarfile.open("shards/0.tar", "w", format=tarfile.USTAR_FORMAT) as shard:
    for i in range(40):
        image, kind, options = made(i)
        data = io.BytesIO()
        image.save(data, kind, **options)
        if i in (0, 3, 22):  # as real datasets have: "extraneous bytes before marker"
            data = io.BytesIO(data.getvalue()[:-2] + b"\x12\x34\xff\xd9")
        for tar in stream, shard:
            member = tarfile.TarInfo("s/%03d.%s" % (i, "jpg" if kind == "jpeg" else "png"))
            member.size = len(data.getvalue())
            tar.addfile(member, io.BytesIO(data.getvalue()))
END

# dump OUT FILE ARG...: the rows, all in one batch.
dump() {
    out=$1
    file=$2
    shift 2
    "$build/tests/lib/ring-dump" ring >"$out" 2>said &
    dumper=$!
    "$sidecar" send "$file" local:ring --batch 100 "$@" || fail "$*"
    wait $dumper || fail "$*: $(cat said)"
}

cat >compare.py <<'END'
import io, math, sys, tarfile
import PIL.Image

M = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15

class Rng:  # ORDER.md, "Random numbers"
    def __init__(self, *words):
        self.state = 0
        for word in words:
            self.state = self.mix((self.state ^ word) + GOLDEN & M)

    @staticmethod
    def mix(z):
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & M
        z = (z ^ z >> 27) * 0x94D049BB133111EB & M
        return z ^ z >> 31

    def next(self):
        self.state = self.state + GOLDEN & M
        return self.mix(self.state)

    def below(self, n):
        m = self.next() * n
        while m & M < (1 << 64) % n:
            m = self.next() * n
        return m >> 64

    def real(self):
        return (self.next() >> 11) / (1 << 53)

def checksum(data):
    def step(lane, word):
        lane ^= word
        return (lane << 29 & M | lane >> 35) * GOLDEN & M
    lanes = [1, 2, 3, 4]
    words = data + bytes(-len(data) % 32)
    for i in range(0, len(words), 8):
        lane = i // 8 % 4
        lanes[lane] = step(lanes[lane], int.from_bytes(words[i:i + 8], "little"))
    ret = len(data)
    for lane in lanes:
        ret = step(ret, lane)
    return ret ^ ret >> 32

def center(w, h, ratio):
    cw, ch = (h * ratio, h) if w > h * ratio else (w, w / ratio)
    return (w - cw) / 2, (h - ch) / 2, (w - cw) / 2 + cw, (h - ch) / 2 + ch

def rrc(w, h, rng):
    for _ in range(10):
        area = w * h * (0.08 + 0.92 * rng.real())
        ratio = math.exp(math.log(3 / 4) + (math.log(4 / 3) - math.log(3 / 4)) * rng.real())
        cw, ch = math.floor(math.sqrt(area * ratio) + 0.5), math.floor(math.sqrt(area / ratio) + 0.5)
        if 1 <= cw <= w and 1 <= ch <= h:
            x, y = rng.below(w - cw + 1), rng.below(h - ch + 1)
            return x, y, x + cw, y + ch
    return center(w, h, min(max(w / h, 3 / 4), 4 / 3))

def middle(image, shorter):
    w, h = image.size
    size = (shorter, shorter * h // w) if w <= h else (shorter * w // h, shorter)
    left, top = round((size[0] - width) / 2), round((size[1] - height) / 2)
    return image.resize(size, PIL.Image.BILINEAR).crop((left, top, left + width, top + height))

got, how, mode, width, height, seed = open(sys.argv[1], "rb").read(), *sys.argv[2:4], *map(int, sys.argv[4:7])
fast = len(sys.argv) > 7  # the option: colours that RGB does not have become others
at = 0
worst = 0
for member in (tar := tarfile.open("epochs/3.tar")):
    data = tar.extractfile(member).read()
    image = PIL.Image.open(io.BytesIO(data))
    image.draft(mode, None)  # a JPEG's own luma
    image = image.convert(mode)
    w, h = image.size
    rng = Rng(seed, 3, checksum(member.name.split(".")[0].encode()), checksum(data[:4096]), len(data))
    mirrored = rng.below(2)
    box = {"middle": lambda: None, "fit": lambda: (0, 0, w, h), "crop": lambda: center(w, h, width / height), "rrc": lambda: rrc(w, h, rng)}[how]()
    image = image.resize((width, height), PIL.Image.BILINEAR, box) if box else middle(image, 32)
    if how == "rrc" and mirrored:
        image = image.transpose(PIL.Image.FLIP_LEFT_RIGHT)
    want = image.tobytes()
    here = got[at:at + len(want)]
    at += len(want)
    assert len(here) == len(want), member.name
    off = max(abs(a - b) for a, b in zip(here, want))
    assert off <= (20 if fast else 1), "%s %s: %d off" % (member.name, how, off)
    worst += sum(abs(a - b) > (2 if fast else 0) for a, b in zip(here, want))
assert at == len(got)
assert worst * 100 < at, "%d of %d bytes differ%s" % (worst, at, " by more than 2" if fast else "")
END
compare() {
    "$python" compare.py "$@" || fail "$*"
}

dump fit epochs/3.tar --fields 'jpg|png:rgb,40x56,fit'
compare fit fit RGB 56 40 0
dump same-size epochs/3.tar --fields 'jpg|png:gray,33x20,fit'
compare same-size fit L 20 33 0
dump crop epochs/3.tar --fields 'jpg|png:rgb,48'
compare crop crop RGB 48 48 0
dump middle epochs/3.tar --fields 'jpg|png:rgb, fit 32, crop 24x31'
compare middle middle RGB 31 24 0
dump random epochs/3.tar --fields 'jpg|png:rgb,32x24,rrc,flip' --seed 9 --workers 1
compare random rrc RGB 24 32 9
dump fast epochs/3.tar --fields 'jpg|png:rgb,40x56,fit,fast'
compare fast fit RGB 56 40 0 fast
dump fast epochs/3.tar --fields 'jpg|png:gray,33x20,fast,fit'
compare fast fit L 20 33 0
dump fast epochs/3.tar --fields 'jpg|png:rgb,32x24,rrc,flip,fast' --seed 9
compare fast rrc RGB 24 32 9 fast
dump again epochs/3.tar --fields 'jpg|png:rgb,32x24,rrc,flip' --seed 9 --workers 5
cmp random again || fail "workers change pixels"

# Whole, by their own sizes.
"$python" - <<'END'
import io, tarfile
import PIL.Image
for member in (tar := tarfile.open("epochs/3.tar")):
    data = tar.extractfile(member).read()
    image = PIL.Image.open(io.BytesIO(data)).convert("RGB")
    name = member.name[2:5]
    with tarfile.open("one-%s.tar" % name, "w") as one:
        member.pax_headers = {}
        one.addfile(member, io.BytesIO(data))
    open("one-%s.want" % name, "wb").write(image.tobytes())
END
for i in 000 001 002 003 004 005 006 007 008 009; do
    dump got one-$i.tar --fields 'jpg|png:rgb'
    "$python" -c 'import sys
a, b = (open(f, "rb").read() for f in sys.argv[1:])
assert len(a) == len(b) and max(abs(x - y) for x, y in zip(a, b)) <= 1' got one-$i.want || fail "whole: $i"
done

# What is cut, claims too many pixels, or goes over them too often, is broken.
"$python" - <<'END'
import io, struct, tarfile, zlib

def write(name, member, data):
    with tarfile.open(name, "w") as tar:
        info = tarfile.TarInfo(member)
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

write("large-png.tar", "a.png", b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0))
      + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b""))
head = bytes.fromhex("ffd8ffdb004300" + "01" * 64 + "ffc2000b080008000801011100" + "ffc4001400" + "01" + "00" * 16)
for n in 400, 600:
    data = head + bytes.fromhex("ffda00080101000000007f") * n + b"\xff\xd9"
    write("scans-%d.tar" % n, "a.jpg", data)
write("large-jpg.tar", "a.jpg", data.replace(bytes.fromhex("00080008"), bytes.fromhex("fde8fde8"), 1))
write("cut.tar", "a.jpg", data[:-5000])
END
dump got scans-400.tar --fields jpg:gray
[ "$(od -An -tu1 -v got | tr -s ' \n' '\n' | sort -u | tr -d '\n')" = 128 ] || fail "400 scans"
# breaks FILE WHY
breaks() {
    ! "$sidecar" send "$1" local:ring --fields 'jpg|png:gray' 2>said || fail "$1"
    grep -q "$2" said || fail "$1: $(cat said)"
}
breaks scans-600.tar 'too many scans'
breaks large-jpg.tar 'more than 64 million'
breaks large-png.tar 'more than 64 million'
breaks cut.tar 'libjpeg: Premature end of JPEG file'

# Through a mount, to a ring and over TCP.
[ -w /dev/fuse ] || exit 0
mount_ds shards mnt
dump local mnt/epochs/3.tar --fields 'jpg|png:rgb,32x24,rrc,flip' --seed 9
"$sidecar" recv tcp://127.0.0.1:0 --ring ring2 2>receiver &
receiver=$!
wait_until 20 grep -q 'tcp://127.0.0.1:[1-9]' receiver
url=$(grep -o 'tcp://127.0.0.1:[0-9]*' receiver | head -n 1)
"$build/tests/lib/ring-dump" ring2 >tcp &
dumper=$!
"$shufflefs" forward mnt/epochs/3.tar "$url" --fields 'jpg|png:rgb,32x24,rrc,flip' --seed 9 --batch 7
wait $dumper || fail "no batches over TCP"
wait $receiver || fail "recv: $(cat receiver)"
cmp local tcp || fail "another batch over TCP"
