# SPDX-License-Identifier: MIT
# What the tests of Google Cloud Storage share, after functions.sh and faults.sh: start_gcs starts a
# server that checks signatures and tokens (gcs.py), whose buckets are the folders of world/buckets.

for variable in $(env | sed -n 's/^\(GOOGLE_[A-Z0-9_]*\|CLOUDSDK_[A-Z0-9_]*\|GS_[A-Z0-9_]*\|GCE_[A-Z0-9_]*\)=.*/\1/p'); do
    unset "$variable"
done
unset BOTO_CONFIG STORAGE_EMULATOR_HOST
export NO_GCE_CHECK=true
. "$top/tests/lib/stores.sh"

# As it is at first.
usual='{"keys": {"GOOG1ONE": {"secret": "SECRET/one+1"}}, "tokens": ["TOKEN.one"]}'

start_gcs() {
    expect "$usual"
    start_origin world 0 gcs.py
    gs="-o endpoint=$origin"
}

# has_key ID SECRET: an HMAC key in the environment.
has_key() {
    export GS_ACCESS_KEY_ID="$1" GS_SECRET_ACCESS_KEY="$2"
}

# has_token TOKEN: an access token in the file `token`.
has_token() {
    echo "$1" >new-token
    mv new-token token
    export CLOUDSDK_AUTH_ACCESS_TOKEN_FILE="$work/token"
}
