#!/bin/sh
# SPDX-License-Identifier: MIT
# Where HDFS wants Kerberos, the user's ticket opens it: it is shown to namenodes, with no name of a
# user beside it, and never to datanodes, nor to a namenode that has not asked for it.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/webhdfs.sh"
requires curl
curl --version | grep -q SPNEGO || skip "this libcurl is not made for SPNEGO"

good_shards --shards 6
cp -r shards world/buckets/set
start_webhdfs
"$python" "$top/tests/lib/kerberos-ticket.py" . HTTP localhost
export KRB5_CONFIG="$work/krb5.conf" KRB5CCNAME="FILE:$work/cache"
there=localhost:${hdfs##*:}

arrives "webhdfs://$there/set/"
not_asked '"authorization"'

expect '{"kerberos": true}'
for source in set/ "set/train-{000000..000005}.tar"; do
    forget
    arrives "webhdfs://alice@$there/$source"
    not_said .
    asked '"namenode0".*op=OPEN.*"status": 307.*"authorization": "Negotiate YII'
    asked '"namenode0".*op=GETFILESTATUS.*"status": 200.*"authorization": "Negotiate YII'
    asked '"datanode.*"status": 200'
    not_asked '"datanode.*"authorization"'
    not_asked 'user.name=.*"authorization"'
done

# It has run out.
rm cache
refused "webhdfs://$there/set/"
said "the namenode wants Kerberos, and refused the ticket, or there is none: run kinit"
