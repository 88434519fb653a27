#!/bin/sh
# SPDX-License-Identifier: MIT
# A password in the URL or in ~/.netrc, and headers of the user, go to the server that the
# user named, and never to another one that a redirect leads to; nor into any message.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

good_shards --samples 10
start_origin shards
auth=auth,user=ann,password=hunter2
host=${origin#http://}

# goes_only_home HEADER: since the last call, requests to /auth had this header; those to
# the other server had none of the user's.
n_seen=0
goes_only_home() {
    tail -n +$((n_seen + 1)) origin-log.1 >new-log
    n_seen=$(wc -l <origin-log.1)
    "$python" - "$1" new-log <<'EOF' || fail "wrong headers at one of the servers"
import json, sys
name, log = sys.argv[1:]
requests = [json.loads(line) for line in open(log)]
home = [r for r in requests if "/auth" in r["path"]]
away = [r for r in requests if "/auth" not in r["path"]]
assert home and away
for r in home:
    if name not in r["headers"]:
        sys.exit("no %s in %s" % (name, r))
for r in away:
    if {"authorization", "x-secret", "cookie"} & set(r["headers"]):
        sys.exit("too much in %s" % r)
EOF
}

for to in other localhost; do
    path=redirect,to=$to/$auth
    arrives "http://ann:hunter2@$host/$path/$three"
    goes_only_home authorization

    # Without a password it is refused.
    refused "$origin/$path/$three"
    said "HTTP 401"
    n_seen=$(wc -l <origin-log.1)

    arrives -o header="Authorization: Basic YW5uOmh1bnRlcjI=" "$origin/$path/$three"
    goes_only_home authorization

    printf 'X-Secret: one\nCookie: two\n' >headers
    arrives -o header=@headers "http://ann:hunter2@$host/$path,cookie/$three"
    goes_only_home x-secret
done

# ~/.netrc is by host, and the other server is at another name.
printf 'machine 127.0.0.1 login ann password hunter2\n' >"$HOME/.netrc"
chmod 600 "$HOME/.netrc"
arrives "$origin/redirect,to=localhost/$auth,netrc/$three"
goes_only_home authorization
rm "$HOME/.netrc"

# On the same server they go along.
arrives "http://ann:hunter2@$host/redirect/$auth/$three"
tail -n +$((n_seen + 1)) origin-log.1 >new-log
[ "$(grep -c '"authorization"' new-log)" = "$(wc -l <new-log)" ] || fail "lost on the way"

# An error shows the URL without them.
refused -o header="X-Secret: hunter2" "http://ann:hunter2@$host/403/$three?signature=hunter2"
said "127.0.0.1.*/403/train-000000.tar.*HTTP 403"
not_said hunter2
breaks "http://ann:hunter2@$host/403,over=1000,only=*1.tar/$three?signature=hunter2"
said "lost: train-000001.tar @ 0: .*HTTP 403"
not_said hunter2
