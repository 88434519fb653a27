#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An S3 server that checks every signature by itself, and the services that AWS has for
credentials.

  s3.py FOLDER [PORT]

Prints its port and serves FOLDER/buckets/BUCKET/KEY until it is killed: GET with a range and
If-Match, and ListObjectsV2, over HTTP/1.1, in path style.  FOLDER/server.json, read anew for
each request, says what it expects:

  keys     {ACCESS KEY: {"secret": S, "token": T, "expired": true}}
  region   of all buckets [us-east-1]      hint   false: it does not say which, when asked wrongly
  off      seconds that its clock is ahead
  public   buckets that need no signature  denied   buckets that nobody may read
  page     keys on a page [1000]
  elsewhere  the URL of another server, to which requests for objects are redirected
  odd      {"to": "list" or "object", "times": N, "status": S, "body": B, "name": anything}: its answer to
           the first N of these requests
  role     what the services give: {"AccessKeyId":..., "SecretAccessKey":..., "Token":...}

The services: PUT /latest/api/token and GET /latest/meta-data/iam/security-credentials/ROLE
(IMDSv2), GET /container (with Authorization: container-token), POST /sts (with the web identity
token web-token).  Each request is a JSON line on stderr.  Standard library only; nothing of it
is taken from AWS's or shufflefs' code.
"""
import calendar
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

STRICT = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
lock = threading.Lock()  # guards stderr


class Refusal(Exception):
    def __init__(self, status, code, message="", extra="", headers=None):
        super().__init__(code)
        self.status, self.code, self.message = status, code, message
        self.extra, self.headers = extra, headers or {}


def encode(text, safe=""):
    return "".join(c if c in STRICT + safe else "".join("%%%02X" % b for b in c.encode())
                   for c in text)


def sign(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def check_strict(raw, safe):
    """S3 signs the path encoded once, all but the unreserved characters; so must it be sent."""
    if encode(urllib.parse.unquote(raw, errors="surrogateescape"), safe) != raw:
        raise Refusal(403, "SignatureDoesNotMatch", "not encoded strictly: " + raw)


def canonical_query(query):
    """As AWS says: decoded, encoded strictly, sorted by name."""
    pairs = [p.partition("=")[::2] for p in query.split("&") if p]
    return "&".join(sorted("%s=%s" % (encode(urllib.parse.unquote(a)), encode(urllib.parse.unquote(b)))
                           for a, b in pairs))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    # ---- signatures ----

    def check_region(self, region):
        wanted = self.config.get("region", "us-east-1")
        if region == wanted:
            return
        hint = self.config.get("hint", True)
        raise Refusal(400, "AuthorizationHeaderMalformed", "wrong region",
                      "<Region>%s</Region>" % wanted if hint else "",
                      {"x-amz-bucket-region": wanted} if hint else {})

    def check_time(self, stamp):
        now = time.time() + self.config.get("off", 0)
        sent = calendar.timegm(time.strptime(stamp, "%Y%m%dT%H%M%SZ"))
        if abs(now - sent) > 900:
            raise Refusal(403, "RequestTimeTooSkewed", "the time differs too much")

    def check_signature(self):
        """Returns the access key, or None: it is not signed."""
        value = self.headers.get("Authorization")
        if value is None:
            return None
        found = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/,]+)/(\d{8})/([^/]+)/s3/aws4_request, "
                             r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})", value)
        if not found:
            raise Refusal(400, "AuthorizationHeaderMalformed", "not understood")
        key_id, day, region, names, signature = found.groups()
        key = self.config["keys"].get(key_id)
        if key is None:
            raise Refusal(403, "InvalidAccessKeyId", "no such key")
        self.check_region(region)
        names = names.split(";")
        missing = {"host", "x-amz-date", "x-amz-content-sha256"} | {
            n.lower() for n in self.headers if n.lower().startswith("x-amz-")}
        if names != sorted(names) or missing - set(names):
            raise Refusal(403, "AccessDenied", "headers are not signed: %s" % (missing - set(names)))
        stamp = self.headers["x-amz-date"]
        path, _, query = self.path.partition("?")
        check_strict(path, "/")
        canonical = "\n".join(
            [self.command, path, canonical_query(query)] +
            ["%s:%s" % (n, " ".join(self.headers[n].split())) for n in names] +
            ["", ";".join(names), self.headers["x-amz-content-sha256"]])
        text = "\n".join(["AWS4-HMAC-SHA256", stamp, "%s/%s/s3/aws4_request" % (day, region),
                          hashlib.sha256(canonical.encode()).hexdigest()])
        derived = ("AWS4" + key["secret"]).encode()
        for part in (day, region, "s3", "aws4_request"):
            derived = sign(derived, part)
        if not stamp.startswith(day) or sign(derived, text).hex() != signature:
            raise Refusal(403, "SignatureDoesNotMatch", "compare: " + canonical)
        self.check_time(stamp)
        if key.get("token") != self.headers.get("x-amz-security-token"):
            raise Refusal(400, "InvalidToken", "not the token of this key")
        if key.get("expired"):
            raise Refusal(400, "ExpiredToken", "the token has expired")
        return key_id

    # ---- objects ----

    def answer(self, status, body=b"", headers=None):
        self.log_line(status)
        self.send_response_only(status)
        now = time.time() + self.config.get("off", 0)
        self.send_header("Date", email.utils.formatdate(now, usegmt=True))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def check_listing(self, query):
        if query.get("list-type") != "2" or query.get("encoding-type") != "url":
            raise Refusal(400, "InvalidArgument", "list-type=2 and encoding-type=url are needed")

    def entry(self, key, path):
        """What a listing says of an object."""
        return ("<Key>%s</Key><LastModified>2026-11-25T08:00:00.000Z</LastModified>"
                "<ETag>&quot;%s&quot;</ETag><Size>%d</Size><StorageClass>STANDARD</StorageClass>" %
                (escape(urllib.parse.quote_plus(key)), etag_of(path), os.path.getsize(path)))

    def list(self, bucket):
        query = dict(urllib.parse.parse_qsl(self.path.partition("?")[2], keep_blank_values=True))
        self.check_listing(query)
        top = os.path.join(self.buckets, bucket)
        keys = sorted(os.path.relpath(os.path.join(folder, name), top)
                      for folder, _, names in os.walk(top, followlinks=True) for name in names)
        prefix = query.get("prefix", "")
        keys = [k for k in keys if k.startswith(prefix)]
        if query.get("delimiter"):
            keys = [k for k in keys if query["delimiter"] not in k[len(prefix):]]
        start = 0
        if "continuation-token" in query:
            after = bytes.fromhex(query["continuation-token"].strip("=+/")).decode()
            start = len([k for k in keys if k <= after])
        page = keys[start:start + self.config.get("page", 1000)]
        more = start + len(page) < len(keys)
        out = ['<?xml version="1.0" encoding="UTF-8"?>\n'
               '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
               "<Name>%s</Name><Prefix>%s</Prefix><KeyCount>%d</KeyCount>"
               "<MaxKeys>1000</MaxKeys><IsTruncated>%s</IsTruncated>" %
               (bucket, urllib.parse.quote_plus(prefix), len(page), str(more).lower())]
        for key in page:
            out.append("<Contents>%s</Contents>" % self.entry(key, os.path.join(top, key)))
        if "encoding-type" in query:
            out.append("<EncodingType>url</EncodingType>")
        if more:
            out.append("<NextContinuationToken>%s=+/</NextContinuationToken>" % page[-1].encode().hex())
        out.append("</ListBucketResult>")
        self.answer(200, "".join(out).encode(), {"Content-Type": "application/xml"})

    def more_headers(self, path):
        return {}

    def get_object(self, bucket, key):
        path = os.path.join(self.buckets, bucket, key)
        if not os.path.isfile(path):
            raise Refusal(404, "NoSuchKey", "The specified key does not exist.")
        with open(path, "rb") as file:
            data = file.read()
        tag = '"%s"' % etag_of(path)
        headers = {"ETag": tag, "Last-Modified": email.utils.formatdate(os.path.getmtime(path), usegmt=True)}
        headers.update(self.more_headers(path))
        if self.headers.get("If-Match", tag) != tag:
            raise Refusal(412, "PreconditionFailed", "another ETag", headers=headers)
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not found:
            self.answer(200, data, headers)
        elif int(found[1]) >= len(data):
            raise Refusal(416, "InvalidRange")
        else:
            body = data[int(found[1]):int(found[2]) + 1]
            headers["Content-Range"] = "bytes %d-%d/%d" % (int(found[1]), int(found[1]) + len(body) - 1,
                                                           len(data))
            self.answer(206, body, headers)

    def check_payer(self, bucket, query):
        if bucket in self.config.get("payers", []) and \
                self.headers.get("x-amz-request-payer") != "requester":
            raise Refusal(403, "AccessDenied", "Access Denied")

    # ---- services that give credentials ----

    def service(self, path):
        role = dict(self.config.get("role", {}))
        if path == "/latest/api/token" and self.command == "PUT":
            if not self.headers.get("X-aws-ec2-metadata-token-ttl-seconds"):
                raise Refusal(400, "NoTTL")
            return b"instance-token"
        if path.startswith("/latest/meta-data/iam/security-credentials/"):
            if self.headers.get("X-aws-ec2-metadata-token") != "instance-token":
                raise Refusal(401, "Unauthorized")
            return b"the-role" if path.endswith("/") else json.dumps(role).encode()
        if path == "/container":
            if self.headers.get("Authorization") != "container-token":
                raise Refusal(401, "Unauthorized")
            return json.dumps(role).encode()
        if path == "/sts" and self.command == "POST":
            sent = dict(urllib.parse.parse_qsl(
                self.rfile.read(int(self.headers["Content-Length"])).decode()))
            if sent.get("Action") != "AssumeRoleWithWebIdentity" or not sent.get("RoleSessionName") or \
                    sent.get("WebIdentityToken") != "web-token" or sent.get("RoleArn") != "arn:aws:iam::1:role/r":
                raise Refusal(400, "InvalidIdentityToken")
            return ("<AssumeRoleWithWebIdentityResponse xmlns='https://sts.amazonaws.com/doc/2011-06-15/'>"
                    "<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>%s</AccessKeyId>"
                    "<SecretAccessKey>%s</SecretAccessKey><SessionToken>%s</SessionToken>"
                    "<Expiration>%s</Expiration></Credentials></AssumeRoleWithWebIdentityResult>"
                    "</AssumeRoleWithWebIdentityResponse>" %
                    tuple(escape(role[n]) for n in ("AccessKeyId", "SecretAccessKey", "Token",
                                                    "Expiration"))).encode()
        return None

    def handle_one(self):
        with open(os.path.join(sys.argv[1], "server.json")) as file:
            self.config = json.load(file)
        self.buckets = os.path.join(sys.argv[1], "buckets")
        if self.path.startswith("http://"):  # as if to a proxy
            self.path = "/" + self.path.split("/", 3)[3]
        if is_odd(self.config.get("odd"), "list" if "list-type=" in self.path else "object"):
            self.answer(self.config["odd"]["status"], self.config["odd"].get("body", "").encode(), {})
            return
        try:
            path = self.path.partition("?")[0]
            body = self.service(path)
            if body is not None:
                self.answer(200, body)
                return
            bucket, _, key = path[1:].partition("/")
            key = urllib.parse.unquote(key)
            signer = self.check_signature()
            if signer is None and bucket not in self.config.get("public", []):
                raise Refusal(403, "AccessDenied", "Access Denied")
            if not os.path.isdir(os.path.join(self.buckets, bucket)):
                raise Refusal(404, "NoSuchBucket", "The specified bucket does not exist")
            if bucket in self.config.get("denied", []):
                raise Refusal(403, "AccessDenied", "Access Denied")
            self.check_payer(bucket, dict(urllib.parse.parse_qsl(self.path.partition("?")[2])))
            if key and "elsewhere" in self.config:
                raise Refusal(307, "TemporaryRedirect", headers={"Location": self.config["elsewhere"] + self.path})
            if key:
                self.get_object(bucket, key)
            else:
                self.list(bucket)
        except Refusal as r:
            body = ("<?xml version='1.0' encoding='UTF-8'?>\n<Error><Code>%s</Code><Message>%s</Message>"
                    "%s<RequestId>1</RequestId></Error>" % (r.code, escape(r.message), r.extra)).encode()
            self.answer(r.status, body, r.headers)

    do_GET = do_PUT = do_POST = do_HEAD = handle_one

    def log_line(self, status):
        line = {"method": self.command, "path": self.path, "status": status,
                "headers": {n.lower(): v for n, v in self.headers.items()}}
        with lock:
            print(json.dumps(line), file=sys.stderr, flush=True)

    def log_message(self, *args):
        pass


tags = {}  # (path, mtime, size) -> MD5


def etag_of(path):
    stat = os.stat(path)
    key = (path, stat.st_mtime_ns, stat.st_size)
    if key not in tags:
        with open(path, "rb") as file:
            tags[key] = hashlib.md5(file.read()).hexdigest()
    return tags[key]


def main(handler):
    server = Server(("127.0.0.1", int((sys.argv + ["0"])[2])), handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(Handler)
