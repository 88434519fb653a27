# SPDX-License-Identifier: MIT
"""The servers of bench/stores, each of which serves the same shards: MinIO, HDFS, and nginx, which
looks like other stores for whoever reads from it.

Each is given the address that it listens at, and what a command begins with to run where the server
is (`inside`) and where its clients are (`outside`).
"""
import contextlib
import json
import os
import shutil
import subprocess
import sys

import lab
from lab import BenchError

here = os.path.dirname(os.path.abspath(__file__))
BUCKET, PREFIX = "bench", "train"
S3_KEYS = {"AWS_ACCESS_KEY_ID": "AKIDBENCH", "AWS_SECRET_ACCESS_KEY": "SECRET-of-bench", "AWS_REGION": "us-east-1"}
OTHER_KEYS = {"GS_ACCESS_KEY_ID": "GOOG1BENCH", "GS_SECRET_ACCESS_KEY": "SECRET-of-bench",
              "AZURE_STORAGE_ACCOUNT": "acct", "AZURE_STORAGE_KEY": "c2VjcmV0LW9mLWJlbmNo",
              "HADOOP_USER_NAME": "bench"}


class Server:
    """`options`: how shufflefs reads from it."""

    def __init__(self, pids, url, options):
        self.pids, self.url, self.options = pids, url, options


# ---- MinIO ----


def minio_client(url, *words, inside=()):
    """The tests' client of MinIO, which knows no other program's bugs."""
    command = [*inside, sys.executable, here + "/../tests/lib/minio-client.py", url, *words]
    return subprocess.run(command, env=dict(os.environ, **S3_KEYS), stderr=subprocess.PIPE, text=True)


@contextlib.contextmanager
def minio(program, root, log, address="127.0.0.1", inside=(), outside=()):
    """With its data in `root`."""
    url = "http://%s:%d" % (address, lab.free_port())
    owner = {"MINIO_ROOT_USER": S3_KEYS["AWS_ACCESS_KEY_ID"], "MINIO_ROOT_PASSWORD": S3_KEYS["AWS_SECRET_ACCESS_KEY"],
             "MINIO_UPDATE": "off", "MINIO_BROWSER": "off"}
    command = [*inside, program, "server", "--quiet", "--address", url.partition("//")[2], root]
    with open(log, "w") as file:
        process = subprocess.Popen(command, env=dict(os.environ, **owner), stdout=file, stderr=file)
    try:
        lab.wait_until("MinIO, see " + log, lambda: minio_client(url, "ready", inside=outside).returncode == 0, 60)
        yield Server([process.pid], url, "endpoint=" + url)
    finally:
        process.terminate()
        process.wait()


def fill_minio(program, root, log, data):
    """The data as objects of a bucket that everybody may read."""
    os.makedirs(root)
    with minio(program, root, log) as server:
        for words in (("bucket", BUCKET), ("put", data, BUCKET, PREFIX + "/"), ("public", BUCKET)):
            done = minio_client(server.url, *words)
            if done.returncode != 0:
                raise BenchError("MinIO: " + done.stderr.strip())


# ---- nginx ----

COMMIT = "%040x" % 1
# The Hub of Hugging Face redirects to its storage, which is another server: here, another port.
HUB = """listen %(address)s:%(port)d;
  location ~ ^/datasets/%(bucket)s/%(prefix)s/resolve/[0-9a-f]+/(.*)$ { add_header X-Repo-Commit %(commit)s;
    add_header X-Linked-Etag '"$1"'; return 302 http://%(address)s:%(port)d/%(bucket)s/%(prefix)s/$1?Signature=bench; }"""


def write(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        json.dump(value, file)


def fill_nginx(root, data):
    """The data in the places where several stores have them, and what the Hub says of them."""
    for folder in ("/" + BUCKET, "/acct/" + BUCKET):
        os.makedirs(root + folder)
        os.symlink(data, "%s%s/%s" % (root, folder, PREFIX))
    api = "%s/api/datasets/%s/%s" % (root, BUCKET, PREFIX)
    write(api + "/revision/main", {"id": "%s/%s" % (BUCKET, PREFIX), "sha": COMMIT})
    write("%s/tree/%s" % (api, COMMIT), [
        {"type": "file", "oid": name, "path": name, "size": os.path.getsize(data + "/" + name)}
        for name in sorted(os.listdir(data)) if name.endswith(".tar")])


@contextlib.contextmanager
def nginx(root, folder, address="127.0.0.1", inside=()):
    """It checks no signature, but the requests have them."""
    settings = {"address": address, "port": lab.free_port(), "bucket": BUCKET, "prefix": PREFIX, "commit": COMMIT}
    with lab.nginx(root, folder, address, inside, locations=HUB % settings) as server:
        yield server


# ---- HDFS ----


def property_of(name, value):
    return "<property><name>%s</name><value>%s</value></property>" % (name, value)


class Hdfs:
    """A namenode and a datanode of Hadoop's jars; their data stay in `folder` from one start to the next."""

    def __init__(self, jars, folder):
        self.jars, self.folder = jars, folder

    def configure(self, address):
        ports = [lab.free_port() for _ in range(5)]
        rpc, self.web, *data = ["%s:%d" % (address, port) for port in ports]
        folder = self.folder
        values = {
            "dfs.replication": 1, "dfs.namenode.name.dir": "file://%s/namenode" % folder,
            "dfs.namenode.rpc-address": rpc, "dfs.namenode.http-address": self.web,
            "dfs.namenode.safemode.extension": 0, "dfs.permissions.enabled": "false",
            "dfs.namenode.datanode.registration.ip-hostname-check": "false",
            "dfs.datanode.data.dir": "file://%s/datanode" % folder, "dfs.datanode.address": data[0],
            "dfs.datanode.http.address": data[1], "dfs.datanode.ipc.address": data[2], "dfs.datanode.hostname": address}
        for name in ("hdfs", "datanode"):
            os.makedirs("%s/conf/webapps/%s/WEB-INF" % (folder, name), exist_ok=True)
        for name, pairs in (("core", {"fs.defaultFS": "hdfs://" + rpc}), ("hdfs", values)):
            with open("%s/conf/%s-site.xml" % (folder, name), "w") as file:
                file.write("<configuration>%s</configuration>" % "".join(map(property_of, pairs, pairs.values())))

    def command(self, program, *words):
        return ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=4", "--add-opens",
                "java.base/java.lang=ALL-UNNAMED", "-cp", "%s/conf:%s/*" % (self.folder, self.jars),
                "org.apache.hadoop.hdfs.server." + program, *words]

    def put(self, path, file, outside=()):
        """A namenode says where the bytes are to go."""
        url = "http://%s/webhdfs/v1/%s?op=CREATE&overwrite=true&blocksize=134217728&user.name=bench" % (self.web, path)
        curl = [*outside, "curl", "-q", "-s", "-f", "-o", os.devnull, "-w", "%{redirect_url}", "-X", "PUT"]
        place = subprocess.run([*curl, url], stdout=subprocess.PIPE, text=True).stdout
        return place != "" and subprocess.run([*curl, "-T", file, place], stdout=subprocess.DEVNULL).returncode == 0

    @contextlib.contextmanager
    def start(self, address="127.0.0.1", inside=(), outside=()):
        self.configure(address)
        log = self.folder + "/log"
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(open(log, "a"))
            if not os.path.exists(self.folder + "/namenode"):
                subprocess.run(self.command("namenode.NameNode", "-format", "-nonInteractive"), check=True,
                               stdout=file, stderr=file)
            nodes = []
            for program in ("namenode.NameNode", "datanode.DataNode"):
                nodes.append(subprocess.Popen([*inside, *self.command(program)], stdout=file, stderr=file))
                stack.callback(nodes[-1].wait)
                stack.callback(nodes[-1].kill)
            lab.wait_until("HDFS, see " + log,
                           lambda: self.put("ready", self.folder + "/conf/core-site.xml", outside), 90)
            yield Server([node.pid for node in nodes], "webhdfs://" + self.web, "")

    def fill(self, data):
        with self.start():
            for name in sorted(os.listdir(data)):
                if name.endswith(".tar") and not self.put("%s/%s" % (PREFIX, name), data + "/" + name):
                    raise BenchError("HDFS does not take " + name)


def hdfs(jars, folder, data):
    """Filled; or None, if it cannot run here."""
    if not jars or not shutil.which("java"):
        return None
    os.makedirs(folder)
    server = Hdfs(jars, folder)
    server.fill(data)
    return server
