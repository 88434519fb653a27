#!/bin/sh
# SPDX-License-Identifier: MIT
# What is wrong with credentials, bucket or prefix of Google Cloud Storage, or with the clock, is
# said in one line with what to do; and credentials come from where Google's tools look.  No secret
# is shown.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/gcs.sh"

good_shards
mkdir -p world/buckets/bucket/set
cp shards/*.tar world/buckets/bucket/set
start_gcs

# refuses WORDS [OPTION...] SOURCE
refuses() {
    words=$1
    shift
    refused $gs "$@"
    said "$words"
    not_said 'SECRET[/12]\|TOKEN[.]\|REFRESH'
}

# says WHAT FILE: the file holds that.
says() {
    mkdir -p "$(dirname "$2")"
    printf '%s\n' "$1" >"$2"
}

one=gs://bucket/set/train-000000.tar
for source in gs://bucket/set/ $one; do
    refuses "AccessDenied: the request was not signed, because no credentials were found: log in with gcloud" $source
    refuses "leave out 'anonymous'" -o anonymous $source
    has_key GOOG1TWO SECRET1
    refuses "InvalidSecurity: the server does not know the access key from GS_ACCESS_KEY_ID" $source
    has_key GOOG1ONE SECRET2
    refuses "SignatureDoesNotMatch: the secret access key from GS_ACCESS_KEY_ID is not" $source
    has_token TOKEN.old
    refuses "AuthenticationRequired: the access token from the file '.*' has expired" $source
    unset CLOUDSDK_AUTH_ACCESS_TOKEN_FILE GS_ACCESS_KEY_ID GS_SECRET_ACCESS_KEY
done
CLOUDSDK_AUTH_ACCESS_TOKEN_FILE=$work/none refuses "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE: .*No such file" $one
GOOGLE_OAUTH_ACCESS_TOKEN='TOKEN. two' refuses "GOOGLE_OAUTH_ACCESS_TOKEN: they hold a blank" $one
GOOGLE_APPLICATION_CREDENTIALS=$work/none refuses "GOOGLE_APPLICATION_CREDENTIALS: .*No such file" $one
says '{"type": "impersonated_service_account", "private_key": "SECRET/x"}' account.json
GOOGLE_APPLICATION_CREDENTIALS=$work/account.json \
    refuses "does not understand credentials of the type 'impersonated_service_account': set bearer-token-command='gcloud auth" $one
says '{"type": "service_account", "private_key": "SECRET/x"}' account.json
GOOGLE_APPLICATION_CREDENTIALS=$work/account.json refuses "account.json': it has no client_email" $one
says '{"type": "service_account", "client_email": "e", "private_key": "SECRET/x"}' account.json
GOOGLE_APPLICATION_CREDENTIALS=$work/account.json refuses "account.json': its private_key is not one in PEM" $one
says '[]' account.json
GOOGLE_APPLICATION_CREDENTIALS=$work/account.json refuses "it holds no credentials of Google" $one
expect '{"grant": ["TOKEN.one", 3600], "tokens": ["TOKEN.one"]}'
user() {
    printf '{"type": "authorized_user", "client_id": "the client", "client_secret": "SECRET&1", "refresh_token": "%s", "token_uri": "%s/token"}' "$1" "$origin"
}
says "$(user REFRESH/two)" account.json
GOOGLE_APPLICATION_CREDENTIALS=$work/account.json refuses "HTTP 400: log in again" $one

# A service account.
"$python" - "$top/tests/data/google-account.json" "$origin" <<'EOF' >account.json
import json, sys
account = json.load(open(sys.argv[1]))
print(json.dumps(dict(account, token_uri=sys.argv[2] + "/token")))
EOF
modulus=$(sed -n 's/.*"modulus": "\([0-9a-f]*\)".*/\1/p' account.json)
grants='"grant": ["TOKEN.one", 3600], "tokens": ["TOKEN.one"]'
expect "{$grants, \"account\": {\"email\": \"other@project\", \"modulus\": \"$modulus\"}}"
GOOGLE_APPLICATION_CREDENTIALS=$work/account.json refuses "HTTP 400: check whether the account's key is still valid" $one
expect "{$grants, \"account\": {\"email\": \"reader@project\", \"modulus\": \"$modulus\"}}"

# Where they are found.
arrives_by() {
    forget
    arrives $gs gs://bucket/set/
    asked "$1"
}
CLOUDSDK_AUTH_ACCESS_TOKEN=TOKEN.one arrives_by 'Bearer TOKEN.one'
GOOGLE_OAUTH_ACCESS_TOKEN=TOKEN.one arrives_by 'Bearer TOKEN.one'
GOOGLE_APPLICATION_CREDENTIALS=$work/account.json arrives_by 'Bearer TOKEN.one'
NO_GCE_CHECK=false GCE_METADATA_HOST=${origin#http://} arrives_by 'Bearer TOKEN.one'
says "$(user REFRESH/one)" "$HOME/.config/gcloud/application_default_credentials.json"
arrives_by 'Bearer TOKEN.one'
expect "$usual"
says '[Credentials]
gs_access_key_id = GOOG1ONE
gs_secret_access_key = SECRET/one+1' "$HOME/.boto"
arrives_by 'Credential=GOOG1ONE'

refuses "NoSuchBucket: there is no bucket 'missing' at $origin/missing/" gs://missing/set/
refuses "NoSuchBucket" gs://missing/x.tar
refuses "nothing is below gs://bucket/no/: check the name" gs://bucket/no/
refuses "HTTP 404 NoSuchKey: no such object; to name all \*.tar below a prefix" gs://bucket/set
refuses "'gs:///x' has no name of a bucket: write gs://bucket/" gs:///x
expect '{"keys": {"GOOG1ONE": {"secret": "SECRET/one+1"}}, "denied": ["bucket"]}'
refuses "AccessDenied: the credentials from the file '.*/.boto' may not list it: they need storage.objects.list" gs://bucket/set/
refuses "AccessDenied: .* may not read this: they need storage.objects.get" $one

# Our clock is wrong by an hour: the server's is used.
expect '{"keys": {"GOOG1ONE": {"secret": "SECRET/one+1"}}, "off": 3600}'
arrives $gs gs://bucket/set/
said "the clock of this machine is 3[56][0-9]* s behind that of the Google Cloud Storage server"
