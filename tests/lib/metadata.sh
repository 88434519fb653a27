# SPDX-License-Identifier: MIT
# What tests of cloud metadata addresses share, after functions.sh and faults.sh: in a network of its own,
# 169.254.169.254 (also by the name metadata.test) and fd00:ec2::254 are this machine's.
requires_root
requires ip
[ "$(ip -o link | wc -l)" = 1 ] || skip "needs a network of its own: run it by tests/lib/run-test"

ip addr add 169.254.169.254/32 dev lo
ip addr add fd00:ec2::254/128 dev lo nodad

# metadata_hosts LINE...: /etc/hosts has these lines, too.
metadata_hosts() {
    {
        cat /etc/hosts
        echo 169.254.169.254 metadata.test
        printf '%s\n' "$@"
    } >hosts
    mount --bind hosts /etc/hosts
    cleanup umount /etc/hosts
}

# secret_at ADDRESS: a server there, with the same shards; sets $secret, its port.
secret_at() {
    rm -f secret-port
    "$python" "$top/tests/lib/origin.py" shards 0 "$1" >secret-port 2>secret-log &
    wait_until 10 grep -q . secret-port
    secret=$(cat secret-port)
}

untouched() {
    [ ! -s secret-log ] || fail "it was asked: $(cat secret-log)"
}
