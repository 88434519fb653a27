#!/bin/sh
# SPDX-License-Identifier: MIT
# A real AIStore (one proxy, two targets) gives each sample once, by a prefix, a glob and braces, and
# says that a bucket is missing.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

unset AIS_ENDPOINT AIS_AUTHN_TOKEN AIS_AUTHN_TOKEN_FILE
aisnode=${AISNODE:-$(command -v aisnode || true)}
[ -x "$aisnode" ] || skip "no aisnode is in PATH, and AISNODE names none (AIStore is built from its source: go build ./cmd/aisnode)"
requires curl

good_shards --shards 12 --samples 10
set -- $("$python" -c 'import socket
s = [socket.socket() for _ in range(9)]
for x in s: x.bind(("127.0.0.1", 0))
print(*[x.getsockname()[1] for x in s])')
ais=http://127.0.0.1:$1
cat >ais.json <<END
{"backend":{},"auth":{},"resilver":{"enabled":true},"versioning":{"enabled":true},
 "proxy":{"primary_url":"$ais","original_url":"$ais","discovery_url":"","non_electable":false},
 "timeout":{"cplane_operation":"2s","max_keepalive":"5s","cold_get_conflict":"5s","max_host_busy":"20s",
  "startup_time":"30s","join_startup_time":"1m","send_file_time":"5m","ec_streams_time":"10m","object_md":"2h"},
 "space":{"cleanupwm":95,"lowwm":96,"highwm":97,"out_of_space":98,"batch_size":32768,"dont_cleanup_time":"120m"},
 "memsys":{"min_free":"512mb","default_buf":"32kb","to_gc":"2gb","hk_time":"3m","min_pct_total":0,"min_pct_free":0},
 "net":{"l4":{"proto":"tcp","sndrcv_buf_size":131072},"http":{"use_https":false,"idle_conn_time":"6s",
  "idle_conns_per_host":32,"idle_conns":256,"write_buffer_size":65536,"read_buffer_size":65536,"chunked_transfer":true}},
 "distributed_sort":{"duplicated_records":"ignore","missing_shards":"ignore","ekm_malformed_line":"abort","ekm_missing_key":"abort",
  "default_max_mem_usage":"80%","call_timeout":"10m","dsorter_mem_threshold":"100GB","compression":"never","bundle_multiplier":4}}
END
for role in proxy target target; do
    folder=$PWD/node$1
    mkdir -p "$folder/data"
    count=1
    flags=""
    if [ $role = proxy ]; then
        count=0
        flags=-skip_startup
    fi
    cat >"$folder/local.json" <<END
{"confdir":"$folder","log_dir":"$folder","fspaths":{},"host_net":{"hostname":"127.0.0.1",
 "hostname_intra_control":"127.0.0.1","hostname_intra_data":"127.0.0.1","port":"$1","port_intra_control":"$2",
 "port_intra_data":"$3"},"test_fspaths":{"root":"$folder/data","count":$count,"instance":0}}
END
    "$aisnode" -config=ais.json -local_config="$folder/local.json" -role=$role $flags >"$folder/said" 2>&1 &
    cleanup "kill -9 $!"
    shift 3
done

makes_bucket() {
    curl -sf -X POST -H 'Content-Type: application/json' -d '{"action":"create-bck"}' "$ais/v1/buckets/ds"
}
puts() {
    curl -sfL --location-trusted -T "$1" "$ais/v1/objects/ds/$1"
}
wait_until 60 makes_bucket
for shard in shards/*.tar; do
    wait_until 60 puts "$shard"
done
export AIS_ENDPOINT="$ais"
for source in ais://ds/shards/ "ais://ds/shards/train-*.tar" "ais://ds/shards/train-{000000..000011}.tar"; do
    arrives "$source"
    not_said .
done
refused ais://missing/x/
said "there is no bucket 'missing'"
