#!/bin/sh
# SPDX-License-Identifier: MIT
# Every request is a GET for one range, of the very bytes (no encoding), with If-Match
# once the tag is known; never a HEAD, never If-Range.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
arrives "$origin/nohead,status=403/$three"
[ ! -s said ] || fail "something was said"
log=origin-log.1
n=$(wc -l <$log)
[ "$(grep -c '"method": "GET"' $log)" = "$n" ] || fail "not only GETs"
[ "$(grep -c '"range": "bytes=[0-9]*-[0-9]*"' $log)" = "$n" ] || fail "not all for one range"
[ "$(grep -c '"accept-encoding": "identity"' $log)" = "$n" ] || fail "an encoding is welcome"
[ "$(grep -c '"user-agent": "shufflefs/' $log)" = "$n" ] || fail "not by name"
not_asked '"if-range"'
[ "$(grep -v '"range": "bytes=0-5.."' $log | grep -vc '"if-match": "\\"')" = 0 ] ||
    fail "a read without If-Match"
[ "$(grep -c '"range": "bytes=0-5.."' $log)" = 3 ] || fail "not one question for each size"
