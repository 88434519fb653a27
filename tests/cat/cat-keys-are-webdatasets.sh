#!/bin/sh
# SPDX-License-Identifier: MIT
# With keys=asis, WebDataset finds in a stream the samples that it finds in the shards:
# the same keys, fields and bytes, however odd the names in the tars are.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

webdataset_python=${WEBDATASET_PYTHON:-python3}
if ! "$webdataset_python" -c 'import sys; sys.modules["torch"] = None; import webdataset' 2>import-error; then
    cat import-error >&2
    [ "${SHUFFLEFS_CI:-}" != 1 ] || fail "$webdataset_python cannot import webdataset"
    skip "$webdataset_python cannot import webdataset"
fi

cat >make.py <<'EOF'
"""make.py KIND: a shard of each format in a folder of that name, and each in one of its own."""
import io, os, random, re, sys, tarfile

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
PARTS = ["a", "B", "x1", ".", ".", "/", "_", "__", "./", "..", " ", "\n", "ü", "\udcff\udcfe", "d" * 60]
KNOWN = [
    "plain.jpg", "plain.cls", "UPPER.JPG", "upper.Jpg", "many.dots.in.name.PNG", "many.seg.png",
    "folder.d/x.jpg", "folder.d/x.txt", "folder.d/y", "nodot", "folder/nodot", ".hidden",
    ".hidden.jpg", "folder/.hidden.jpg", "folder.d/.hidden.jpg", "./dotted.jpg", "./.jpg",
    "../up.jpg", "/rooted.jpg", "//twice.jpg", "ends.", "ends.in.", "two..dots", "...", "a/b/../c.jpg",
    "__meta__/a.jpg", "__meta__", "__x__/a.b", "__x__.jpg", "__a.b__", "__/a.b", "___/a.b",
    "____/a.b", "_x_/a.b", "d/__x__/a.b", "__x__y/z.jpg", "slash.jpg/", "folder/slash.jpg//",
    "t\u00fcr.jpg", "\u00dc.JPG", "\udcff\udcfe.jpg", "\udcff/\udcfe.x\udcff", "new\nline.jpg",
    "x.new\nline", "line\n/x.jpg", "a.b\n/c.jpg", "tail.jpg\n", "__tail__\n", " .jpg", " ",
    "same.jpg", "same.cls", "same.jpg", "same.JPG", "field.__key__", "field.__url__", "field.x",
    "l/" * 60 + "long.jpg", "l/" * 60 + "long.cls", "n" * 99 + ".jpg", "p" * 80 + "/" + "q" * 95 + ".jpg",
]
RULE = re.compile(r"^((?:.*/|)[^.]+)[.]([^/]*)$")
TYPES = [tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE,
         tarfile.CONTTYPE, tarfile.AREGTYPE, b"Z"]


def add(tar, name, type=tarfile.REGTYPE):
    info = tarfile.TarInfo(name)
    info.type = type
    data = b""
    if type in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE, b"Z"):
        data = rng.randbytes(rng.choice([0, 3, 511, 512, 700]) if name[-1:] != "/" else SLASH_SIZE)
    if type in (tarfile.SYMTYPE, tarfile.LNKTYPE):
        info.linkname = "plain.jpg"
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


def key_of(name):
    match = RULE.match(name)
    return match and match[1]


def odd_names(format):
    for name in KNOWN:
        yield name
        if rng.random() < .3:
            yield rng.choice(["between", "__between__/x.y", ".between.jpg"])
    seen = {key_of(name) for name in KNOWN}
    for i in range(300):
        name = "".join(rng.choice(PARTS) for _ in range(rng.randrange(7)))
        name += "%d%s" % (i, rng.choice(["", ".jpg", ".Cls", "/x.jpg", ".d/.y", "."]))
        if key_of(name) not in seen or key_of(name) is None:  # no key twice: see below
            yield name
        seen.add(key_of(name))


def make(path, format, names):
    with tarfile.open(path, "w", format=FORMATS[format]) as tar:
        for name, *type in names:
            try:
                add(tar, name, *type)
            except ValueError:  # too long for ustar
                continue


kind = sys.argv[1]
SLASH_SIZE = 700 if kind == "slashes" else 0  # of files whose names end as those of folders
for format in FORMATS:
    rng = random.Random(format)
    if kind == "slashes":
        names = [("a.x",), ("b.jpg/",), ("c.x",), ("d/e.jpg/",)]
    elif kind == "pax-slashes":
        names = [("a.x",), ("b\u00e4.jpg/",), ("c.x",), ("h" * 150 + "/d.jpg/",)]
    elif kind == "repeats":
        names = [(rng.choice("ab") + rng.choice([".x", ".y", ".z", ""]),) for i in range(300)]
    else:
        names = [(name,) for name in odd_names(format)]
        names += [("type.%d" % i, type) for i, type in enumerate(TYPES)]
        names += [("type%d.x" % i, type) for i, type in enumerate(TYPES)]
    # No two neighbours have one key where shards meet.
    names = [(format + "-first.x",)] + names + [(format + "-last.x",)]
    for folder in kind, kind + "-" + format:
        os.makedirs(folder, exist_ok=True)
    make("%s/%s.tar" % (kind, format), format, names)
    os.link("%s/%s.tar" % (kind, format), "%s-%s/%s.tar" % (kind, format, format))
EOF

cat >samples.py <<'EOF'
"""samples.py TAR...: what WebDataset finds in them, a line for each sample, sorted."""
import hashlib, os, sys
sys.modules["torch"] = None  # not needed here, and ten times as long to load as all the rest
import webdataset as wds

quiet = lambda error: True
urls = ["file:" + os.path.abspath(path) for path in sys.argv[1:]]
lines = []
for sample in wds.DataPipeline(wds.SimpleShardList(urls), wds.tarfile_to_samples(handler=quiet)):
    fields = sorted((field, hashlib.sha256(data).hexdigest()) for field, data in sample.items()
                    if field not in ("__key__", "__url__", "__local_path__"))
    lines.append(ascii((sample["__key__"], fields)))
print("\n".join(sorted(lines)))
EOF

# agree FOLDER SETTINGS: the samples of the stream are those of the shards.
agree() {
    "$webdataset_python" samples.py "$1"/*.tar >want
    "$shufflefs" cat -o "keys=asis,$2" "$1" epochs/1.tar >got.tar
    "$webdataset_python" samples.py got.tar >got
    diff -u want got >differences || {
        cat differences >&2
        fail "WebDataset finds other samples in the stream of $1 with $2"
    }
}

# A stream of one lane without a buffer mixes nothing but whole shards.
"$python" make.py odd
agree odd segment=shard,lanes=1,buffer=0
[ "$(wc -l <want)" -gt 400 ] || fail "only $(wc -l <want) samples: nothing is proved"

# Mixed, where no two samples have one key, or WebDataset would merge neighbours.
for format in ustar gnu pax; do
    agree odd-$format buffer=1M
    [ "$(cut -d, -f1 want | uniq -d | wc -l)" = 0 ] || fail "a key twice"
done

# Keys that come again and again.
"$python" make.py repeats
agree repeats segment=shard,lanes=1,buffer=0

# Regular files whose names end in a slash, as those of folders do: Python takes it off if
# it is in a pax record, and reads the data; others take them for folders.  They are
# refused by name, not left out.
for kind in pax-slashes slashes; do
    "$python" make.py $kind
    ! "$shufflefs" cat -o keys=asis,lanes=1 $kind epochs/1.tar >got.tar 2>said || fail "$kind: read"
    grep -q 'a file whose name ends in a slash' said || fail "$kind: $(cat said)"
done
