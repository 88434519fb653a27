#!/bin/sh
# SPDX-License-Identifier: MIT
# Credentials are found where AWS's tools find them: a web identity (by STS), a container's
# service, an instance's metadata (IMDSv2); the first that is there counts.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/s3.sh"

good_shards
mkdir -p world/buckets
cp -r shards world/buckets/bucket
start_s3

# role ID: what the services give from now on; the server has only this key.
role() {
    expect "{\"keys\": {\"$1\": {\"secret\": \"SECRET\", \"token\": \"a/b+c==\"}},
        \"role\": {\"AccessKeyId\": \"$1\", \"SecretAccessKey\": \"SECRET\", \"Token\": \"a/b+c==\",
        \"Expiration\": \"2099-01-01T00:00:00Z\", \"Code\": \"Success\"}}"
    forget
}

# came_from ID REGEX: the epoch arrives, signed with this key, after such a request.
came_from() {
    arrives $s3 s3://bucket/
    asked "Credential=$1"
    asked "$2"
    not_said 'SECRET\|a/b+c'
}

unset AWS_EC2_METADATA_DISABLED
export AWS_EC2_METADATA_SERVICE_ENDPOINT="$origin"
role INSTANCE
came_from INSTANCE '"method": "PUT", "path": "/latest/api/token"'

export AWS_CONTAINER_CREDENTIALS_FULL_URI="$origin/container"
export AWS_CONTAINER_AUTHORIZATION_TOKEN=container-token
role CONTAINER
came_from CONTAINER '"path": "/container"'
echo container-token >token
unset AWS_CONTAINER_AUTHORIZATION_TOKEN
export AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE="$PWD/token"
role CONTAINER2
came_from CONTAINER2 '"path": "/container"'
echo wrong >token
refused $s3 s3://bucket/
said "credentials from the container: HTTP 401"

echo web-token >web-token
export AWS_WEB_IDENTITY_TOKEN_FILE="$PWD/web-token" AWS_ROLE_ARN=arn:aws:iam::1:role/r
export AWS_ENDPOINT_URL_STS="$origin/sts"
role WEB
came_from WEB '"method": "POST", "path": "/sts"'
not_asked '"path": "/container"'
echo wrong >web-token
refused $s3 s3://bucket/
said "the web identity of role 'arn:aws:iam::1:role/r': HTTP 400"

echo web-token >web-token
unset AWS_WEB_IDENTITY_TOKEN_FILE AWS_ROLE_ARN
printf '[profile w]\nrole_arn = arn:aws:iam::1:role/r\nweb_identity_token_file = %s/web-token\n' "$PWD" >"$HOME/.aws/config"
export AWS_PROFILE=w
role PROFILE
came_from PROFILE '"method": "POST", "path": "/sts"'

export AWS_ACCESS_KEY_ID=ENV AWS_SECRET_ACCESS_KEY=SECRET AWS_SESSION_TOKEN=a/b+c==
role ENV
came_from ENV 'list-type=2'
not_asked '"path": "/sts"'
