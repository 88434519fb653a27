#!/bin/sh
# SPDX-License-Identifier: MIT
# The Hub's own client, huggingface_hub, lists the same shards with the same sizes from the server of our tests,
# and reads the same bytes: by HfApi, by HfFileSystem and by a download.  So that server is like the Hub.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/hf.sh"

client=${READERS_PYTHON:-$python}
"$client" -c 'import huggingface_hub' 2>/dev/null || skip "no huggingface_hub (pip install huggingface_hub, and READERS_PYTHON=that Python)"

good_shards --shards 12 --samples 10
mkdir -p world/datasets/me/my.set/one/train/more
cp shards/*.tar world/datasets/me/my.set/one/train
cp shards/train-000000.tar world/datasets/me/my.set/one/train/more
echo x >world/datasets/me/my.set/one/readme.txt
start_hf
expect '{"tokens": ["TOKEN-1"], "private": true, "page": 5, "revisions": {"main": "one", "refs/convert/parquet": "one"},
         "gated": ["TOKEN-1"], "renamed": {"you/old": "me/my.set"}}'
export HF_ENDPOINT="$origin" HF_TOKEN=TOKEN-1 HF_HUB_DISABLE_XET=1 HF_HUB_DISABLE_TELEMETRY=1 HF_HOME="$PWD/home"

"$client" - >theirs <<'END'
from huggingface_hub import HfApi, HfFileSystem, hf_hub_download
api, fs = HfApi(), HfFileSystem()
tree = list(api.list_repo_tree("me/my.set", "train", recursive=True, repo_type="dataset"))
files = [f for f in tree if hasattr(f, "size")]
assert len(files) == 13, files
for f in files:
    print("hf://datasets/me/my.set/" + f.path, f.size)
names = fs.glob("datasets/me/my.set/train/**/*.tar")
assert sorted("datasets/me/my.set/" + f.path for f in files) == sorted(names), names
assert fs.glob("hf://datasets/me/my.set@refs%2Fconvert%2Fparquet/train/*.tar")
with open("shards/train-000003.tar", "rb") as file:
    wanted = file.read()
with fs.open("datasets/me/my.set/train/train-000003.tar", "rb", block_size=4096) as file:
    file.seek(1000)
    assert file.read(5000) == wanted[1000:6000]
assert api.dataset_info("me/my.set").sha == api.dataset_info("you/old").sha
path = hf_hub_download("me/my.set", "train/train-000003.tar", repo_type="dataset")
assert open(path, "rb").read() == wanted
for wrong, error in (("me/no", "RepositoryNotFoundError"), ("me/my.set@v9", "RevisionNotFoundError")):
    repo, _, revision = wrong.partition("@")
    try:
        api.list_repo_files(repo, repo_type="dataset", revision=revision or None)
    except Exception as e:
        assert type(e).__name__ == error, e
    else:
        raise AssertionError(wrong)
END
"$shufflefs" ls --json "hf://datasets/me/my.set/train/" >ours.json
"$python" -c '
import json, sys
for shard in json.load(sys.stdin)["shards"]:
    print(shard["source"], shard["bytes"])' <ours.json >ours || fail "$(head -c 500 ours.json)"
sort theirs >want
sort ours >got
diff want got
for source in "hf://datasets/me/my.set/train/train-*.tar" "hf://datasets/you/old/train/train-{000000..000011}.tar"; do
    arrives "$source"
    not_said .
done
