# SPDX-License-Identifier: MIT
# The wire between two hosts is cut while batches flow, and mended when both have noticed: nobody
# tells them, but acknowledgements do not come.  The trainer gets each of 1000 batches once.
. "$top/tests/rdma/functions.sh"
goes_on_after cut mend
