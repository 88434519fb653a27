#!/bin/sh
# SPDX-License-Identifier: MIT
# Redirects that lead in a circle, ever deeper, nowhere, to another protocol or to a dead
# place are an error that says so: when mounting, and in the middle.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards

# leads TO WORDS
leads() {
    refused "$origin/redirect,to=$1/$three"
    said "train-000000.tar: .*$2"
    breaks $brief "$origin/redirect,to=$1,over=1000,only=*1.tar/$three"
    said "read error at byte [0-9]*: train-000001.tar @ 0: .*$2"
}

leads loop "more than 10 redirects"
leads deeper "more than 10 redirects"
leads none "a redirect whose Location is missing or not an http URL"
leads ftp "a redirect whose Location is missing or not an http URL"
refusing_port
leads dead,port=$refusing "onnect"

# Round it goes no more than it says.  (None is late, so that none is asked for once more.)
start_origin shards
refused -o retries=0,low-speed-limit=0,stall-timeout=10m "$origin/redirect,to=loop/train-000000.tar"
n=$(grep -c '"path": "/redirect,to=loop/train-000000' origin-log.2)
[ "$n" = 11 ] || fail "$n requests, not the first one and 10 redirects"
