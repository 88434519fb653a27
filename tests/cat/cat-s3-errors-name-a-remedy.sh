#!/bin/sh
# SPDX-License-Identifier: MIT
# What is wrong with credentials, region, bucket, prefix or clock is said in one line with what
# to do; what the server tells (region, time) is used.  No secret is shown.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/s3.sh"

good_shards
mkdir -p world/buckets/bucket/set world/buckets/empty
cp shards/*.tar world/buckets/bucket/set
echo x >world/buckets/bucket/set/x.txt
echo x >world/buckets/empty/x.txt
start_s3

# refuses WORDS [OPTION...] SOURCE: for a listing and for one key.
refuses() {
    words=$1
    shift
    refused $s3 "$@"
    said "$words"
    not_said 'SECRET[/12]\|TOKEN'
}

refuses "HTTP 403 AccessDenied: the request was not signed, because no credentials" s3://bucket/set/
refuses "no credentials were found" s3://bucket/set/train-000000.tar
refuses "leave out 'anonymous'" -o anonymous s3://bucket/set/
has_keys WRONG SECRET1
refuses "InvalidAccessKeyId: the server does not know the access key from profile 'default'" s3://bucket/set/
refuses "InvalidAccessKeyId" s3://bucket/set/train-000000.tar
has_keys AKIDONE SECRET2
refuses "SignatureDoesNotMatch: the secret access key from profile 'default' is not" s3://bucket/set/
refuses "SignatureDoesNotMatch" s3://bucket/set/train-000000.tar
has_keys AKIDONE SECRET/one+1 TOKEN
refuses "InvalidToken: the session token" s3://bucket/set/
has_keys AKIDONE SECRET/one+1
AWS_PROFILE=nobody refuses "AWS_PROFILE: no profile 'nobody'" s3://bucket/set/

refuses "NoSuchBucket: there is no bucket 'missing' at $origin/missing/" s3://missing/set/
refuses "NoSuchBucket" s3://missing/x.tar
refuses "nothing is below s3://bucket/no/: check the name" s3://bucket/no/
refuses "no \*.tar is below s3://empty/, only 1 other object: check the name" s3://empty
refuses "no object matches s3://bucket/set/\*.tgz" "s3://bucket/set/*.tgz"
refuses "HTTP 404 NoSuchKey: no such object; to name all \*.tar below a prefix" s3://bucket/set
refuses "3 shards are missing" "s3://bucket/set/test-{0..2}.tar"
refuses "'s3:///x' has no name of a bucket" s3:///x
refuses "'host:9' is not an endpoint" -o endpoint=host:9 s3://bucket/set/
refuses "'West 1' is not a region" -o "region=West 1" s3://bucket/set/
expect '{"keys": {"AKIDONE": {"secret": "SECRET/one+1"}}, "denied": ["bucket"]}'
refuses "AccessDenied: the credentials from profile 'default' may not list it" s3://bucket/set/
refuses "AccessDenied: .* may not read this" s3://bucket/set/train-000000.tar

# Another region: the server says which, or does not.
expect '{"keys": {"AKIDONE": {"secret": "SECRET/one+1"}}, "region": "eu-west-1"}'
arrives $s3 -o log-level=info s3://bucket/set/
said "is in the region eu-west-1: region=eu-west-1 saves a request"
arrives $s3 "s3://bucket/set/train-{000000..000002}.tar"
forget
arrives $s3 -o region=eu-west-1 s3://bucket/set/
not_asked '"status": 400'
AWS_REGION=eu-west-1 arrives $s3 s3://bucket/set/
expect '{"keys": {"AKIDONE": {"secret": "SECRET/one+1"}}, "region": "eu-west-1", "hint": false}'
refuses "the bucket 'bucket' is in another region than us-east-1" s3://bucket/set/
refuses "is in another region" s3://bucket/set/train-000000.tar

# Our clock is wrong by an hour: the server's is used.
for off in 3600 -3600; do
    expect "{\"keys\": {\"AKIDONE\": {\"secret\": \"SECRET/one+1\"}}, \"off\": $off}"
    for source in s3://bucket/set/ "s3://bucket/set/train-{000000..000002}.tar"; do
        arrives $s3 "$source"
        said "the clock of this machine is 3[56][0-9]* s \(behind\|ahead of\) that of the S3 server"
        [ "$(grep -c "the clock" said)" = 1 ] || fail "not said once"
    done
done

# Another service, by the variable and by the profile.
expect "$usual"
AWS_ENDPOINT_URL="$origin" arrives s3://bucket/set/
printf '[default]\nendpoint_url = %s\nregion = us-east-1\n' "$origin" >"$HOME/.aws/config"
arrives s3://bucket/set/
