#!/bin/sh
# SPDX-License-Identifier: MIT
# A netrc-file= that cannot be read is refused, as curl refuses one, in one line that names the
# option and the file.  Without credentials, a mistyped name would look like a wrong password.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
auth=auth,user=net,password=rc
printf 'machine 127.0.0.1 login net password rc\n' >netrc
chmod 600 netrc

arrives -o netrc-file=netrc "$origin/$auth/$three"
refused -o netrc-file=missing "$origin/$auth/$three"
said "^shufflefs: option 'netrc-file': $work/missing: No such file or directory$"
refused -o "netrc-file=$work/netrc/x" "$origin/$auth/$three"
said "^shufflefs: option 'netrc-file': $work/netrc/x: Not a directory$"
if [ "$(id -u)" != 0 ]; then
    chmod 000 netrc
    refused -o netrc-file=netrc "$origin/$auth/$three"
    said "netrc: Permission denied$"
fi

# Nothing is asked of it where nothing is fetched.
arrives -o netrc-file=missing shards
