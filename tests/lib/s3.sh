# SPDX-License-Identifier: MIT
# What the tests of S3 share, after functions.sh and faults.sh: start_s3 starts a server that
# checks signatures (s3.py), whose buckets are the folders of world/buckets.

for variable in $(env | sed -n 's/^\(AWS_[A-Z0-9_]*\)=.*/\1/p'); do
    unset "$variable"
done
export AWS_EC2_METADATA_DISABLED=true
mkdir -p "$HOME/.aws"
. "$top/tests/lib/stores.sh"

# As it is at first.
usual='{"keys": {"AKIDONE": {"secret": "SECRET/one+1"}}}'

start_s3() {
    expect "$usual"
    start_origin world 0 s3.py
    s3="-o endpoint=$origin"
}

# has_keys ID SECRET [TOKEN]: in the file of credentials.
has_keys() {
    printf '[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n' "$1" "$2" >new-keys
    [ $# = 2 ] || printf 'aws_session_token = %s\n' "$3" >>new-keys
    mv new-keys "$HOME/.aws/credentials"
}
