#!/bin/sh
# SPDX-License-Identifier: MIT
# What a server says once, it may never say again: one cache of many may be ill. So the very first
# request for a size is sent again, and so is one for bytes. What a server goes on saying is final.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards

# To the first request for each shard's size, and to each first one for its bytes.
for fault in ignorerange norange multipart gzip wrongstart,by=1 \
    redirect,to=none redirect,to=ftp 416,total=7777 416,total=none 412 \
    400 405 421 501; do
    arrives "$origin/$fault,times=1/$three"
    arrives "$origin/$fault,times=1,over=1000/$three"
    said "retry: train-00000[012].tar @ [0-9]*: "
done

# To the first request for a size: one that no tar has, as of a copy in a cache that was cut off.
for by in 1 -700 1000000000000000; do
    arrives "$origin/wrongtotal,by=$by,times=1/$three"
done

# One with less than the first block, from which it cannot be told whether that is a tar.
for fault in short,by=10 less,bytes=100; do
    arrives "$origin/$fault,times=1/$three"
done
arrives "$origin/less,bytes=100,under=1000/$three"

# What only libcurl may understand, it asks for again.
for fault in garbage 000 204 304; do
    arrives "$origin/$fault,times=1/$three"
    arrives "$origin/$fault,times=1,over=1000/$three"
done

# To one for bytes: what was there is gone, or another version.
for fault in 404 410 wrongtotal,by=1 etag etag,blind size,by=512 size,by=-512; do
    arrives "$origin/$fault,times=1,over=1000/$three"
    said "retry: train-00000[012].tar @ [0-9]*: "
done

# Without retries, once is enough; and so it is for what is said plainly.
refused -o retries=0 "$origin/ignorerange,times=1,first/$three"
said "does not serve ranges"
for code in 401 403 404; do
    refused "$origin/$code,times=1/train-000000.tar"
    said "HTTP $code"
done

# What it says steadily is said last.
for fault in "000 response" "400 HTTP 400" "416,total=7777 is 7777"; do
    breaks "$origin/${fault%% *},over=1000,only=*1.tar/$three"
    said "train-000001.tar @ 0: .*${fault#* }"
done
