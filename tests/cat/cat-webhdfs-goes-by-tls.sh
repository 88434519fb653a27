#!/bin/sh
# SPDX-License-Identifier: MIT
# swebhdfs:// is the same by TLS, to namenodes and datanodes: a certificate that nobody trusts is
# refused, and so is a redirect from https to http.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/webhdfs.sh"
requires openssl
unset CURL_CA_BUNDLE SSL_CERT_FILE SSL_CERT_DIR

good_shards
cp -r shards world/buckets/set
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext "subjectAltName=IP:127.0.0.1" \
    -keyout key.pem -out authority.pem 2>openssl-log
cat authority.pem key.pem >world/certificate.pem
start_webhdfs
there=${hdfs#webhdfs://}

for source in set/ "set/$three"; do
    arrives -o cacert=authority.pem "swebhdfs://$there/$source"
    arrives -o "cacert=authority.pem,endpoint=https://$there" "hdfs://cluster/$source"
    not_said .
    refused "swebhdfs://$there/$source"
    said "certificate"
    expect '{"downgrade": true}'
    cat_of -o cacert=authority.pem "swebhdfs://$there/$source" epochs/0.tar
    [ $status = 1 ] || fail "exit status $status, though a redirect led to http"
    said "a redirect from https to http, which is not followed"
    expect '{}'
done
keeps_secrets
