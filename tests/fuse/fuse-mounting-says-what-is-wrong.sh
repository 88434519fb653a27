#!/bin/sh
# SPDX-License-Identifier: MIT
# Every wrong argument gives one line on standard error that names it, and a non-zero
# exit status; nothing is left mounted or running.  If the command line is wrong, a second
# line points to the help.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse

make_shards data --shards 2
mkdir mnt norange
touch afile
printf '[empty]\nseed = 1\n[bad]\nsource = data\nseed = x\n' >bad.conf
printf 'nonsense\n' >worse.conf

# wrong STATUS WORDS ARG...: fails so, saying that.
wrong() {
    status=$1
    words=$2
    shift 2
    got=0
    "$shufflefs" "$@" >out 2>err || got=$?
    [ $got = "$status" ] || fail "exit status $got, not $status, of: $*: $(cat err)"
    grep -q -e "$words" err || fail "no '$words' in '$(cat err)' of: $*"
    [ ! -s out ] || fail "something on standard output of: $*"
    if [ "$status" = 2 ]; then
        [ "$(wc -l <err)" = 2 ] || fail "not two lines: $(cat err)"
        [ "$(tail -n 1 err)" = "Try 'shufflefs --help' for more information." ] || fail "$(cat err)"
    else
        [ "$(wc -l <err)" = 1 ] || fail "not one line: $(cat err)"
    fi
    ! grep -qs " $work/mnt " /proc/self/mounts || fail "left mounted by: $*"
}

wrong 2 "no command given"
wrong 2 "no command given" --seed=1
wrong 2 "there is no command 'nonsense'$" nonsense
wrong 2 "there is no command 'muont'; did you mean 'mount'?" muont data mnt
wrong 2 "the command must come before its options: shufflefs mount" -o seed=1 mount data mnt
wrong 2 "mount needs a SOURCE and a DIR" mount
wrong 2 "mount needs a SOURCE and a DIR" mount data
wrong 2 "mount does not take --lazy" mount --lazy data mnt
wrong 2 "mount does not take --force" mount --force data mnt
wrong 2 "umount does not take -o" umount -o seed=1 mnt
wrong 2 "top does not take --seed" top --seed=1 mnt
wrong 2 "'bacth'; did you mean 'batch'?" plan --bacth=3 data
wrong 2 "no option 'sede'; did you mean 'seed'" mount -o sede=1 data mnt
wrong 2 "no option 'SEED'; did you mean 'seed'" mount -o SEED=1 data mnt
wrong 2 "no option 'zzzzz'$" mount --zzzzz data mnt
wrong 2 "no option '-q'" mount -q data mnt
wrong 2 "option 'seed': '-1' is not a number" mount -o seed=-1 data mnt
wrong 2 "option 'seed': '0x10' is not a number" mount -o seed=0x10 data mnt
wrong 2 "option 'lanes': '0' is not a number from 1" mount --lanes=0 data mnt
wrong 2 "option 'buffer': '1X' is not a size" mount -o buffer=1X data mnt
wrong 2 "option 'keys': 'maybe' is not one of auto|asis" mount -o keys=maybe data mnt
wrong 2 "option 'stall-timeout': 'soon' is not a time" mount -o stall-timeout=soon data mnt
wrong 2 "option 'umask': '9' is not an octal" mount -o umask=9 data mnt
wrong 2 "option 'uid': 'no-such-user' is not" mount -o uid=no-such-user data mnt
wrong 2 "option 'header': expected 'Name: value'" mount --header nonsense data mnt
wrong 2 "option 'header': /nowhere: No such file" mount --header @/nowhere data mnt
wrong 2 "option 'seed' needs a value" mount -o seed data mnt
wrong 2 "seed needs a value" mount data mnt --seed
wrong 2 "cannot be changed by 'remount'" mount -o remount data mnt
wrong 2 "nothing.conf: No such file" mount -o config=nothing.conf data mnt
wrong 2 "section \[empty\] has no 'source ='" mount -o config=bad.conf empty mnt
wrong 2 "bad.conf:5: option 'seed': 'x'" mount -o config=bad.conf bad mnt
wrong 2 "worse.conf: near line 1" mount -o config=worse.conf data mnt
wrong 2 "'imagenet' is neither a file nor a section in an ini file (" mount imagenet mnt
printf '[other]\nsource = data\n' >own.conf
wrong 2 "'imagenet' is neither a file nor a section in the ini file own.conf$" mount -o config=own.conf imagenet mnt
wrong 1 "'{0..x}' is neither a range" mount 'a-{0..x}.tar' mnt
wrong 1 "nothing matches '.*/data/\*.zip'" mount 'data/*.zip' mnt
wrong 1 "list.txt: No such file or directory" mount @list.txt mnt
wrong 1 "'pipe:' is refused: .* name the path or URL" mount "pipe:cat data/train-000000.tar" mnt
wrong 1 "'{' without '}'" mount 'a-{0..3.tar' mnt
wrong 1 "'gopher://' is not understood" mount gopher://host/a.tar mnt
wrong 1 "has no host" mount http:///a.tar mnt
wrong 1 "has no valid port" mount http://host:99999/a.tar mnt
wrong 1 "of another machine" mount file://elsewhere/a.tar mnt
wrong 1 "No such file or directory" mount ./nothing.tar mnt
wrong 1 "no \*.tar in the folder" mount norange mnt
wrong 1 "not a regular file" mount /dev/null mnt
wrong 1 "two shards are named 'a.tar'" mount http://127.0.0.1:9/a.tar http://127.0.0.1:9/%61.tar mnt
wrong 1 "is a folder, not a shard: name the shards, as in http://127.0.0.1:9/folder/train-{000000..000099}.tar" mount http://127.0.0.1:9/folder/ mnt
wrong 1 "mount point .*nowhere: No such file or directory; create it" mount data nowhere
wrong 1 "mount point no/where: No such file or directory" mount data no/where
wrong 1 "the mount point is empty" mount data ""
wrong 1 "afile is not a folder" mount data afile
mkdir full
touch full/.file
wrong 1 "mount point .*/full is not empty; .* with -o nonempty" mount data full
"$shufflefs" mount -o nonempty data full
"$shufflefs" umount full
[ -e full/.file ] || fail "a file is gone"
wrong 1 "mount point .*/data would hide the shards" mount data data
wrong 1 "would hide the shards" mount data .
ln -s . data/here
wrong 1 "would hide the shards" mount data/here/here data
rm data/here
wrong 1 "Could not resolve host" mount 'http://no-such-host.invalid/a.tar' mnt
refusing_port
wrong 1 "onnect" mount "http://127.0.0.1:$refusing/a.tar" mnt
wrong 1 "mount point .*none: No such file or directory; create it with mkdir" mount data none
wrong 1 "mount point .*none/at/all: No such file or directory; create it with mkdir" mount data none/at/all
wrong 1 "the last argument is the folder to mount on" mount data https://host/b.tar
wrong 1 "budget=8M is too small for 2 lanes" mount -o budget=8M,lanes=2 data mnt
wrong 1 "budget=8M is too small for 1001 lanes" mount -o budget=8M,lanes=65536,segment=random data mnt
wrong 1 "nothing is mounted on" umount mnt
wrong 1 "/proc is not a shufflefs mount: its type is proc" umount /proc
wrong 2 "umount needs one DIR" umount
wrong 2 "umount needs one DIR" umount a b
wrong 2 "cat needs a SOURCE and a PATH" cat data
wrong 1 "epochs/x.tar: No such file" cat data epochs/x.tar
wrong 1 "epochs: Is a directory" cat data epochs

# Nor does a name bring its control characters to the terminal.
wrong 1 "c?d.tar.* has a control character" mount "$(printf 'c\033d.tar/')" mnt
wrong 2 "no option 'a?b'" mount -o "$(printf 'a\033b')" data mnt

# What cannot be written is an error of whatever was to be printed.
for command in --help --version "plan --batch=2 data" "index data" "cat data README"; do
    got=0
    "$shufflefs" $command >/dev/full 2>err || got=$?
    [ $got = 1 ] || fail "exit status $got of $command with a full disk"
    grep -q "^shufflefs: cannot write: No space left on device$" err && [ "$(wc -l <err)" = 1 ] || fail "$(cat err)"
done

# Secrets are in no message.
wrong 1 "no-such-host" mount 'http://user:hunter2@no-such-host.invalid/a.tar?sig=hunter3' mnt
! grep -q hunter err || fail "a secret in: $(cat err)"
for source in 'http://user:hunter/2@host/a.tar' 'http://user:hunter?2@host/a.tar' \
    'http://user:hunter#2@host/a.tar' 'http://user:{hunter}@host/a.tar' 'http://{user:hunter@host}/a.tar' \
    'http://user:{hunter@host/a.tar'; do
    wrong 1 "http://" mount "$source" mnt
    ! grep -q hunter err || fail "a secret in: $(cat err)"
done
wrong 1 "write a '/' in a password as %2F" mount 'http://user:hunter/2@host/a.tar' mnt
wrong 1 "the URL of the proxy is not understood" mount -o proxy=foo://user:hunter2@host http://127.0.0.1:1/a.tar mnt
wrong 2 "write a comma in a value as" mount -o 'header=A: b,Authorization: Bearer hunter2' data mnt
! grep -q hunter err || fail "a secret in: $(cat err)"

# A second mount on top of a living one is refused.
mount_ds data mnt
got=0
"$shufflefs" mount data mnt 2>err || got=$?
[ $got = 1 ] && grep -q "mnt is already mounted" err || fail "mounted twice"
umount_ds mnt
left=$(our_processes -x shufflefs)
[ -z "$left" ] || fail "left running: $left"
