# SPDX-License-Identifier: MIT
# The sender's card loses its carrier while batches flow, and has it again when both ends have
# noticed.  The trainer gets each of 1000 batches once.
. "$top/tests/rdma/functions.sh"
goes_on_after "unplug b" "plug b"
