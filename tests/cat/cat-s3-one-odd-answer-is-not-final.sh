#!/bin/sh
# SPDX-License-Identifier: MIT
# What a server of S3 says once is not final, if it makes no sense: of a listing, of a size, of bytes.
# What it says steadily is, and is what the error says.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/s3.sh"

good_shards
ln -s "$PWD/shards" world/buckets/bucket
start_s3
has_keys AKIDONE SECRET/one+1

# odd TO TIMES STATUS BODY: what it says to the first requests of that kind.
n_odd=0
odd() {
    n_odd=$((n_odd + 1))
    expect "{\"keys\": {\"AKIDONE\": {\"secret\": \"SECRET/one+1\"}},
        \"odd\": {\"to\": \"$1\", \"times\": $2, \"status\": $3, \"body\": \"$4\", \"name\": $n_odd}}"
}

# A glob's listing.
for answer in "200 <html>Welcome</html>" "200 " "200 <ListBucketResult><Contents>" "400 " "418 short"; do
    odd list 1 "${answer%% *}" "${answer#* }"
    arrives $s3 "s3://bucket/*.tar"
done
odd list 99 200 "<html>Welcome</html>"
refused $s3 "s3://bucket/*.tar"
said "the answer is not a listing of S3's"
odd list 99 418 ""
refused $s3 "s3://bucket/*.tar"
said "cannot list .*HTTP 418"

# A size, and bytes of what was listed.
for answer in "400 " "418 short" "405 <html>no</html>" "200 <html>Welcome</html>"; do
    odd object 1 "${answer%% *}" "${answer#* }"
    arrives $s3 "s3://bucket/train-{000000..000002}.tar"
    odd object 1 "${answer%% *}" "${answer#* }"
    arrives $s3 "s3://bucket/*.tar"
done

# In so many words, once is enough.
odd object 1 403 "<Error><Code>AccessDenied</Code></Error>"
refused $s3 "s3://bucket/train-000000.tar"
said "AccessDenied"
