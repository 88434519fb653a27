#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A cluster of AIStore: a proxy and two targets, as real ones were seen to behave.

  ais.py FOLDER [PORT]

Prints the proxy's port and serves FOLDER/buckets/BUCKET/KEY until it is killed.  The proxy
lists, and redirects to the target that has the object; a target has no ETag, ignores If-Match,
and says 404 if it is not the one.  FOLDER/server.json, read anew for each request, says:

  tokens    those that the proxy takes; without it, anybody may come
  denied    buckets that no token is for
  owner     the target that has all objects, 0 or 1 [0]
  page      most names on a page [1000]
  buckets   {BUCKET: {"versioning": true, "checksum": "xxhash2", "enable_read_range": false,
            "provider": "ais"}}

Each request is a JSON line on stderr, with the node that got it.  Standard library only.
"""
import hashlib
import http.server
import json
import os
import re
import sys
import threading
import time
import urllib.parse

from object_server import Server

lock = threading.Lock()
nodes = {}  # port -> "proxy", "target0", "target1"
seen = {}  # path -> [what its file was like, version]


class Refusal(Exception):
    def __init__(self, status, code, message, headers=None):
        super().__init__(code)
        self.status, self.code, self.message, self.headers = status, code, message, headers or {}


def checksum(data):
    return hashlib.md5(data).hexdigest()[:16]


def version_of(path):
    stat = os.stat(path)
    like = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
    with lock:
        if path not in seen:
            seen[path] = [like, 1]
        elif seen[path][0] != like:
            seen[path] = [like, seen[path][1] + 1]
        return seen[path][1]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self, status, body=b"", headers=None):
        line = {"node": self.node, "method": self.command, "path": self.path, "status": status,
                "headers": {n.lower(): v for n, v in self.headers.items()}}
        with lock:
            print(json.dumps(line), file=sys.stderr, flush=True)
        self.send_response_only(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def props(self, bucket):
        props = self.config.get("buckets", {}).get(bucket, {})
        if not os.path.isdir(self.path_of(bucket)) or \
                self.query.get("provider", "ais") != props.get("provider", "ais"):
            raise Refusal(404, "ErrBckNotFound", 'bucket "ais://%s" does not exist' % bucket)
        return {"versioning": {"enabled": props.get("versioning", True)},
                "checksum": {"type": props.get("checksum", "xxhash2"), "validate_cold_get": True,
                             "enable_read_range": props.get("enable_read_range", False)},
                "provider": props.get("provider", "ais")}

    def path_of(self, *names):
        return os.path.join(sys.argv[1], "buckets", *names)

    def attributes(self, path, props, data):
        """version, checksum of the whole object"""
        return (str(version_of(path)) if props["versioning"]["enabled"] else "1",
                "" if props["checksum"]["type"] == "none" else checksum(data))

    # ---- the proxy ----

    def check_token(self, bucket):
        if "tokens" not in self.config:
            return
        sent = self.headers.get("Authorization", "")
        if not sent.startswith("Bearer ") or sent[7:] not in self.config["tokens"]:
            raise Refusal(401, "ErrInvalidToken", "token is missing or not valid")
        if bucket in self.config.get("denied", []):
            raise Refusal(403, "ErrNoPermissions", "no permission")

    def list(self, bucket, props):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if asked["action"] != "list" or self.headers["Content-Type"] != "application/json" or \
                not isinstance(asked["value"]["pagesize"], int):
            raise Refusal(400, "ErrBadRequest", "not a list request")
        value, top = asked["value"], self.path_of(bucket)
        names = sorted(os.path.relpath(os.path.join(folder, name), top)
                       for folder, _, files in os.walk(top, followlinks=True) for name in files)
        names = [n for n in names if n.startswith(value.get("prefix", "")) and
                 n > value.get("continuation_token", "")]
        page = names[:min(value["pagesize"], self.config.get("page", 1000))]
        entries = []
        for name in page:
            path = os.path.join(top, name)
            with open(path, "rb") as file:
                data = file.read()
            version, cksum = self.attributes(path, props, data)
            entry = {"name": name, "checksum": cksum, "version": version, "flags": 64}
            if data:
                entry["size"] = str(len(data))
            entries.append(entry)
        self.answer(200, json.dumps({
            "uuid": "u", "continuation_token": page[-1] if len(page) < len(names) else "",
            "entries": entries, "flags": 0}).encode(), {"Content-Type": "application/json"})

    def redirect(self, target):
        query = self.path.partition("?")[2]
        where = "http://127.0.0.1:%d%s?%spid=p1&utm=%d&sig=SECRET-LOCATION" % (
            target, self.path.partition("?")[0], query + "&" if query else "", time.time_ns())
        self.answer(301, b'<a href="elsewhere">Moved Permanently</a>.\n' * 2,
                    {"Location": where, "Content-Type": "text/html; charset=utf-8"})

    # ---- a target ----

    def get_object(self, bucket, key, props):
        if "tokens" in self.config and not ("pid" in self.query and "utm" in self.query):
            raise Refusal(403, "ErrDenied", "direct target access denied")
        path = self.path_of(bucket, key)
        if not os.path.isfile(path) or self.node != "target%d" % self.config.get("owner", 0):
            raise Refusal(404, "ErrNotFound", "ais://%s/%s does not exist?%s" %
                          (bucket, key, self.path.partition("?")[2]))
        with open(path, "rb") as file:
            data = file.read()
        version, whole = self.attributes(path, props, data)
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        headers, status, body = {"Ais-Version": version, "Ais-Atime": "1"}, 200, data
        if found and int(found[1]) >= len(data):
            raise Refusal(416, "ErrRange", "out of range", {"Content-Range": "bytes */%d" % len(data)})
        if found:
            first, status = int(found[1]), 206
            body = data[first:int(found[2]) + 1]
            headers["Content-Range"] = "bytes %d-%d/%d" % (first, first + len(body) - 1, len(data))
        if whole:
            headers["Ais-Checksum-Type"] = props["checksum"]["type"]
            headers["Ais-Checksum-Value"] = checksum(body) if props["checksum"]["enable_read_range"] else whole
        self.answer(status, body, headers)

    def handle_one(self):
        with open(os.path.join(sys.argv[1], "server.json")) as file:
            self.config = json.load(file)
        self.node = nodes[self.server.server_address[1]]
        if self.path.startswith("http://"):  # as if to an HTTP proxy
            self.node = nodes[int(self.path.split("/")[2].partition(":")[2])]
            self.path = "/" + self.path.split("/", 3)[3]
        try:
            path, _, query = self.path.partition("?")
            self.query = dict(urllib.parse.parse_qsl(query))
            what, _, rest = path[len("/v1/"):].partition("/")
            bucket, _, key = rest.partition("/")
            key = urllib.parse.unquote(key)
            if self.node == "proxy":
                self.check_token(bucket)
            props = self.props(bucket)
            if what == "buckets" and self.command == "HEAD":
                self.answer(200, headers={"Ais-Bucket-Props": json.dumps(props)})
            elif what == "buckets" and self.command == "GET" and self.node == "proxy":
                self.list(bucket, props)
            elif what == "objects" and self.node == "proxy":
                owner = "target%d" % self.config.get("owner", 0)
                self.redirect([port for port, node in nodes.items() if node == owner][0])
            elif what == "objects":
                self.get_object(bucket, key, props)
            else:
                raise Refusal(400, "ErrBadRequest", "not understood")
        except Refusal as r:
            body = json.dumps({"tcode": r.code, "message": r.message, "method": self.command,
                               "node": "p1", "status": r.status}).encode()
            self.answer(r.status, body, {"Content-Type": "application/json", **r.headers})

    do_GET = do_POST = do_HEAD = handle_one

    def log_message(self, *args):
        pass


def main():
    proxy = Server(("127.0.0.1", int((sys.argv + ["0"])[2])), Handler)
    nodes[proxy.server_address[1]] = "proxy"
    for i in range(2):
        target = Server(("127.0.0.1", 0), Handler)
        nodes[target.server_address[1]] = "target%d" % i
        threading.Thread(target=target.serve_forever, daemon=True).start()
    print(proxy.server_address[1], flush=True)
    proxy.serve_forever()


main()
