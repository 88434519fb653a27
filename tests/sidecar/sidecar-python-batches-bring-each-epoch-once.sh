#!/bin/sh
# SPDX-License-Identifier: MIT
# shufflefs.Batches brings each epoch once, from one tar or from shards: resumed at any sample, with
# arrays that stay as they are for as long as they are kept, in a DataLoader too; its children end
# with it, whatever ends it, and their errors are exceptions with their sentences.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/python-module.sh"
has_module
export SHUFFLEFS="$shufflefs"

"$python" -c "import torch" 2>/dev/null || echo "$python has no torch: what needs it is left out"
"$python" - "$top" <<'END'
import importlib.util, os, sys
spec = importlib.util.spec_from_file_location("batches", sys.argv[1] + "/tests/lib/python-batches.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
os.mkdir("shards")
module.write_tar("shards/0.tar", range(300))
module.write_tar("shards/1.tar", range(300, 600))
END
timeout $patience "$python" -W error::ResourceWarning "$top/tests/lib/python-batches.py" File Shards || fail "see above"
