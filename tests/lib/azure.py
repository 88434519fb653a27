#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Azure Blob Storage, as it is documented: it checks keys, shared access signatures (SAS) and tokens
by itself.

  azure.py FOLDER [PORT]
  azure.py --sas CONTAINER SECONDS [PERMISSIONS]    print a SAS that expires in so many seconds

Prints its port and serves the account acct, as an emulator has it: FOLDER/buckets/CONTAINER/NAME is
at /acct/CONTAINER/NAME.  FOLDER/server.json, read anew for each request, says what it expects:

  key      false: no key or SAS is good any more     tokens   those that are good
  revoked  SAS that are not good                     public   containers that are open to all
  no_public  true: the account lets none be          off      seconds that its clock is ahead
  page     blobs on a page [5000]                    archived  names that are
  folders  names that are folders, of a hierarchical namespace
  elsewhere  the URL of another server, to which requests for blobs are redirected
  odd      {"to": "list" or "object", "times": N, "status": S, "body": B, "name": anything}: see s3.py
  grant    [TOKEN, SECONDS]: what the services for tokens give

The services: POST /TENANT/oauth2/v2.0/token of Entra ID, for the secret SECRET/entra or the federated
token FEDERATED, and GET /metadata/identity/oauth2/token of a machine.  Each request is a JSON line on
stderr.  Standard library only; nothing of it is taken from Azure's or shufflefs' code.
"""
import base64
import calendar
import datetime
import email.utils
import hashlib
import hmac
import http.server
import json
import os
import re
import sys
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

from object_server import Server, is_odd

ACCOUNT = "acct"
KEY = base64.b64encode(bytes(range(64))).decode()
lock = threading.Lock()  # guards stderr


class Refusal(Exception):
    def __init__(self, status, code, detail="", headers=None):
        super().__init__(code)
        self.status, self.code, self.detail, self.headers = status, code, detail, headers or {}


def sign(text):
    return base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()


def sign_sas(sas, container):
    """A service SAS of a container, of version 2020-12-06."""
    return sign("\n".join([sas.get("sp", ""), sas.get("st", ""), sas.get("se", ""),
                           "/blob/%s/%s" % (ACCOUNT, container), "", "", sas.get("spr", ""), sas["sv"],
                           sas["sr"], "", "", "", "", "", "", ""]))


def make_sas(container, seconds, permissions="rl"):
    end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    sas = {"sv": "2020-12-06", "se": end.strftime("%Y-%m-%dT%H:%M:%SZ"), "sr": "c", "sp": permissions}
    sas["sig"] = sign_sas(sas, container)
    return urllib.parse.urlencode(sas)


def read_time(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def now(self):
        return time.time() + self.config.get("off", 0)

    # ---- who may ----

    def check_key(self, value):
        """Shared Key: the text is that of the documentation, made of what was received."""
        found = re.fullmatch(r"SharedKey ([a-z0-9]+):(\S+)", value)
        if not found or found[1] != ACCOUNT:
            raise Refusal(400, "InvalidAuthenticationInfo", "not understood")
        names = ["Content-Encoding", "Content-Language", "Content-Length", "Content-MD5", "Content-Type", "Date",
                 "If-Modified-Since", "If-Match", "If-None-Match", "If-Unmodified-Since", "Range"]
        lines = [self.command] + [self.headers.get(n, "") for n in names]
        lines += ["%s:%s" % (n.lower(), " ".join(self.headers[n].split()))
                  for n in sorted(self.headers, key=str.lower) if n.lower().startswith("x-ms-")]
        path, _, query = self.path.partition("?")
        lines.append("/" + ACCOUNT + path)
        pairs = {}
        for name, text in urllib.parse.parse_qsl(query, keep_blank_values=True):
            pairs.setdefault(name.lower(), []).append(text)
        lines += ["%s:%s" % (n, ",".join(sorted(pairs[n]))) for n in sorted(pairs)]
        if "x-ms-date" not in self.headers or sign("\n".join(lines)) != found[2]:
            raise Refusal(403, "AuthenticationFailed", "The MAC signature found in the HTTP request '%s' is not "
                          "the same as any computed signature: %r" % (found[2], lines))
        sent = calendar.timegm(email.utils.parsedate(self.headers["x-ms-date"]))
        if abs(self.now() - sent) > 900:
            raise Refusal(403, "AuthenticationFailed", "Request date header too old: '%s'" % self.headers["x-ms-date"])
        if not self.config.get("key", True):
            raise Refusal(403, "KeyBasedAuthenticationNotPermitted")

    def check_sas(self, query, container, right):
        sas = {n: t for n, t in query.items() if n in ("sv", "st", "se", "sr", "sp", "spr", "sig")}
        if not self.config.get("key", True):
            raise Refusal(403, "KeyBasedAuthenticationNotPermitted")
        if sas["sig"] != sign_sas(sas, container) or sas["sig"] in self.config.get("revoked", []):
            raise Refusal(403, "AuthenticationFailed", "Signature did not match: " + sas["sig"])
        if self.now() > read_time(sas["se"]) or ("st" in sas and self.now() < read_time(sas["st"])):
            raise Refusal(403, "AuthenticationFailed", "Signature not valid in the specified time frame")
        if right not in sas["sp"]:
            raise Refusal(403, "AuthorizationPermissionMismatch")

    def check(self, query, container, right):
        value = self.headers.get("Authorization")
        if value and "x-ms-version" not in self.headers:
            raise Refusal(400, "InvalidHeaderValue", "x-ms-version")
        if value and "sig" in query:
            raise Refusal(400, "InvalidAuthenticationInfo", "two of them")
        if "sig" in query:
            self.check_sas(query, container, right)
        elif value and value.startswith("Bearer "):
            if value[7:] not in self.config.get("tokens", []):
                raise Refusal(401, "InvalidAuthenticationInfo", "Lifetime validation failed.")
        elif value:
            self.check_key(value)
        elif self.config.get("no_public"):
            raise Refusal(409, "PublicAccessNotPermitted")
        elif container not in self.config.get("public", []):
            raise Refusal(404, "ResourceNotFound")

    # ---- blobs ----

    def answer(self, status, body=b"", headers=None):
        self.log_line(status)
        self.send_response_only(status)
        self.send_header("Date", email.utils.formatdate(self.now(), usegmt=True))
        self.send_header("x-ms-version", "2020-10-02")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def tag_of(self, path):
        stat = os.stat(path)
        return "0x%X" % (stat.st_mtime_ns ^ stat.st_ino)

    def list(self, container, query):
        top = os.path.join(self.buckets, container)
        if query.get("comp") != "list" or query.get("restype") != "container":
            raise Refusal(400, "InvalidQueryParameterValue")
        names = sorted(os.path.relpath(os.path.join(folder, name), top)
                       for folder, _, names in os.walk(top, followlinks=True) for name in names)
        prefix = query.get("prefix", "")
        names = [n for n in names if n.startswith(prefix)]
        if query.get("delimiter"):
            names = [n for n in names if query["delimiter"] not in n[len(prefix):]]
        start = 0
        if "marker" in query:
            after = base64.b64decode(query["marker"][2:-1]).decode()
            start = len([n for n in names if n <= after])
        page = names[start:start + self.config.get("page", 5000)]
        out = ['\ufeff<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="http://x/acct" '
               'ContainerName="%s"><Prefix>%s</Prefix><Blobs>' % (container, escape(prefix))]
        for name in page:
            path = os.path.join(top, name)
            out.append("<Blob><Name>%s</Name><Properties><Last-Modified>%s</Last-Modified><Etag>%s</Etag>"
                       "%s<Content-Length>%d</Content-Length><BlobType>BlockBlob</BlobType></Properties>"
                       "<OrMetadata /></Blob>" %
                       (escape(name), email.utils.formatdate(os.path.getmtime(path), usegmt=True), self.tag_of(path),
                        "<ResourceType>directory</ResourceType>" if name in self.config.get("folders", []) else "",
                        os.path.getsize(path)))
        more = start + len(page) < len(names)
        marker = "2!%s-" % base64.b64encode(page[-1].encode()).decode() if more else ""
        out.append("<BlobPrefix><Name>other/</Name></BlobPrefix></Blobs>")
        out.append("<NextMarker>%s</NextMarker>" % marker if more else "<NextMarker />")
        out.append("</EnumerationResults>")
        self.answer(200, "".join(out).encode(), {"Content-Type": "application/xml"})

    def get_blob(self, container, name):
        path = os.path.join(self.buckets, container, name)
        if not os.path.isfile(path):
            raise Refusal(404, "BlobNotFound")
        if name in self.config.get("archived", []):
            raise Refusal(409, "BlobArchived")
        with open(path, "rb") as file:
            data = file.read()
        tag = '"%s"' % self.tag_of(path)
        headers = {"ETag": tag, "Last-Modified": email.utils.formatdate(os.path.getmtime(path), usegmt=True)}
        if self.headers.get("If-Match", tag) != tag:
            raise Refusal(412, "ConditionNotMet")
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("x-ms-range", self.headers.get("Range", "")))
        if not found:
            self.answer(200, data, headers)
        elif int(found[1]) >= len(data):
            raise Refusal(416, "InvalidRange", headers={"Content-Range": "bytes */%d" % len(data)})
        else:
            body = data[int(found[1]):int(found[2]) + 1]
            headers["Content-Range"] = "bytes %d-%d/%d" % (int(found[1]), int(found[1]) + len(body) - 1, len(data))
            self.answer(206, body, headers)

    # ---- services that give tokens ----

    def service(self, path, query):
        if path == "/the-tenant/oauth2/v2.0/token" and self.command == "POST":
            sent = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
            if sent.get("grant_type") != "client_credentials" or sent.get("client_id") != "the-client" or \
                    sent.get("scope") != "https://storage.azure.com/.default" or not (
                        sent.get("client_secret") == "SECRET/entra" or sent.get("client_assertion") == "FEDERATED"):
                raise Refusal(401, "invalid_client")
        elif path == "/metadata/identity/oauth2/token":
            if self.headers.get("Metadata") != "true" or query.get("resource") != "https://storage.azure.com/":
                raise Refusal(400, "BadRequest")
        else:
            return False
        token, seconds = self.config["grant"]
        self.answer(200, json.dumps({"access_token": token, "expires_in": str(seconds),
                                     "token_type": "Bearer"}).encode())
        return True

    def handle_one(self):
        with open(os.path.join(sys.argv[1], "server.json")) as file:
            self.config = json.load(file)
        self.buckets = os.path.join(sys.argv[1], "buckets")
        if self.path.startswith("http://"):  # as if to a proxy
            self.path = "/" + self.path.split("/", 3)[3]
        if is_odd(self.config.get("odd"), "list" if "comp=list" in self.path else "object"):
            self.answer(self.config["odd"]["status"], self.config["odd"].get("body", "").encode(), {})
            return
        try:
            path, _, query = self.path.partition("?")
            query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
            if self.service(path, query):
                return
            account, _, rest = path[1:].partition("/")
            container, _, name = rest.partition("/")
            if account != ACCOUNT:
                raise Refusal(400, "InvalidUri")
            self.check(query, container, "r" if name else "l")
            if not os.path.isdir(os.path.join(self.buckets, container)):
                raise Refusal(404, "ContainerNotFound")
            if name and "elsewhere" in self.config:
                raise Refusal(307, "TemporaryRedirect", headers={"Location": self.config["elsewhere"] + path})
            if name:
                self.get_blob(container, urllib.parse.unquote(name))
            else:
                self.list(container, query)
        except Refusal as r:
            body = ("\ufeff<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>%s</Code><Message>%s\nRequestId:1"
                    "</Message><AuthenticationErrorDetail>%s</AuthenticationErrorDetail></Error>" %
                    (r.code, r.code, escape(r.detail))).encode()
            self.answer(r.status, body, dict(r.headers, **{"x-ms-error-code": r.code}))

    do_GET = do_POST = do_HEAD = handle_one

    def log_line(self, status):
        line = {"method": self.command, "path": self.path, "status": status,
                "headers": {n.lower(): v for n, v in self.headers.items()}}
        with lock:
            print(json.dumps(line), file=sys.stderr, flush=True)

    def log_message(self, *args):
        pass


def main():
    if sys.argv[1] == "--sas":
        print(make_sas(sys.argv[2], int(sys.argv[3]), *sys.argv[4:]))
        return
    server = Server(("127.0.0.1", int((sys.argv + ["0"])[2])), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


main()
