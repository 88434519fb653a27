# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034 # what tests use
# For tests of random segments whose members hold tars: three datasets, also behind $nginx.  What
# is read of them is what the script computes, or it fails and says why.

"$python" "$top/tests/lib/tars-in-tars.py" dense 3 20 5000 3000000 1
"$python" "$top/tests/lib/tars-in-tars.py" rare 3 250 5000 3000000 50
"$python" "$top/tests/lib/tars-in-tars.py" small 4 60 5000 60000 1
start_nginx .
n_right=0 n_failed=0

# computes FOLDER PART ORDER: to want.tar.
computes() {
    # shellcheck disable=SC2046 # options are words
    "$python" "$top/scripts/order.py" stream "$1" "$2.tar" --segment random \
        $(echo ",$3" | sed 's/,/ --/g; s/=/ /g') >want.tar
}

# try FOLDER SOURCE PART ORDER: it is want.tar, or a sentence names a shard.
try() {
    if timeout -k 9 $patience "$shufflefs" cat -o "index-cache=no,segment=random,$4" "$2" "epochs/$3.tar" >got.tar 2>said; then
        cmp want.tar got.tar || fail "wrong bytes, and no error: $3 of $2, $4"
        n_right=$((n_right + 1))
    else
        grep -q "$1-0[0-3].tar.*looks like a tar" said || fail "$3 of $2, $4: $(cat said)"
        n_failed=$((n_failed + 1))
    fi
}
