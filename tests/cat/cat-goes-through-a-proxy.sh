#!/bin/sh
# SPDX-License-Identifier: MIT
# A proxy of the environment or of the options is used, as curl's users expect: but not for
# hosts of no_proxy.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards
start_origin shards
refused -o retries=0 "http://nowhere.invalid/$three"
http_proxy=$origin arrives "http://nowhere.invalid/$three"
asked 'http://nowhere.invalid/train-000002.tar'
ALL_PROXY=$origin arrives "http://elsewhere.invalid/$three"
asked 'http://elsewhere.invalid/train-000002.tar'
arrives -o "proxy=$origin" "http://option.invalid/$three"
asked 'http://option.invalid/train-000002.tar'
http_proxy=http://nowhere.invalid:1 no_proxy=127.0.0.1 arrives "$origin/$three"
http_proxy=$origin no_proxy=.invalid refused -o retries=0 "http://not.invalid/$three"
not_asked 'not.invalid'

# A proxy that is not there is named.
refusing_port
refused -o "retries=0,proxy=http://127.0.0.1:$refusing" "http://nowhere.invalid/$three"
said '127.0.0.1\|proxy\|[Cc]onnect'
