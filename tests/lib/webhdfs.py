#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""HDFS by WebHDFS: two namenodes and two datanodes, as those of Hadoop 3.4.2 were seen to behave.

  webhdfs.py FOLDER [PORT]

Prints the first namenode's port and serves FOLDER/buckets as the root, until it is killed.  The
ports of the others are in FOLDER/ports: the second namenode, two datanodes, and one that talks RPC.
A namenode lists, and redirects to the datanodes in turn; it does not know which of them is dead.  A
datanode answers once a connection, with no word of the version.  If there is a FOLDER/certificate.pem, with
its key, all but RPC go by TLS.  FOLDER/server.json, read anew for
each request, says:

  page      names on a page [1000]
  standby   namenodes that are standby, as in ["namenode0"]
  dead      nodes that break their connections, as in ["datanode1"]
  breaks    so many requests at the beginning do [0]
  safe      the namenode is in safe mode and knows no blocks yet [false]
  private   folders that only the user root may enter, as in ["/set"]
  kerberos  a request needs a token, or SPNEGO [false]
  tokens    delegation tokens that are good
  downgrade a namenode redirects to http, whatever it talks itself [false]
  cut       datanodes end each body after so many bytes

Each request is a JSON line on stderr, with the node that got it.  Standard library only.
"""
import http.server
import itertools
import json
import os
import socket
import ssl
import struct
import sys
import threading
import urllib.parse
import zlib

from object_server import Server

lock = threading.Lock()
nodes = {}  # port -> "namenode0", "datanode1", "rpc", ...
turn, requests = itertools.count(), itertools.count()
JAVA = "java.io."


class SecureServer(Server):
    """by TLS, if there is a context"""
    context = None

    def finish_request(self, request, client_address):
        # In the connection's own thread: a handshake that fails disturbs nobody.
        if not self.context:
            return super().finish_request(request, client_address)
        with self.context.wrap_socket(request, server_side=True) as secure:
            super().finish_request(secure, client_address)


class Refusal(Exception):
    def __init__(self, status, name, message, package=JAVA):
        super().__init__(name)
        self.status = status
        self.body = {"RemoteException": {"exception": name, "javaClassName": package + name, "message": message}}


def number_of(path, stat):
    """Another one for a file that was replaced; a namenode that is started again has the same."""
    like = "" if os.path.isdir(path) else "%d %d %d" % (stat.st_ino, stat.st_mtime_ns, stat.st_size)
    return 16386 + zlib.crc32((path + like).encode())


def status_of(path, suffix):
    stat = os.stat(path)
    is_folder = os.path.isdir(path)
    return {"accessTime": 0 if is_folder else int(stat.st_mtime * 1000), "blockSize": 0 if is_folder else 1 << 20,
            "childrenNum": len(os.listdir(path)) if is_folder else 0, "fileId": number_of(path, stat),
            "group": "supergroup", "length": 0 if is_folder else stat.st_size,
            "modificationTime": stat.st_mtime_ns // 1000000, "owner": "root", "pathSuffix": suffix,
            "permission": "755" if is_folder else "644", "replication": 0 if is_folder else 1, "storagePolicy": 0,
            "type": "DIRECTORY" if is_folder else "FILE"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log(self, status):
        line = {"node": self.node, "path": self.path, "status": status, "peer": self.client_address[1],
                "headers": {n.lower(): v for n, v in self.headers.items()}}
        with lock:
            print(json.dumps(line), file=sys.stderr, flush=True)

    def begin(self, status, headers):
        self.log(status)
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()

    # ---- a namenode ----

    def say(self, status, value, headers=()):
        """JSON, in chunks"""
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
        self.begin(status, [("Content-Type", "application/json"), ("Transfer-Encoding", "chunked"), *headers])
        for i in range(0, len(text), 4096):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(text[i:i + 4096]), text[i:i + 4096]))
        self.wfile.write(b"0\r\n\r\n")

    def check_user(self, name):
        if self.config.get("kerberos"):
            token = self.query.get("delegation")
            if token and token not in self.config.get("tokens", []):
                raise Refusal(403, "InvalidToken", "token (token for root: x?%s) can't be found in cache" % token,
                              "org.apache.hadoop.security.token.SecretManager$")
            if not token and not self.headers.get("Authorization", "").startswith("Negotiate YII"):
                self.say(401, {"RemoteException": {"message": "Authentication required", "exception": "AuthenticationException"}},
                         [("WWW-Authenticate", "Negotiate")])
                return False
        user = self.query.get("user.name", "dr.who")
        for folder in self.config.get("private", []):
            if (name + "/").startswith(folder + "/") and user != "root" and not self.config.get("kerberos"):
                raise Refusal(403, "AccessControlException",
                              'Permission denied: user=%s, access=%s, inode="%s":root:supergroup:drwx------' %
                              (user, "READ_EXECUTE" if name == folder else "EXECUTE", folder), "org.apache.hadoop.security.")
        return True

    def list(self, name, path):
        if not os.path.exists(path):
            raise Refusal(404, "FileNotFoundException", "File %s does not exist." % name)
        if os.path.isfile(path):
            names, left = [""], []
        else:
            after = self.query.get("startAfter", "").encode()
            names = sorted((n for n in os.listdir(path) if n.encode() > after), key=str.encode)
            n = self.config.get("page", 1000)
            names, left = names[:n], names[n:]
        statuses = [status_of(os.path.join(path, n) if n else path, n) for n in names]
        self.say(200, {"DirectoryListing": {"partialListing": {"FileStatuses": {"FileStatus": statuses}},
                                            "remainingEntries": len(left)}})

    def redirect(self, name, path):
        offset = int(self.query.get("offset", "0"))
        if not os.path.exists(path):
            raise Refusal(404, "FileNotFoundException", "File %s not found." % name)
        if self.config.get("safe"):
            raise Refusal(403, "SafeModeException", "Zero blocklocations for %s. Name node is in safe mode.\nThe reported blocks 0 "
                          "needs additional 2 blocks" % name, "org.apache.hadoop.hdfs.server.namenode.")
        size = os.path.getsize(path)
        if os.path.isfile(path) and offset > 0 and offset >= size:
            raise Refusal(403, "IOException", "Offset=%d out of the range [0, %d); OPEN, path=%s" % (offset, size, name))
        kept = [(n, self.query[n]) for n in ("delegation", "user.name") if n in self.query]
        query = [("op", "OPEN"), *kept, ("namenoderpcaddress", "127.0.0.1:%d" % port_of("rpc"))] + \
                [(n, self.query[n]) for n in ("length",) if n in self.query] + [("offset", str(offset))]
        where = "http%s://127.0.0.1:%d/webhdfs/v1%s?%s" % (
            "s" if self.server.context and not self.config.get("downgrade") else "", port_of("datanode%d" % (next(turn) % 2)), urllib.parse.quote(name, safe="/+"),
            urllib.parse.urlencode(query, safe=":"))
        self.begin(307, [("Location", where), ("Content-Type", "application/octet-stream"), ("Content-Length", "0")])

    def namenode(self, name, path):
        op = self.query.get("op", "")
        if not self.check_user(name):
            return
        if self.node in self.config.get("standby", []):
            raise Refusal(403, "StandbyException", "Operation category READ is not supported in state standby. Visit "
                          "https://s.apache.org/sbnn-error", "org.apache.hadoop.ipc.")
        if op == "GETFILESTATUS":
            if not os.path.exists(path):
                raise Refusal(404, "FileNotFoundException", "File does not exist: %s" % name)
            self.say(200, {"FileStatus": status_of(path, "")})
        elif op == "LISTSTATUS_BATCH":
            self.list(name, path)
        elif op == "OPEN":
            self.redirect(name, path)
        else:
            raise Refusal(400, "IllegalArgumentException", 'Invalid value for webhdfs parameter "op": %s is not a valid GET '
                          'operation.' % op, "java.lang.")

    # ---- a datanode ----

    def datanode(self, name, path):
        self.close_connection = True
        if self.query.get("op") != "OPEN":
            raise Refusal(400, "IllegalArgumentException", "Invalid operation %s" % self.query.get("op"), "java.lang.")
        if not os.path.isfile(path):
            raise Refusal(404, "FileNotFoundException", ("Path is not a file: %s" if os.path.isdir(path) else
                          "File does not exist: %s") % name + "\n\tat org.apache.hadoop.hdfs.server.namenode.INodeFile")
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            offset = int(self.query.get("offset", "0"))
            if offset > size:
                raise Refusal(403, "EOFException", "Cannot seek after EOF")
            n = max(0, min(int(self.query.get("length", size)), size - offset))
            self.begin(200, [("access-control-allow-methods", "GET"), ("access-control-allow-origin", "*"),
                             ("content-type", "application/octet-stream"), ("connection", "close"), ("content-length", str(n))])
            file.seek(offset)
            left = min(n, self.config.get("cut", n))
            while left > 0:
                piece = file.read(min(left, 65536))
                self.read_config()
                if self.is_dead():
                    return self.die()
                self.wfile.write(piece)
                left -= len(piece)

    # ---- both ----

    def read_config(self):
        with open(os.path.join(sys.argv[1], "server.json")) as file:
            self.config = json.load(file)

    def is_dead(self):
        return self.node in self.config.get("dead", [])

    def die(self):
        self.log("broken")
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()
        self.wfile = open(os.devnull, "wb")

    def do_GET(self):
        self.read_config()
        self.node = nodes[self.server.server_address[1]]
        if self.path.startswith("http://"):  # as if to an HTTP proxy
            self.node = nodes[int(self.path.split("/")[2].partition(":")[2])]
            self.path = "/" + self.path.split("/", 3)[3]
        if self.is_dead() or next(requests) < self.config.get("breaks", 0):
            return self.die()
        path, _, query = self.path.partition("?")
        self.query = dict(urllib.parse.parse_qsl(query))
        name = urllib.parse.unquote(path[len("/webhdfs/v1"):]).rstrip("/") or "/"
        try:
            if self.node == "rpc":
                self.close_connection = True
                self.begin(404, [("Content-type", "text/plain")])
                self.wfile.write(b"It looks like you are making an HTTP request to a Hadoop IPC port. This is not the correct "
                                 b"port for the web interface on this daemon.\r\n")
            elif not path.startswith("/webhdfs/v1/"):
                page = b"<html><body><h2>HTTP ERROR 404 Not Found</h2></body></html>\n"
                self.begin(404, [("Content-Type", "text/html;charset=iso-8859-1"), ("Content-Length", str(len(page)))])
                self.wfile.write(page)
            else:
                where = os.path.join(sys.argv[1], "buckets") + name.rstrip("/")
                (self.namenode if self.node.startswith("namenode") else self.datanode)(name, where)
        except Refusal as r:
            if self.node.startswith("namenode"):
                self.say(r.status, r.body)
                return
            text = json.dumps(r.body, separators=(",", ":"), ensure_ascii=False).encode()
            self.begin(r.status, [("content-type", "application/json; charset=utf-8"), ("content-length", str(len(text))),
                                  ("connection", "close")])
            self.wfile.write(text)

    def log_message(self, *args):
        pass


def port_of(node):
    return [port for port, name in nodes.items() if name == node][0]


def main():
    certificate = os.path.join(sys.argv[1], "certificate.pem")
    if os.path.exists(certificate):
        SecureServer.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        SecureServer.context.load_cert_chain(certificate)
    first = SecureServer(("127.0.0.1", int((sys.argv + ["0"])[2])), Handler)
    nodes[first.server_address[1]] = "namenode0"
    for name in ("namenode1", "datanode0", "datanode1", "rpc"):
        server = (Server if name == "rpc" else SecureServer)(("127.0.0.1", 0), Handler)
        nodes[server.server_address[1]] = name
        threading.Thread(target=server.serve_forever, daemon=True).start()
    with open(os.path.join(sys.argv[1], "ports"), "w") as file:
        print(*[port_of(n) for n in ("namenode1", "datanode0", "datanode1", "rpc")], file=file)
    print(first.server_address[1], flush=True)
    first.serve_forever()


main()
