#!/bin/sh
# SPDX-License-Identifier: MIT
# Sizes are asked of a far server by several requests at a time over one connection.  They
# are right also where the server hangs up now and then, closes politely, answers in a way
# that only libcurl reads, or forgets what came behind a request.  And where something mixes
# up the responses: none is taken for that to another.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/far-sizes.sh"

asks ""
ask_through_faults
asks /swaps/redirect,only=train-00015*.tar

rm data/train-00015*.tar
options=$options,on-error=skip
"$shufflefs" cat -o $options "data/train-{000000..000299}.tar" epochs/0.tar >want
asks /404,only=train-00015*.tar
asks /swaps/404,only=train-00015*.tar
