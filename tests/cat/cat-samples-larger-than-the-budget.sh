#!/bin/sh
# SPDX-License-Identifier: MIT
# A sample may be larger than all memory that shufflefs has: it is never held whole.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

"$python" - <<'EOF'
import io, os, random, tarfile
os.mkdir("data")
rng = random.Random(1)
for shard in range(3):
    with tarfile.open("data/%d.tar" % shard, "w") as tar:
        for i in range(6):
            size = 150_000_000 if i == shard + 1 else 40_000
            for name, n in (("k%d.bin" % i, size), ("k%d.cls" % i, 3)):
                info = tarfile.TarInfo(name)
                info.size = n
                block = rng.randbytes(1 << 16)
                tar.addfile(info, io.BytesIO((block * (n // len(block) + 1))[:n]))
EOF
export SHUFFLEFS="$shufflefs"
"$shufflefs" cat -o budget=1G data epochs/0.tar | sha256sum >wanted
for budget in 24M 100M; do
    "$python" - $budget <<'EOF' || fail "budget=$budget"
import os, subprocess, sys
budget = int(sys.argv[1][:-1])
with open("got.sum", "wb") as out:
    cat = subprocess.Popen([os.environ["SHUFFLEFS"], "cat", "-o", "budget=" + sys.argv[1],
                            "data", "epochs/0.tar"], stdout=subprocess.PIPE)
    subprocess.run(["sha256sum"], stdin=cat.stdout, stdout=out, check=True)
    _, status, usage = os.wait4(cat.pid, 0)
if status != 0:
    sys.exit("exit status %d" % status)
mib = usage.ru_maxrss // 1024
print("budget %d MiB: %d MiB resident" % (budget, mib))
# A sanitizer's own memory is not ours.
sys.exit(mib > budget + 64 and os.environ.get("WITH_SANITIZER", "no") in ("", "no"))
EOF
    same wanted got.sum
done
