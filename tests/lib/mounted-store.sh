# SPDX-License-Identifier: MIT
# What a mount of a store is tried with, the same for each store; after functions.sh, faults.sh and the
# store's own file.  It makes the folder data, which the test brings to the store.  The test defines
# serve [PORT], which starts the store's server, and sets $store: its options, and the URL of what data
# became.

requires_fuse
opts="-o lanes=2,buffer=64K,budget=10M,index-cache=no,retries=1"
make_shards data --shards 8 --samples 25 --bytes 100000
epoch=3 # the one that is read next

# is_the_folder: what is mounted at mnt is the local folder: two epochs, each sample once, in different
# orders; ranks that are the epoch together; a shard, and a sample.
is_the_folder() {
    for part in epochs/0 epochs/1 epochs/2/rank-0-of-2 epochs/2/rank-1-of-2; do
        "$shufflefs" cat $opts data $part.tar >want.tar
        cp mnt/$part.tar got.tar
        same want.tar got.tar
        tar tf got.tar >"names-${part##*/}"
        [ $part != epochs/0 ] || "$python" "$top/tests/lib/compare.py" data got.tar
    done
    ! cmp -s names-0 names-1 || fail "two epochs in one order"
    sort names-0 >all
    sort names-1 | cmp - all || fail "wrong samples: another epoch has others"
    sort names-rank-?-of-2 | cmp - all || fail "wrong samples: the ranks are not the epoch"
    same data/train-000005.tar mnt/shards/train-000005.tar
    member=$(tar tf data/train-000003.tar | sed -n 7p)
    tar xOf data/train-000003.tar "$member" | cmp - "mnt/samples/train-000003.tar/$member" || fail "another sample"
}

# begin_epoch: a reader takes the beginning of an epoch that nobody has read.
begin_epoch() {
    "$shufflefs" cat $opts data epochs/$epoch.tar >want.tar
    exec 3<mnt/epochs/$epoch.tar
    head -c 100000 <&3 >got.tar
    epoch=$((epoch + 1))
}

# finish_epoch: it gets the rest.
finish_epoch() {
    cat <&3 >>got.tar || fail "the rest of the epoch cannot be read"
    exec 3<&-
    same want.tar got.tar
}

# epoch_breaks ERROR WORDS: it gets this error, and nothing wrong before; .shufflefs/errors has the words.
epoch_breaks() {
    ! cat <&3 >>got.tar 2>said || fail "the rest of the epoch can be read"
    exec 3<&-
    said "$1"
    n=$(wc -c <got.tar)
    [ "$n" -lt "$(wc -c <want.tar)" ] || fail "an error, but all bytes"
    cmp -n "$n" want.tar got.tar || fail "wrong bytes before the error"
    errors_have mnt "$2"
}

# passes: an error that has a cause passes with it, soon: what was refused is not asked for at once.
passes() {
    wait_until 20 head -c 1000 mnt/epochs/$epoch.tar
    begin_epoch
    finish_epoch
}

# outlives_its_server: the server is killed in the middle of an epoch, and started again once it is missed.
outlives_its_server() {
    begin_epoch
    kill -9 $origin_pid
    wait_until 30 is_gone $origin_pid
    cat <&3 >>got.tar &
    reader=$!
    exec 3<&-
    wait_until 30 grep -q '"event":"outage"' mnt/.shufflefs/errors
    serve "${origin##*:}"
    wait $reader || fail "the epoch could not be read"
    same want.tar got.tar
}

# replace_shards FOLDER [COMMAND]: each by another of the same size, at once.
replace_shards() {
    for shard in "$1"/*.tar; do
        cp "$shard" new
        printf x | dd of=new bs=1 seek=700 conv=notrunc status=none
        mv new "$shard"
    done
}

# lists_many PAGES REGEX [-o OPTIONS] URL: 3,000 shards there are listed by so many requests with that in
# their line, and are in the mount with their sizes, for which nobody asks.  (make_dense 3000 2 made them.)
lists_many() {
    pages=$1
    page=$2
    shift 2
    forget
    mount_ds -o index-cache=no,keys=asis "$@" mnt1
    [ "$(ls mnt1/shards | wc -l)" = 3000 ] || fail "$(ls mnt1/shards | wc -l) shards"
    [ "$(stat -c %s mnt1/shards/2999.tar)" = "$(stat -c %s dense/2999.tar)" ] || fail "another size"
    n=$(requests "$page")
    [ "$n" = "$pages" ] || fail "$n requests for $pages pages"
    n=$(requests '\.tar')
    [ "$n" -lt 60 ] || fail "$n requests for shards that were listed"
    umount_ds mnt1
}
