# SPDX-License-Identifier: MIT
# What the tests of HDFS share, after functions.sh and faults.sh: start_webhdfs starts namenodes and
# datanodes (webhdfs.py), whose root is world/buckets.

unset HADOOP_USER_NAME HADOOP_TOKEN_FILE_LOCATION
. "$top/tests/lib/stores.sh"

# Sets $hdfs, what URLs begin with, and the ports of the others.
start_webhdfs() {
    expect "${1:-"{}"}"
    start_origin world 0 webhdfs.py
    hdfs="webhdfs://${origin#http://}"
    read -r second_namenode datanode0 datanode1 rpc <world/ports
}

# keeps_secrets: no token, and no URL's query, was shown.
keeps_secrets() {
    not_said 'TOKEN-\|namenoderpcaddress\|user.name=\|delegation='
}
