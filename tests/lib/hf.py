#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Hugging Face Hub, as far as datasets are read, and its storage: as it is documented, and as
the package huggingface_hub expects it.

  hf.py FOLDER [PORT]

Prints the Hub's port and serves FOLDER/datasets/OWNER/NAME/COMMIT/PATH until it is killed; COMMIT is
any word, and its "sha" is made of it.  A file goes by a redirect to a signed URL of the storage, which has
a port and ETags of its own, and refuses tokens.  FOLDER/server.json, read anew for each request, says:

  revisions  {REVISION: COMMIT} [{"main": "one"}]
  tokens     those that are valid; any other is refused
  private    without a token the datasets are not there
  gated      words of tokens that have accepted the terms; without it, no dataset is gated
  disabled   the datasets are
  renamed    {"OWNER/OLD": "OWNER/NAME"}
  moved      URL of another Hub to which all requests are redirected
  page       most entries of a page [1000]
  direct     files come from the Hub itself, without a redirect
  signature  only URLs that were signed with this word are good; others have expired ["1"]
  uses       how often a signed URL is good
  busy       {"api" or "resolvers" or "storage": seconds}: 429 with RateLimit (the storage: Retry-After)
  broken     {PATH: STATUS} of requests to the Hub

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
nodes = {}  # port -> "hub", "storage"
ports = {}
made = {}  # a file as it is -> its hashes
used = {}  # path and query of a signed URL -> how often


class Refusal(Exception):
    def __init__(self, status, code="", message="", headers=None):
        super().__init__(code)
        self.status, self.code, self.message, self.headers = status, code, message, headers or {}


def sha_of(commit):
    return hashlib.sha1(commit.encode()).hexdigest()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def hashes(path):
    """The blob's name in git, the SHA-256, and the storage's ETag: made once of a file."""
    stat = os.stat(path)
    key = (path, stat.st_ino, stat.st_mtime_ns, stat.st_size)
    if key not in made:
        data = read(path)
        made[key] = (hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest(),
                     hashlib.sha256(data).hexdigest(), '"%s-1"' % hashlib.md5(data).hexdigest())
    return made[key]


def is_lfs(path):
    return path.endswith(".tar")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self, status, body=b"", headers=None):
        line = {"time": round(time.time(), 3), "node": self.node, "method": self.command, "path": self.path,
                "status": status, "headers": {n.lower(): v for n, v in self.headers.items()}}
        with lock:
            print(json.dumps(line), file=sys.stderr, flush=True)
        self.send_response_only(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def answer_json(self, value, headers=None):
        self.answer(200, json.dumps(value).encode(), {"Content-Type": "application/json", **(headers or {})})

    def answer_range(self, path, etag, headers=None):
        size = os.path.getsize(path)
        headers = {"ETag": etag, "Accept-Ranges": "bytes", **(headers or {})}
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not found:
            self.answer(200, read(path), headers)
        elif int(found[1]) >= size:
            self.answer(416, b"", {"Content-Range": "bytes */%d" % size})
        else:
            with open(path, "rb") as file:
                file.seek(int(found[1]))
                body = file.read(int(found[2]) + 1 - int(found[1]))
            headers["Content-Range"] = "bytes %s-%d/%d" % (found[1], int(found[1]) + len(body) - 1, size)
            self.answer(206, body, headers)

    # ---- the Hub ----

    def check_busy(self, what):
        seconds = self.config.get("busy", {}).get(what)
        if seconds is not None and what == "storage":
            raise Refusal(429, headers={"Retry-After": str(seconds)})
        if seconds is not None:
            raise Refusal(429, message="We had to rate limit you", headers={
                "RateLimit": '"%s";r=0;t=%d' % (what, seconds),
                "RateLimit-Policy": '"fixed window";"%s";q=500;w=300' % what})

    def check_access(self, repo, is_content):
        sent = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if sent and sent not in self.config.get("tokens", []):
            raise Refusal(401, message="Invalid credentials in Authorization header",
                          headers={"X-Error-Message": "Invalid credentials in Authorization header"})
        if not os.path.isdir(self.path_of(repo)) or (self.config.get("private") and not sent):
            raise Refusal(404 if sent else 401, "RepoNotFound", "Repository not found")
        if self.config.get("disabled"):
            raise Refusal(403, message="Access to this resource is disabled.",
                          headers={"X-Error-Message": "Access to this resource is disabled."})
        if is_content and "gated" in self.config and sent not in self.config["gated"]:
            raise Refusal(403 if sent else 401, "GatedRepo", "Access to dataset %s is restricted. You must "
                          "have access to it and be authenticated to access it. Please log in." % repo)

    def path_of(self, *names):
        return os.path.join(sys.argv[1], "datasets", *names)

    def commit_of(self, repo, revision):
        """The folder, and the sha"""
        commit = self.config.get("revisions", {"main": "one"}).get(revision)
        for name in [commit] if commit else os.listdir(self.path_of(repo)):
            if commit or sha_of(name) == revision:
                return name, sha_of(name)
        raise Refusal(404, "RevisionNotFound", "Invalid rev id: " + revision)

    def entry(self, top, path):
        if os.path.isdir(os.path.join(top, path)):
            return {"type": "directory", "oid": sha_of(path), "size": 0, "path": path}
        size = os.path.getsize(os.path.join(top, path))
        oid, sha256, _ = hashes(os.path.join(top, path))
        entry = {"type": "file", "oid": oid, "size": size, "path": path}
        if is_lfs(path):
            entry["lfs"] = {"oid": sha256, "size": size, "pointerSize": 134}
        return entry

    def tree(self, repo, revision, path):
        commit, sha = self.commit_of(repo, revision)
        top = self.path_of(repo, commit)
        if not os.path.isdir(os.path.join(top, path)):
            raise Refusal(404, "EntryNotFound", "%s does not exist on %s" % (path, revision))
        is_deep = self.query.get("recursive", "false").lower() == "true"
        paths = []
        for folder, folders, files in os.walk(os.path.join(top, path)):
            paths += [os.path.relpath(os.path.join(folder, name), top) for name in folders + files]
            if not is_deep:
                break
        cursor = self.query.get("cursor", "")
        paths = sorted(p for p in paths if p > cursor)
        page = paths[:self.config.get("page", 1000)]
        headers = {"X-Repo-Commit": sha}
        if len(page) < len(paths):
            query = urllib.parse.urlencode({**self.query, "cursor": page[-1]})
            headers["Link"] = '<http://%s%s?%s>; rel="next"' % (
                self.headers["Host"], self.path.partition("?")[0], query)
        self.answer_json([self.entry(top, p) for p in page], headers)

    def paths_info(self, repo, revision):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        asked = urllib.parse.parse_qs(body).get("paths", []) if "json" not in self.headers["Content-Type"] \
            else json.loads(body)["paths"]
        top = self.path_of(repo, self.commit_of(repo, revision)[0])
        self.answer_json([self.entry(top, p) for p in asked if os.path.exists(os.path.join(top, p))])

    def resolve(self, repo, revision, path):
        commit, sha = self.commit_of(repo, revision)
        top = self.path_of(repo, commit)
        if not os.path.isfile(os.path.join(top, path)):
            raise Refusal(404, "EntryNotFound", "Entry not found")
        entry = self.entry(top, path)
        oid = entry["lfs"]["oid"] if "lfs" in entry else entry["oid"]
        headers = {"X-Repo-Commit": sha}
        if self.config.get("direct") or "lfs" not in entry:
            self.answer_range(os.path.join(top, path), '"%s"' % oid, headers)
            return
        place = "/repos/%s/%s?%s" % (repo, oid, urllib.parse.urlencode({
            "path": os.path.join(repo, commit, path), "n": time.time_ns(),
            "Signature": "SECRET-" + self.config.get("signature", "1")}))
        self.answer(302, b"Found. Redirecting to the storage", {
            **headers, "Location": "http://127.0.0.1:%d%s" % (ports["storage"], place),
            "X-Linked-Etag": '"%s"' % oid, "X-Linked-Size": str(entry["size"]), "ETag": '"%s"' % entry["oid"]})

    def hub(self, path):
        api = path.startswith("/api/datasets/")
        rest = path.removeprefix("/api").removeprefix("/datasets/").split("/", 4)
        repo = "/".join(rest[:2])
        if repo in self.config.get("renamed", {}):
            raise Refusal(307, headers={"Location": self.path.replace(repo, self.config["renamed"][repo], 1)})
        if "moved" in self.config:
            raise Refusal(301, headers={"Location": self.config["moved"] + self.path})
        self.check_busy("api" if api else "resolvers")
        if path in self.config.get("broken", {}):
            raise Refusal(self.config["broken"][path])
        self.check_access(repo, not api or rest[2:3] == ["tree"])
        what, revision, name = [urllib.parse.unquote(x) for x in (rest + ["", "", ""])[2:5]]
        if api and what in ("", "revision"):
            sha = self.commit_of(repo, revision or "main")[1]
            self.answer_json({"_id": "1", "id": repo, "sha": sha, "private": False, "gated": False,
                              "disabled": False, "tags": [], "downloads": 0, "likes": 0})
        elif api and what == "tree":
            self.tree(repo, revision, name)
        elif api and what == "paths-info":
            self.paths_info(repo, revision)
        elif not api and what == "resolve":
            self.resolve(repo, revision, name)
        else:
            raise Refusal(404, message="Sorry, we can't find the page you are looking for.")

    # ---- the storage ----

    def storage(self):
        self.check_busy("storage")
        if "Authorization" in self.headers:
            raise Refusal(400, message="Only one auth mechanism allowed")
        with lock:
            used[self.path] = used.get(self.path, 0) + 1
        if self.query.get("Signature") != "SECRET-" + self.config.get("signature", "1") or \
                used[self.path] > self.config.get("uses", 1 << 30):
            raise Refusal(403, message="Request has expired?" + self.path)
        path = self.path_of(self.query["path"])
        oid = self.path.partition("?")[0].rsplit("/", 1)[1]
        if not os.path.isfile(path) or hashes(path)[1] != oid:  # it is known by its bytes
            raise Refusal(404)
        self.answer_range(path, hashes(path)[2])

    def handle_one(self):
        with open(os.path.join(sys.argv[1], "server.json")) as file:
            self.config = json.load(file)
        port = self.server.server_address[1]
        if self.path.startswith("http://"):  # as if to an HTTP proxy
            port = int(self.path.split("/")[2].partition(":")[2])
            self.path = "/" + self.path.split("/", 3)[3]
        self.node = nodes[port]
        try:
            path, _, query = self.path.partition("?")
            self.query = dict(urllib.parse.parse_qsl(query))
            if self.node == "hub":
                self.hub(path)
            else:
                self.storage()
        except Refusal as r:
            headers = {"Content-Type": "application/json", **r.headers}
            if r.code:
                headers.update({"X-Error-Code": r.code, "X-Error-Message": r.message})
            self.answer(r.status, json.dumps({"error": r.message}).encode(), headers)

    do_GET = do_POST = do_HEAD = handle_one

    def log_message(self, *args):
        pass


def main():
    hub = Server(("127.0.0.1", int((sys.argv + ["0"])[2])), Handler)
    storage = Server(("127.0.0.1", 0), Handler)
    for server, node in ((hub, "hub"), (storage, "storage")):
        nodes[server.server_address[1]] = node
        ports[node] = server.server_address[1]
    threading.Thread(target=storage.serve_forever, daemon=True).start()
    print(ports["hub"], flush=True)
    hub.serve_forever()


main()
