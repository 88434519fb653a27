#!/bin/sh
# SPDX-License-Identifier: MIT
# What is wrong with the account, the credentials, the container or the prefix of an Azure URL, or with
# the clock, is said in one line with what to do; and credentials come from where Azure's tools look.
# No secret is shown, and none is sent to another account.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"
. "$top/tests/lib/azure.sh"

good_shards
mkdir -p world/buckets/con/set
cp shards/*.tar world/buckets/con/set
start_azure

# refuses WORDS [OPTION...] SOURCE
refuses() {
    words=$1
    shift
    refused "$@"
    said "$words"
    not_said 'sig=[^.]\|TOKEN[.]\|SECRET/\|AAECAwQF'
}

one=az://con/set/train-000000.tar
all=az://con/set/
host=acct.blob.core.windows.net

# Names.
refuses "az://con/ needs an account: set AZURE_STORAGE_ACCOUNT or endpoint=, or write az://con@account" $all
refuses "'az:///x' has no name of a container" az:///x
refuses "has no name of a container" az://Con_1/x/
refuses "has no name of a container" az://con@/x/
refuses "has no name of a container" az://$host
refuses "'example.org' is not a host of Azure's blobs" az://con@example.org/x/
refuses "has a SAS in it: put that into AZURE_STORAGE_SAS_TOKEN" "az://con/x.tar?sv=1&sig=SECRET/x"
AZURE_STORAGE_ACCOUNT=other refuses "is of another account than AZURE_STORAGE_ACCOUNT names" az://con@$host/x/
refuses "is of another account than endpoint= names" $az az://$host/con/x/
refuses "a mount reads one account" -o anonymous az://con@$host/x.tar az://con@other.dfs.core.windows.net/y.tar
AZURE_STORAGE_ACCOUNT=my_account refuses "AZURE_STORAGE_ACCOUNT: 'my_account' is not a name of a storage account" $all
AZURE_STORAGE_CONNECTION_STRING="x=y" refuses "has neither an AccountName nor a BlobEndpoint" $all

# Credentials.
for source in $all $one; do
    refuses "ResourceNotFound: there is no container 'con' at $origin/acct, or it does not let everybody .*: set AZURE_STORAGE_SAS_TOKEN" $az $source
    refuses "leave out 'anonymous'" $az -o anonymous $source
    expect '{"no_public": true}'
    refuses "HTTP 409 PublicAccessNotPermitted: .*set AZURE_STORAGE_SAS_TOKEN" $az $source
    expect "$usual"
    AZURE_STORAGE_KEY="$(echo another key | base64)" \
        refuses "AuthenticationFailed: the key from AZURE_STORAGE_KEY is not that of the account 'acct'" $az $source
    AZURE_STORAGE_TOKEN=TOKEN.old \
        refuses "InvalidAuthenticationInfo: the access token from AZURE_STORAGE_TOKEN has expired" $az $source
    AZURE_STORAGE_SAS_TOKEN="$(a_sas other 3600)" \
        refuses "AuthenticationFailed: the SAS from AZURE_STORAGE_SAS_TOKEN is not valid for this account or container" $az $source
    AZURE_STORAGE_SAS_TOKEN="$(a_sas con -60)" \
        refuses "the SAS from AZURE_STORAGE_SAS_TOKEN has expired at 20..-..-.. ..:..:.. UTC: get a new one" $az $source
    AZURE_STORAGE_SAS_TOKEN="$(a_sas con 3600 w)" \
        refuses "AuthorizationPermissionMismatch: the SAS from AZURE_STORAGE_SAS_TOKEN may not .*: it needs sp=rl" $az $source
    expect '{"key": false}'
    AZURE_STORAGE_KEY=$azure_key refuses "the account 'acct' takes neither keys nor SAS made of them: use an access token" $az $source
    expect "$usual"
done
AZURE_STORAGE_KEY=x refuses "what AZURE_STORAGE_KEY holds is not the key of an account: such a key is Base64" $az $one
AZURE_STORAGE_SAS_TOKEN="sv=1 sig=SECRET/x" refuses "what AZURE_STORAGE_SAS_TOKEN holds is not a SAS: one looks like" $az $one
refuses "sas-file: .*none: No such file" $az,sas-file=none $one
echo hello >sas
refuses "what the file '.*sas' holds is not a SAS" $az,sas-file=sas $one

# Where they are found.
arrives_by() {
    forget
    arrives $az $all
    asked "$1"
}
AZURE_STORAGE_ACCOUNT_KEY=$azure_key arrives_by 'SharedKey acct'
AZURE_STORAGE_CONNECTION_STRING="BlobEndpoint=$origin/acct;SharedAccessSignature=$(a_sas con 3600)" arrives_by 'sig='
expect '{"tokens": ["TOKEN.two"], "grant": ["TOKEN.two", 3600]}'
AZURE_POD_IDENTITY_AUTHORITY_HOST=$origin arrives_by 'Bearer TOKEN.two'
arrives $az -o bearer-token-command="echo TOKEN.two" $all
refuses "bearer-token-command" $az -o bearer-token-command="echo no >&2; exit 3" $all
export AZURE_TENANT_ID=the-tenant AZURE_CLIENT_ID=the-client AZURE_AUTHORITY_HOST="$origin/"
AZURE_CLIENT_SECRET=SECRET/entra arrives_by 'Bearer TOKEN.two'
AZURE_CLIENT_SECRET=SECRET/other refuses "a token from Entra ID: HTTP 401: check AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET" $az $one
echo FEDERATED >federated
AZURE_FEDERATED_TOKEN_FILE=$work/federated arrives_by 'Bearer TOKEN.two'
unset AZURE_TENANT_ID
export AZURE_STORAGE_KEY=$azure_key

# What there is.
refuses "ContainerNotFound: there is no container 'missing' at $origin/acct" $az az://missing/set/
refuses "ContainerNotFound" $az az://missing/x.tar
refuses "nothing is below az://con/no/: check the name" $az az://con/no/
refuses "no object matches az://con/set/\*.tgz" $az "az://con/set/*.tgz"
refuses "HTTP 404 BlobNotFound: no such blob; to name all \*.tar below a prefix" $az az://con/set
refuses "3 shards are missing" $az "az://con/set/test-{0..2}.tar"
expect '{"archived": ["set/train-000000.tar"]}'
refuses "HTTP 409 BlobArchived: the blob is archived: rehydrate it" $az $one

# Our clock is wrong by an hour: the server's is used.
for off in 3600 -3600; do
    expect "{\"off\": $off}"
    for source in $all "az://con/set/train-{000000..000002}.tar"; do
        arrives $az "$source"
        said "the clock of this machine is 3[56][0-9]* s \(behind\|ahead of\) that of the Azure server"
        [ "$(grep -c "the clock" said)" = 1 ] || fail "not said once"
    done
done

# What makes no sense is asked for again, and is the error if it stays.
for answer in "200 <html>Welcome</html>" "200 <EnumerationResults><Blobs>" "500 " "418 short"; do
    expect "{\"odd\": {\"to\": \"list\", \"times\": 1, \"status\": ${answer%% *}, \"body\": \"${answer#* }\"}}"
    arrives $az $all
done
expect '{"odd": {"to": "list", "times": 99, "status": 200, "body": "<html>Welcome</html>"}}'
refuses "the answer is not a listing of Azure's" $az $all
expect '{"odd": {"to": "object", "times": 1, "status": 503, "body": "<Error><Code>ServerBusy</Code></Error>"}}'
arrives $az $all
