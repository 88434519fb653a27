#!/bin/sh
# SPDX-License-Identifier: MIT
# Azurite, Microsoft's emulator, with data that Microsoft's client put there: an epoch of a prefix, a glob
# or braces is the local one, whatever characters its names have, by key, SAS or without; more than 5,000
# blobs are listed on two pages; a server that is killed and starts again costs nothing; a replaced blob
# is an error that says so, and what is wrong is one line.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/azure.sh"
. "$top/tests/lib/clouds.sh"

find_clouds
start_azurite
az="-o endpoint=$azurite"
cloud_client "$azurite" create con
cloud_client "$azurite" create open container
good_shards --shards 6
cloud_client "$azurite" put shards con "the set/"
cloud_client "$azurite" put shards open ""

export AZURE_STORAGE_KEY=$azure_key
for source in "az://con/the set/" "az://con/the set/train-*[0-9].tar" "abfs://con/the set/train-{000000..000005}.tar"; do
    arrives $az "$source"
done
unset AZURE_STORAGE_KEY
cloud_client "$azurite" sas con 3600 >sas
arrives $az,sas-file=sas "az://con/the set/"
AZURE_STORAGE_SAS_TOKEN=$(cat sas) arrives $az "az://con/the set/train-{000000..000005}.tar"
AZURE_STORAGE_CONNECTION_STRING="AccountName=acct;AccountKey=$azure_key;BlobEndpoint=$azurite;" arrives "az://con/the set/"
unset AZURE_STORAGE_SAS_TOKEN AZURE_STORAGE_CONNECTION_STRING
arrives $az az://open/

# refuses WORDS [OPTION...] SOURCE
refuses() {
    words=$1
    shift
    refused $az "$@"
    said "$words"
    not_said 'sig=[^.]\|AAECAwQF'
}

refuses "it does not let everybody list it: set AZURE_STORAGE_SAS_TOKEN" "az://con/the set/"
AZURE_STORAGE_KEY=$(echo another key | base64)
export AZURE_STORAGE_KEY
refuses "HTTP 403 .*: check the key from AZURE_STORAGE_KEY" "az://con/the set/"
AZURE_STORAGE_KEY=$azure_key
refuses "ContainerNotFound: there is no container 'none'" az://none/
refuses "BlobNotFound: no such blob" az://con/none.tar
refuses "nothing is below az://con/none/: check the name" az://con/none/

# Names of any characters.
mkdir odd
i=0
for key in "a b" "a+b" "a%20b" "a%b" "é日" "a&b=c" "a'b(c)!" "a~b_c-d.e" "a#b" "a;b,c@d:e\$f" "[x]"; do
    i=$((i + 1))
    make_shards one --shards 1 --samples 5 --prefix "k$i-"
    mv one/train-000000.tar "odd/$key.tar"
    rm -r one
done
cloud_client "$azurite" put odd con odd/
"$shufflefs" cat $quick odd epochs/0.tar >want.tar
arrives $az az://con/odd/

# Two pages.
make_dense 5100 2
cloud_client "$azurite" put dense con many/
"$shufflefs" ls $az az://con/many/ >listed
"$shufflefs" ls dense >want-listed
same want-listed listed

# Killed, and started again; then all blobs are replaced.
make_alike 12 --samples 30 --bytes 100000
cloud_client "$azurite" put data con data/
# is_saved: it knows of all of them when it starts again.
is_saved() {
    for shard in data/*.tar; do
        grep -q -F "$shard" azurite/__azurite_db_blob__.json || return 1
    done
}
wait_until 60 is_saved
opts="-o lanes=2,buffer=64K,budget=10M,read-timeout=120s"
"$shufflefs" cat $opts data epochs/0.tar >want.tar
begin $az az://con/data/
kill_azurite
start_azurite "$azurite_port"
finish 0
same want.tar got.tar
begin $az,retries=0 az://con/data/
for shard in data/*.tar; do
    printf x | dd of="$shard" bs=1 seek=700 conv=notrunc status=none
done
cloud_client "$azurite" put data con data/
finish 1
said "the object changed since the mount began: its ETag was"
n=$(wc -c <got.tar)
cmp -n "$n" want.tar got.tar || fail "wrong bytes before the error"
