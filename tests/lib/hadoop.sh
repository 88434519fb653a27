# SPDX-License-Identifier: MIT
# What the tests against a real Hadoop share, after functions.sh, faults.sh and webhdfs.sh.  Its jars
# are those of the folder $HADOOP: scripts/get-hadoop gets them.  In CI they may be missing only where
# they cannot be had.

find_hadoop() {
    ! has_sanitizer ||
        skip "HDFS is tried on tests/lib/webhdfs.py under a sanitizer: once on Hadoop is enough"
    [ -z "${HADOOP:-}" ] || [ ! -e "$HADOOP.unreached" ] || skip "no Hadoop: $(tail -n 1 "$HADOOP.unreached")"
    requires java curl
    [ -n "${HADOOP:-}" ] && [ -d "$HADOOP" ] ||
        skip "no Hadoop: scripts/get-hadoop FOLDER gets it, then HADOOP=FOLDER/hadoop"
}

# exec_hadoop CLASS [ARG...]: become a program of Hadoop's.  (Two of them take 450 MiB.)
exec_hadoop() {
    exec java -Xmx200m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 --add-opens java.base/java.lang=ALL-UNNAMED \
        -cp "$work/conf:$HADOOP/*" "$@"
}

hadoop() {
    (exec_hadoop "$@")
}

# client COMMAND...: Hadoop's own "hdfs dfs -COMMAND...".
client() {
    hadoop org.apache.hadoop.fs.FsShell "$@" >client-log 2>&1 || fail "hdfs dfs $*: $(cat client-log)"
}

property() {
    echo "<property><name>$1</name><value>$2</value></property>"
}

start_namenode() {
    exec_hadoop org.apache.hadoop.hdfs.server.namenode.NameNode >>namenode-log 2>&1 &
    namenode_pid=$!
}

start_datanode() {
    exec_hadoop org.apache.hadoop.hdfs.server.datanode.DataNode >>datanode-log 2>&1 &
    datanode_pid=$!
}

kill_pid() {
    kill -9 "$1"
    wait "$1" 2>/dev/null || true
}

# Can a file be written, which needs both of them?
is_ready() {
    curl -sfL -X PUT -T "$work/conf/core-site.xml" "$hadoop/webhdfs/v1/ready?op=CREATE&overwrite=true&user.name=$HADOOP_USER_NAME"
}

# start_hadoop: a namenode and a datanode, with blocks of 1 MiB and pages of 100 names; sets $hadoop,
# the namenode's URL, $hdfs, what URLs of files begin with, and $hadoop_rpc and $hadoop_datanode, ports.
start_hadoop() {
    find_hadoop
    mkdir -p conf/webapps/hdfs/WEB-INF conf/webapps/datanode/WEB-INF
    # shellcheck disable=SC2046 # five numbers
    set -- $("$python" -c 'import socket
s = [socket.socket() for _ in range(5)]
for x in s: x.bind(("127.0.0.1", 0))
print(*[x.getsockname()[1] for x in s])')
    hadoop_rpc=$1
    hadoop_datanode=$4
    hadoop=http://127.0.0.1:$2
    hdfs=webhdfs://127.0.0.1:$2
    {
        echo "<configuration>"
        property fs.defaultFS "hdfs://127.0.0.1:$1"
        echo "</configuration>"
    } >conf/core-site.xml
    {
        echo "<configuration>"
        property dfs.replication 1
        property dfs.blocksize 1048576
        property dfs.ls.limit 100
        property dfs.namenode.name.dir "file://$work/namenode"
        property dfs.namenode.rpc-address "127.0.0.1:$1"
        property dfs.namenode.http-address "127.0.0.1:$2"
        property dfs.namenode.safemode.extension 0
        property dfs.datanode.data.dir "file://$work/datanode"
        property dfs.datanode.address "127.0.0.1:$3"
        property dfs.datanode.http.address "127.0.0.1:$4"
        property dfs.datanode.ipc.address "127.0.0.1:$5"
        property dfs.datanode.hostname 127.0.0.1
        echo "</configuration>"
    } >conf/hdfs-site.xml
    hadoop org.apache.hadoop.hdfs.server.namenode.NameNode -format -nonInteractive >namenode-log 2>&1 ||
        fail "the namenode cannot be formatted: $(tail namenode-log)"
    HADOOP_USER_NAME=$(id -un)
    export HADOOP_USER_NAME
    start_namenode
    start_datanode
    wait_until 60 is_ready
}
