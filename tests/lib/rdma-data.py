# SPDX-License-Identifier: MIT
"""rdma-data.py FOLDER: the shards of the tests of rdma://.  many.tar has 4000 samples, of which part-0.tar
to part-2.tar have a third each; in bad.tar one of 200 cannot be decoded."""
import io, random, sys, tarfile
rng = random.Random(5)
samples = [rng.randbytes(768) for i in range(4000)]
def write(name, numbers, broken=-1):
    with tarfile.open("%s/%s.tar" % (sys.argv[1], name), "w", format=tarfile.USTAR_FORMAT) as tar:
        for i in numbers:
            for extension, data in ("img", samples[i]), ("cls", b"none" if i == broken else b"%d" % i):
                member = tarfile.TarInfo("%06d.%s" % (i, extension))
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
write("many", range(4000))
write("bad", range(200), broken=100)
for part in range(3):
    write("part-%d" % part, range(part, 4000, 3))
