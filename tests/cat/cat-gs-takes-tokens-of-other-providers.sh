#!/bin/sh
# SPDX-License-Identifier: MIT
# Who is known to another identity provider reads from Google Cloud Storage: its token, from a file or a URL, is
# exchanged for one of Google's, and that perhaps for one of a service account, before it expires.  What is
# refused, and kinds of accounts that are not understood, are named in one line; no token is shown.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/gcs.sh"

good_shards --samples 10
mkdir -p world/buckets/bucket
ln -s "$PWD/shards" world/buckets/bucket/set
start_gcs
export GOOGLE_APPLICATION_CREDENTIALS="$work/account.json"

# account SOURCE [MORE]: the file that Google has people download.
account() {
    cat >account.json <<END
{"type": "external_account", "audience": "//iam.googleapis.com/projects/1/pools/p&q",
 "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": "$origin/sts",
 "universe_domain": "googleapis.com", ${2:-}
 "credential_source": $1}
END
}

# is TOKEN: what the server takes for Google's.
is() {
    expect "{\"subject\": \"SUBJECT.1\", \"grant\": [\"TOKEN.$1\", ${2:-3600}], \"tokens\": [\"TOKEN.$1\"]}"
}

# gives: the account's token opens the bucket.
gives() {
    forget
    arrives $gs gs://bucket/set/
    asked "Bearer TOKEN.$1"
    not_said .
}

fails() {
    refused $gs gs://bucket/set/
    said "$1"
    not_said 'SUBJECT\|TOKEN'
}

printf 'SUBJECT.1\n' >subject
printf '{"id": "x", "jwt": "SUBJECT.1"}' >subject.json
account "{\"file\": \"$work/subject\"}"
is one
gives one
account "{\"file\": \"$work/subject.json\", \"format\": {\"type\": \"json\", \"subject_token_field_name\": \"jwt\"}}"
gives one
account "{\"url\": \"$origin/subject?x=1\", \"headers\": {\"X-Provider\": \"yes\"}}"
gives one
account "{\"url\": \"$origin/subject?json\", \"headers\": {\"X-Provider\": \"yes\"}, \"format\": {\"type\": \"json\", \"subject_token_field_name\": \"access_token\"}}"
gives one

# A service account is impersonated, and its tokens are renewed before they expire.
account "{\"file\": \"$work/subject\"}" "\"service_account_impersonation_url\": \"$origin/impersonate\","
is two
gives two
asked '/impersonate'
is three 4
make_alike 12 --samples 30 --bytes 60000
"$shufflefs" cat -o lanes=2,buffer=64K,budget=10M data epochs/0.tar >want.tar
ln -s "$PWD/data" world/buckets/bucket/more
opts="-o lanes=2,buffer=64K,budget=10M"
forget
begin $gs gs://bucket/more/
wait_until 20 sh -c "[ \$(grep -c '\"/impersonate' 'origin-log.$n_origins') -ge 2 ]"
finish 0
same want.tar got.tar
opts=

# What is wrong.
printf 'SUBJECT.2\n' >subject
fails "a token for the file '.*account.json': the exchange of tokens: HTTP 400: check the pool and its provider"
printf 'SUBJECT.1\n' >subject
expect '{"subject": "SUBJECT.1", "grant": ["TOKEN.one", 3600], "tokens": ["TOKEN.one"], "no_role": true}'
fails "its service account: HTTP 403: the other identity needs the role of a workload identity user"
is one
account "{\"file\": \"$work/none\"}"
fails "the file '.*account.json': its credential_source: .*none: No such file"
: >empty
account "{\"file\": \"$work/empty\"}"
fails "no token is in its credential_source, .*empty"
account "{\"file\": \"$work/subject\", \"format\": {\"type\": \"json\", \"subject_token_field_name\": \"jwt\"}}"
fails "no token is in its credential_source"
account "{\"url\": \"$origin/subject?SUBJECT\"}"
fails "$origin/subject?\*\*\*: HTTP 403: check its credential_source"
account "{\"url\": \"$origin/subject\", \"headers\": {\"X\": 1}}"
fails "the headers of its credential_source are none"
account '{"executable": {"command": "/bin/x"}}'
fails "its credential_source is a program or a certificate, and shufflefs takes a token from a file or a URL: set bearer-token-command="
account '{"environment_id": "aws1", "regional_cred_verification_url": "https://sts"}'
fails "its credential_source is AWS's signatures, and shufflefs takes a token from a file or a URL"
