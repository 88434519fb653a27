#!/bin/sh
# SPDX-License-Identifier: MIT
# With on-error=skip, shards that are cut off anywhere, or damaged in a header or behind
# their end, have the samples that docs/ORDER.md says, and so an independent script.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

for format in ustar gnu pax webdataset; do
    make_shards whole --shards 1 --samples 5 --bytes 700 --format $format --odd --name $format.tar
done
mkdir files
"$python" - <<'EOF'
for i in range(4):
    with open("files/%d.bin" % i, "wb") as file:
        for k in range(i * 3):
            file.seek(30000 * k + 7)
            file.write(b"run %d of %d" % (k, i))
        file.truncate(400000)
EOF
for format in gnu posix; do
    tar -cSf whole/sparse-$format.tar --format=$format --hole-detection=raw --sort=name -C files .
done

# Cut at each place where something begins or ends, beside it, and anywhere; with zeros or
# something else behind it; a byte of a header changed; data after the end.
"$python" - <<'EOF'
import os, random, tarfile

r = random.Random("skip")
os.mkdir("ds")
for name in sorted(os.listdir("whole")):
    with open("whole/" + name, "rb") as file:
        tar = file.read()
    with tarfile.open("whole/" + name) as t:
        members = list(t)
    begins = [m.offset for m in members]
    headers = [(m.offset_data - 512 if m.isreg() and not m.sparse else m.offset) for m in members]
    ends = begins[1:] + [members[-1].offset_data + (members[-1].size + 511) // 512 * 512]
    if members[-1].sparse:
        ends.pop()
    places = set()
    for place in r.sample(begins, min(12, len(begins))) + r.sample(headers, min(6, len(headers))) + ends[-1:]:
        places.update(place + by for by in r.sample([0, 0, 1, 100, 511, 512, 513, 700, 1024, -1, -300, -512], 6))
    places.update(r.randrange(len(tar)) for _ in range(20))
    made = []
    for place in places:
        cut = tar[:max(0, place)]
        tails = [b"", b"", b"", b"\0", bytes(100), bytes(511), bytes(512), b"\0" * 99 + b"x", b"x" * 512,
                 bytes(700) + b"x" * 400, bytes(1024) + tar, bytes(1023) + b"x"]
        if name.startswith("sparse"):  # behind a header that would be a map, of which the script knows nothing
            tails = [b""]
        made.append(cut + r.choice(tails))
    for place in r.sample(headers, min(8, len(headers))):
        at = place + r.choice([0, 3, 108, 130, 150, 257, 400])
        made.append(tar[:at] + bytes([tar[at] ^ 1]) + tar[at + 1:])
    made += [tar + b"x", tar + bytes(512), b"", bytes(100), bytes(512)]
    for i, data in enumerate(made):
        with open("ds/%s-%03d.tar" % (name[:-4], i), "wb") as file:
            file.write(data)
print(len(os.listdir("ds")), "shards")
EOF

for settings in lanes=7,buffer=100K,keys=asis lanes=3,segment=sample,keys=asis; do
    script="--on-error skip $(echo ",$settings" | sed 's/,/ --/g; s/=/ /g')"
    for name in 0.order 1.tar 2@20.tar; do
        case $name in *.order) command=list ;; *) command=stream ;; esac
        # shellcheck disable=SC2086 # options are words
        "$python" "$top/scripts/order.py" $command ds ${name%.*}.tar $script >want
        "$shufflefs" cat -o on-error=skip,index-cache=no,$settings ds epochs/$name >got 2>said
        same want got
    done
done
[ "$(cut -f4 want | wc -l)" -gt 0 ] && grep -q "all its samples are kept" said || fail "nothing is proved"
