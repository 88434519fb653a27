#!/bin/sh
# SPDX-License-Identifier: MIT
# Keys that MinIO lends for some seconds and that expire in the middle of an epoch cost nothing if
# there are others by then, in the file where they were or from a program; otherwise the error
# names them.  No secret is shown.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/s3.sh"
. "$top/tests/lib/minio.sh"

start_identity
start_minio
client bucket bucket
make_alike 12 --samples 30 --bytes 100000
client put data bucket ""
opts="-o retries=0,lanes=2,buffer=64K,budget=10M,log-level=info,read-timeout=20s"
"$shufflefs" cat $opts data epochs/0.tar >want.tar

# field NAME: of temporary credentials.
field() {
    sed -n "s/.*\"$1\": \"\([^\"]*\)\".*/\1/p"
}

# take_keys FILE: into the file of credentials.
take_keys() {
    has_keys "$(field AccessKeyId <"$1")" "$(field SecretAccessKey <"$1")" "$(field SessionToken <"$1")"
}

# is_refused FILE: does the server take these keys no more?
is_refused() {
    ! AWS_ACCESS_KEY_ID=$(field AccessKeyId <"$1") AWS_SECRET_ACCESS_KEY=$(field SecretAccessKey <"$1") \
        AWS_SESSION_TOKEN=$(field SessionToken <"$1") AWS_REGION=$minio_region \
        "$python" "$top/tests/lib/minio-client.py" "$minio" list bucket
}

# reader NAME: reads the epoch, of which only the beginning is taken for now.
reader() {
    mkfifo "$1.fifo"
    {
        "$shufflefs" cat $opts $s3 s3://bucket/ epochs/0.tar >"$1.fifo" 2>"$1.said" && echo 0 >"$1.status" || echo $? >"$1.status"
    } &
}

# ends NAME: the rest has been read.
ends() {
    wait_until 60 test -s "$1.status"
    status=$(cat "$1.status")
    cp "$1.said" said
    sed "s/^/| /" said >&2
    for secret in $(cat ./*.keys | tr '{' '\n' | field SecretAccessKey) eyJ; do
        not_said "$secret"
    done
}

# From a program: each run gets keys of its own.
cat >program <<END
#!/bin/sh
cd "$work"
echo run >>runs
AWS_REGION=$minio_region exec "$python" "$top/tests/lib/minio-client.py" "$minio" assume 8
END
chmod +x program
mkdir -p program-home/.aws
printf '[default]\ncredential_process = %s/program\n' "$work" >program-home/.aws/config

client assume 12 >short.keys
take_keys short.keys
cp -r "$HOME" other-home
reader file
HOME=$work/other-home reader nobody
HOME=$work/program-home reader program
exec 3<file.fifo 4<nobody.fifo 5<program.fifo
head -c 100000 <&3 >file.tar
head -c 100000 <&4 >nobody.tar
head -c 100000 <&5 >program.tar

wait_until 60 is_refused short.keys
client assume 900 >long.keys
take_keys long.keys
cat <&3 >>file.tar
ends file
[ "$status" = 0 ] || fail "exit status $status with a new file"
same want.tar file.tar
cat <&4 >>nobody.tar
ends nobody
[ "$status" = 1 ] || fail "exit status $status without new keys"
said "InvalidAccessKeyId: the server does not know the temporary access key from profile 'default': it has expired"
cmp -n "$(wc -c <nobody.tar)" want.tar nobody.tar || fail "wrong bytes before the error"
wait_until 60 sh -c '[ "$(wc -l <runs)" -ge 3 ]'
cat <&5 >>program.tar
ends program
[ "$status" = 0 ] || fail "exit status $status with a program"
same want.tar program.tar
