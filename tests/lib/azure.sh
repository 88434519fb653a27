# SPDX-License-Identifier: MIT
# What the tests of Azure share, after functions.sh and faults.sh: start_azure starts a server that
# checks keys, SAS and tokens (azure.py), whose containers are the folders of world/buckets.

for variable in $(env | sed -n 's/^\(AZURE_[A-Z0-9_]*\)=.*/\1/p'); do
    unset "$variable"
done
# A machine without an identity.
refusing_port
export AZURE_POD_IDENTITY_AUTHORITY_HOST="http://127.0.0.1:$refusing"
. "$top/tests/lib/stores.sh"

# As it is at first.
usual='{"tokens": ["TOKEN.one"]}'

# The account's key: 64 bytes, 0 to 63, in Base64.
azure_key=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==

start_azure() {
    expect "$usual"
    start_origin world 0 azure.py
    az="-o endpoint=$origin/acct"
}

# a_sas CONTAINER SECONDS [PERMISSIONS]
a_sas() {
    "$python" "$top/tests/lib/azure.py" --sas "$@"
}

# has_sas CONTAINER SECONDS [PERMISSIONS]: in the file `sas`.
has_sas() {
    a_sas "$@" >new-sas
    mv new-sas sas
}
