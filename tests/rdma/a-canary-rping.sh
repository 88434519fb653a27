# SPDX-License-Identifier: MIT
# The machine's RDMA works: rping writes, reads and checks, without us.
. "$top/tests/rdma/functions.sh"
rping -s -a "$ADDRESS" -C 10 >server.log 2>&1 &
until_so sh -c 'rping -c -a "$ADDRESS" -C 10 -v >client.log 2>&1'
grep -q 'ping data' client.log || fail "it said nothing"
