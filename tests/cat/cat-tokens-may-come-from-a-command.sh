#!/bin/sh
# SPDX-License-Identifier: MIT
# A token that a command prints, and that expires in the middle of an epoch, costs nothing: the
# command runs again when a server refuses the old one, and what was refused is sent again.  One
# that fails is tried again; one that prints the same is an error.  At the start, whatever is
# wrong with it is said in one line.  No token is ever shown.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

make_alike 12 --samples 30 --bytes 60000
opts="-o retries=0,lanes=2,buffer=64K,budget=10M,log-level=debug"
"$shufflefs" cat $opts data epochs/0.tar >want.tar
start_origin data
shards=train-{000000..000011}.tar

# serve TOKEN: what the server wants from now on.
serve() {
    echo "$1" >data/new
    mv data/new data/token
}

# program LINE...: what the command does.
program() {
    {
        echo '#!/bin/sh'
        echo 'echo run >>runs'
        printf '%s\n' "$@"
    } >new-program
    chmod +x new-program
    mv new-program program
    : >runs
}

n_runs() {
    wc -l <runs
}

ends() {
    finish "$1"
    not_said SECRET
}

prints_token='cat data/token'
prints_header='printf "X-Other: 1\r\nAuthorization: Bearer %s\r\n" "$(cat data/token)"'

# survives OPTION PROGRAM FAULT: tokens change twice while the epoch is read.
survives() {
    program "$2"
    serve SECRET1
    begin -o "$1=./program" "$origin/bearer,file=token,$3/$shards"
    for token in SECRET2 SECRET3; do
        serve $token
        head -c 4000000 <&3 >>got.tar
    done
    ends 0
    same want.tar got.tar
    not_said "HTTP 40"
    [ "$(n_runs)" -ge 3 ] || fail "the command ran $(n_runs) times"
}

for wire in ours libcurl; do
    [ $wire = ours ] || : >"$HOME/.netrc" # then libcurl makes all requests
    survives bearer-token-command "$prints_token" status=401,$wire
    survives header-command "$prints_header" status=403,$wire
done
rm "$HOME/.netrc"
survives bearer-token-command "sleep 1; $prints_token" status=401,slow

# It fails for a while; the requests wait for it.
program "$prints_token"
serve SECRET1
begin -o bearer-token-command=./program "$origin/bearer,file=token,fails/$shards"
program '[ ! -e broken ] || { echo "first line" >&2; echo "no route to it" >&2; exit 3; }' "$prints_token"
: >broken
serve SECRET2
{
    wait_until 60 grep -q "bearer-token-command: exit status 3: no route to it; shufflefs keeps" said
    rm broken
} &
waits=$!
ends 0
wait $waits
same want.tar got.tar

# It prints the same as before: no request is sent over and over.
program 'echo SECRET2'
begin -o bearer-token-command=./program "$origin/bearer,file=token,same/$shards"
serve SECRET4
ends 1
said "lost: train-.*HTTP 401"
[ "$(n_runs)" -le 3 ] || fail "the command ran $(n_runs) times"

# A server that says of indexes which are not there that they are forbidden starts no command.
program "$prints_token"
serve SECRET5
cat_of $opts -o bearer-token-command=./program,index-cache=no,segment=1M \
    "$origin/403,only=*.tar.i*/bearer,file=token,index/$shards" epochs/0.tar
[ $status = 0 ] || fail "exit status $status"
asked '"path": "/403.*\.index"'
[ "$(n_runs)" = 1 ] || fail "the command ran $(n_runs) times"

# What is wrong at the start is said at the start.
# start_fails WORDS OPTION PROGRAM
limit=
start_fails() {
    program "$3"
    refused -o "$2=./program$limit" "$origin/bearer,file=token/train-000000.tar"
    said "$1"
    not_said SECRET
}
for option in bearer-token-command header-command; do
    start_fails "option '$option': exit status 4: not logged in" $option 'echo SECRET; echo "not logged in" >&2; exit 4'
    start_fails "option '$option': exit status 137" $option 'kill -9 $$'
    limit=,read-timeout=2s
    start_fails "option '$option': it did not end within 2 s" $option 'sleep 1000'
    start_fails "option '$option': it did not end within 2 s" $option 'exec >&- 2>&-; sleep 1000'
    limit=
    start_fails "option '$option': it printed nothing" $option 'echo "token is SECRET" >&2; echo'
    start_fails "option '$option': what it printed is of no use: it has a NUL" $option 'printf "A: SECRET\0"'
    start_fails "option '$option': it wrote more than 64 KiB" $option 'head -c 1000000 /dev/zero | tr "\0" x'
done
start_fails "a blank, another line" bearer-token-command 'echo SECRET and more'
start_fails "a blank, another line" bearer-token-command 'echo SECRET; echo more'
start_fails "expected 'Name: value'" header-command 'echo SECRET'
start_fails "exclude each other" bearer-token-file=/dev/null,bearer-token-command "$prints_token"
start_fails "option 'bearer-token-command': another option gives the header 'Authorization'" \
    header="authorization: SECRET",bearer-token-command "$prints_token"
refused -o bearer-token-command=./nothing-there "$origin/bearer,file=token/train-000000.tar"
said "exit status 127: .*nothing-there"

# CR LF; and in the folder of the caller, without standard input.
serve SECRET5
program 'cat; printf "  %s\r\n\r\n" "$(cat data/token)"'
echo "no token" >input
cat_of $opts -o bearer-token-command=./program "$origin/bearer,file=token,crlf/train-000000.tar" epochs/0.tar <input
[ $status = 0 ] || fail "exit status $status"

# bearer-token-file: as Kubernetes mounts it, where a link to a folder is swapped.
mkdir -p kube/1 kube/2 kube/3
ln -s 1 kube/..data
ln -s ..data/token kube/token
for n in 1 2 3; do
    printf SECRET$n >kube/$n/token
done
serve SECRET1
begin -o bearer-token-file=kube/token "$origin/bearer,file=token,kube/$shards"
for n in 2 3; do
    ln -s $n kube/..new
    mv -T kube/..new kube/..data
    serve SECRET$n
    head -c 4000000 <&3 >>got.tar
done
ends 0
same want.tar got.tar
said "bearer-token-file=.*/kube/token: read again"

refused -o bearer-token-file=missing "$origin/bearer,file=token/train-000000.tar"
said "option 'bearer-token-file': .*/missing: No such file"
printf 'SECRET one' >bad
refused -o bearer-token-file=bad "$origin/bearer,file=token/train-000000.tar"
said "option 'bearer-token-file': .*/bad: it has more in it than a token"
not_said SECRET
