#!/bin/sh
# SPDX-License-Identifier: MIT
# A YAML file that lists datasets as WebDataset's MultiShardSample reads it is a source: prefix,
# bucket and shards make the paths and URLs.  What it draws by chance, or takes from the
# environment, is refused.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

make_shards data --shards 5 --samples 20 --bytes 2000
start_origin data
"$shufflefs" --version | grep -q libyaml || {
    echo 'datasets: []' >spec.yaml
    refused spec.yaml
    said "built without libyaml"
    exit 0
}

# gives NUMBER...: spec.yaml is a dataset of these shards, in this order.
gives() {
    for n in "$@"; do
        echo "data/train-00000$n.tar"
    done >list
    "$shufflefs" cat $quick @list epochs/0.tar >want.tar
    arrives spec.yaml
    [ ! -s said ] || fail "$(cat said)"
}

fails() {
    cat >spec.yaml
    refused spec.yaml
    said "spec.yaml: $1"
}

cat >spec.yaml <<'END'
# Two datasets.
datasets:
  - name: first
    shards: train-{000002..000001}.tar
    buckets: data
  - name: 'second'
    buckets: ["data/"]
    shards:
      - "train-000004.tar"
      - train-000000.tar
    choose: 2
    resample: -1
END
gives 2 1 4 0
cp spec.yaml spec.yml
arrives spec.yml
cat >spec.yaml <<END
prefix: $origin/
datasets:
- {shards: "train-00000{3,1}.tar"}
buckets: []
END
gives 3 1
asked train-000003.tar
cat >spec.yaml <<END
buckets: data
datasets:
- shards: [$PWD/data/train-000003.tar, train-000000.tar]
- shards: data/train-000002.tar
  buckets: ""
END
gives 3 0 2

fails "first: 'choose' draws other shards for each epoch" <<'END'
datasets: [{name: first, shards: "data/train-{000000..000004}.tar", choose: 3}]
END
fails "first: 'choose' is 6, but it has 5 shards" <<'END'
datasets: [{name: first, shards: "data/train-{000000..000004}.tar", choose: 6}]
END
fails "a dataset: 'resample' draws shards by chance" <<'END'
datasets: [{shards: "data/train-{000000..000004}.tar", resample: 3}]
END
fails "line 1: '\$HOME/x.tar': variables of the environment" <<'END'
datasets: [{shards: $HOME/x.tar}]
END
fails "line 2: several buckets are more than WebDataset takes" <<'END'
datasets: [{shards: x.tar,
  buckets: [a, b]}]
END
fails "line 2: this is for energon" <<'END'
---
__module__: megatron.energon
__class__: Metadataset
END
fails "line 1: 'shardlist' is not understood" <<'END'
shardlist: [x.tar]
END
fails "line 1: it is no map" <<'END'
x.tar
END
fails "'x{.tar': " <<'END'
datasets: [{shards: "x{.tar"}]
END
fails "it is empty" </dev/null
fails "it names no shards" <<'END'
datasets: []
END
