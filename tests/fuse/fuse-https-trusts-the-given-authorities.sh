#!/bin/sh
# SPDX-License-Identifier: MIT
# A server whose certificate nobody vouches for is refused in a line that says so; with
# cacert, capath or the environment it is trusted; a certificate for another host is not.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
requires_fuse
requires openssl
unset CURL_CA_BUNDLE SSL_CERT_FILE SSL_CERT_DIR

make_shards data --shards 3 --samples 20
opts=lanes=2,buffer=64K,retries=2
"$shufflefs" cat -o $opts data epochs/0.tar >want.tar

openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=test authority" \
    -addext basicConstraints=critical,CA:true -keyout ca.key -out ca.pem 2>openssl-log
# certificate NAME SAN
certificate() {
    openssl req -newkey rsa:2048 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" 2>>openssl-log
    echo "subjectAltName=$2" >"$1.ext"
    openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
        -extfile "$1.ext" -out "$1.pem" 2>>openssl-log
}
certificate right IP:127.0.0.1
certificate other DNS:other.invalid
certificate client DNS:client.invalid

# start_https NAME [ask]: serves data/ with this certificate; sets $https
start_https() {
    "$python" "$top/tests/lib/https.py" data "$1.pem" "$1.key" ${2:+ca.pem} >"port.$1" 2>"https-log.$1" &
    wait_until 60 grep -q . "port.$1"
    https="https://127.0.0.1:$(cat "port.$1")/train-{000000..000002}.tar"
}

refuses() {
    words=$1
    shift
    mount_refused -o $opts "$@"
    said "$words"
}

serves() {
    mount_ds -o $opts "$@" mnt
    same want.tar mnt/epochs/0.tar
    umount_ds mnt
}

mkdir mnt folder
start_https right
refuses "certificate" "$https"
refuses "certificate" -o cacert=other.pem "$https"
serves -o cacert=ca.pem "$https"
cp ca.pem "folder/$(openssl x509 -hash -noout -in ca.pem).0"
serves -o capath=folder "$https"
export CURL_CA_BUNDLE="$work/ca.pem"
serves "$https"
unset CURL_CA_BUNDLE
export SSL_CERT_FILE="$work/ca.pem"
serves "$https"
unset SSL_CERT_FILE
refuses "nowhere.pem" -o cacert=nowhere.pem "$https"

start_https other
refuses "certificate" -o cacert=ca.pem "$https"

# A server that wants to see a certificate of ours, for each request.  (The mount is in the root
# folder by then: files were named from here.)
cp right.pem asking.pem
cp right.key asking.key
start_https asking ask
refuses "127.0.0.1" -o cacert=ca.pem "$https"
serves -o cacert=ca.pem,cert=client.pem,key=client.key "$https"
