# SPDX-License-Identifier: MIT
# What the tests of Hugging Face share, after functions.sh and faults.sh: start_hf starts a Hub and its
# storage (hf.py), whose datasets are the folders of world/datasets.

unset HF_ENDPOINT HF_TOKEN HF_TOKEN_PATH HF_HOME HUGGING_FACE_HUB_TOKEN HF_HUB_DISABLE_IMPLICIT_TOKEN XDG_CACHE_HOME
. "$top/tests/lib/stores.sh"

start_hf() {
    expect '{}'
    start_origin world 0 hf.py
    hf="-o endpoint=$origin"
}

# keeps_secrets: no token has gone to the storage, and no redirect or token was shown.
keeps_secrets() {
    not_asked '"storage".*"authorization"'
    not_said 'SECRET\|Signature=\|TOKEN-'
}
