#!/bin/sh
# SPDX-License-Identifier: MIT
# The real DuckDB reads an .order as a table, and .shufflefs/errors and stats.json as JSON.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
requires_fuse
make_shards data --shards 3 --samples 200 --bytes 500 --name "s-%d.tar"
requires_reader duckdb
mount_ds -o lanes=12 data mnt
[ ! -e mnt/epochs/0/rank-3-of-2.tar ] || fail "rank 3 of 2"
"$python" - <<'EOT' || fail "wrong samples"
import duckdb

n, shards, keys, length, last = duckdb.sql("""
    select count(*), count(distinct shard), count(distinct key), sum(length), max(position)
    from read_csv('mnt/epochs/0.order', delim='\t', header=false, quote='', escape='',
        names=['position', 'offset', 'length', 'shard', 'key'])""").fetchall()[0]
want = open("mnt/epochs/0.order").read().splitlines()
assert (n, shards, last) == (600, 3, 599) == (len(want), 3, 599), (n, shards, last, len(want))
assert length == sum(int(l.split("\t")[2]) for l in want), length
events = duckdb.sql("select event, shard from read_json('mnt/.shufflefs/errors', format='newline_delimited')").fetchall()
assert ("refused", "epochs/0/rank-3-of-2.tar") in events, events
shards, = duckdb.sql("select shards from read_json('mnt/.shufflefs/stats.json')").fetchall()[0]
assert shards == 3, shards
EOT
umount_ds mnt
