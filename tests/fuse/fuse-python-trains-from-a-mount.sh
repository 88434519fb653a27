#!/bin/sh
# SPDX-License-Identifier: MIT
# shufflefs.Batches reads the epochs of a mount, as ranks and from any sample on, and refuses the
# state of another order; shufflefs.forward lets the mount feed a ring, and says how far it is and
# what is wrong.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/python-module.sh"
requires_fuse
requires_sidecar
has_module
export SHUFFLEFS="$shufflefs"

"$python" - "$top" <<'END'
import importlib.util, os, sys
spec = importlib.util.spec_from_file_location("batches", sys.argv[1] + "/tests/lib/python-batches.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
os.mkdir("shards")
module.write_tar("shards/0.tar", range(300))
module.write_tar("shards/1.tar", range(300, 600))
END
mount_ds -o seed=3,segment=64K,lanes=12 shards mnt
timeout $patience "$python" -W error::ResourceWarning "$top/tests/lib/python-batches.py" Mount || fail "see above"

# The examples do what they say.
timeout $patience "$python" "$top/examples/forward.py" mnt/epochs/0.tar local:example 'cls' >said 2>&1 &
forward=$!
"$python" -c 'import shufflefs
print(sum(batch.n_samples for batch in shufflefs.Ring("example", timeout=60)))' >got
wait $forward || fail "forward.py: $(cat said)"
[ "$(cat got)" = 600 ] || fail "wrong samples: $(cat got)"
grep -q "3 batches, 600 samples" said || fail "forward.py: $(cat said)"
umount_ds mnt
