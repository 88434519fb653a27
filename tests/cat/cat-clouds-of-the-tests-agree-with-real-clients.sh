#!/bin/sh
# SPDX-License-Identifier: MIT
# The servers of the tests of gs:// and az:// are judged by clients that others wrote: they find the
# signatures of boto3 and of azure-storage-blob good, and a wrong key's not, and give what these understand.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/azure.sh"
. "$top/tests/lib/gcs.sh"
. "$top/tests/lib/clouds.sh"

find_clouds
mkdir -p "world/buckets/con/a b"
make_shards "world/buckets/con/a b" --shards 3
mv "world/buckets/con/a b/train-000002.tar" "world/buckets/con/é+%20.tar"
(cd world/buckets/con && find . -type f -printf '%P %s\n' | LC_ALL=C sort) >want

start_azure
cloud_client "$origin/acct" read con >got
same want got
cloud_client "$origin/acct" read con "$(a_sas con 600)" >got
same want got
# What that client makes, this server takes.
cloud_client "$origin/acct" read con "$(cloud_client "$origin/acct" sas con 600)" >got || fail "a SAS was refused"
! cloud_client "$origin/acct" read con "$(a_sas other 600)" 2>said || fail "a wrong SAS was taken"
said "AuthenticationFailed"

start_gcs
cloud_client "$origin" read-gcs con GOOG1ONE SECRET/one+1 >got
same want got
! cloud_client "$origin" read-gcs con GOOG1ONE SECRET/two 2>said || fail "a wrong secret was taken"
said "SignatureDoesNotMatch"
