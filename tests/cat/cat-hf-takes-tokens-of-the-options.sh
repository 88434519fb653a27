#!/bin/sh
# SPDX-License-Identifier: MIT
# A token for the Hugging Face Hub may come from a command or a file of the options: it counts more than those
# of the Hub's tools, is renewed in the middle of an epoch, and goes to the Hub only.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/hf.sh"

make_shards data --shards 12 --samples 30 --bytes 60000
opts="-o lanes=2,buffer=64K,budget=10M"
"$shufflefs" cat $opts data epochs/0.tar >want.tar
mkdir -p world/datasets/me/it/one
cp data/* world/datasets/me/it/one
start_hf
export HF_TOKEN=TOKEN-of-another
echo 'echo run >>runs; cat token' >command

for how in command file; do
    forget
    expect '{"tokens": ["TOKEN-1"], "private": true}'
    echo TOKEN-1 >token
    case $how in
    command) option="bearer-token-command=sh command" ;;
    file) option="bearer-token-file=token" ;;
    esac
    begin $hf -o "$option" hf://datasets/me/it/
    echo TOKEN-2 >new
    mv new token
    expect '{"tokens": ["TOKEN-2"], "private": true, "signature": "2"}'
    finish 0
    same want.tar got.tar
    not_said .
    keeps_secrets
    asked 'Bearer TOKEN-2'
    not_asked 'of-another'

    echo TOKEN-3 >token
    refused $hf -o "$option" hf://datasets/me/it/
    case $how in
    command) said "HTTP 401: the token from bearer-token-command is not valid, or has expired" ;;
    file) said "HTTP 401: the token from the file '.*token' is not valid, or has expired" ;;
    esac
    keeps_secrets
done
[ "$(wc -l <runs)" -le 5 ] || fail "the command ran $(wc -l <runs) times"
refused $hf -o bearer-token-file=none hf://datasets/me/it/
said "the token from the file '.*none': No such file"
refused $hf -o bearer-token-command="echo TOKEN-1 x" hf://datasets/me/it/
said "bearer-token-command: no token is there, or not only one"
keeps_secrets
