#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A client of S3 for tests against a real MinIO, which signs by itself.

  minio-client.py ENDPOINT COMMAND...

  ready                        waits half a second for the server to take requests
  bucket NAME                  makes a bucket
  put FOLDER BUCKET PREFIX     uploads the files of FOLDER
  unpack TAR BUCKET PREFIX     has the server make an object of each member of TAR (MinIO's own)
  list BUCKET                  lists it; exit status 1 if that is refused
  public BUCKET                lets everybody read and list it
  assume SECONDS               prints temporary credentials as a credential_process does
  identity                     serves as MinIO's identity plug-in, which knows everybody; prints its port

Keys and region are those of AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and
AWS_REGION.  An authority for https is in CURL_CA_BUNDLE.  Less than 900 seconds are what MinIO
gives only with an identity plug-in.  Standard library only.
"""
import hashlib
import hmac
import http.client
import http.server
import json
import os
import re
import ssl
import sys
import time
import urllib.parse

ROLE = "arn:minio:iam:%s::role/idmp-tests"
endpoint, command, *rest = sys.argv[1:]
scheme, _, host = endpoint.partition("://")
region = os.environ.get("AWS_REGION", "us-east-1")


def connect():
    if scheme == "https":
        authority = ssl.create_default_context(cafile=os.environ["CURL_CA_BUNDLE"])
        return http.client.HTTPSConnection(host, context=authority)
    return http.client.HTTPConnection(host)


connection = connect()


def quote(text):
    return urllib.parse.quote(text, safe="/-._~")


def sign(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def signed(method, path, query, body, headers):
    secret = os.environ["AWS_SECRET_ACCESS_KEY"]
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    headers = dict(headers, host=host)
    headers.update({"x-amz-content-sha256": hashlib.sha256(body).hexdigest(), "x-amz-date": stamp})
    if os.environ.get("AWS_SESSION_TOKEN"):
        headers["x-amz-security-token"] = os.environ["AWS_SESSION_TOKEN"]
    names = ";".join(sorted(headers))
    canonical = "\n".join([method, path, query] + ["%s:%s" % (n, headers[n]) for n in sorted(headers)] +
                          ["", names, headers["x-amz-content-sha256"]])
    scope = "%s/%s/s3/aws4_request" % (stamp[:8], region)
    key = ("AWS4" + secret).encode()
    for part in scope.split("/"):
        key = sign(key, part)
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    headers["authorization"] = "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s" % (
        os.environ["AWS_ACCESS_KEY_ID"], scope, names, sign(key, text).hex())
    return headers


def answer_to(method, path, query="", body=b"", headers=()):
    connection.request(method, path + ("?" + query if query else ""), body, dict(headers))
    response = connection.getresponse()
    answer = response.read().decode()
    if response.status >= 300:
        sys.exit("%s %s: HTTP %d: %s" % (method, path, response.status, answer))
    return answer


def request(method, path, query="", body=b"", headers=()):
    return answer_to(method, path, query, body, signed(method, path, query, body, headers))


def wait_for_server():
    for _ in range(10):
        try:
            connection.request("GET", "/minio/health/ready")
            response = connection.getresponse()
            response.read()
            if response.status == 200:
                return
        except (OSError, http.client.HTTPException):
            connection.close()
        time.sleep(0.05)
    sys.exit("%s is not ready" % endpoint)


def put(folder, bucket, prefix):
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            request("PUT", "/%s/%s" % (bucket, quote(prefix + name)), body=file.read())


def unpack(tar, bucket, prefix):
    with open(tar, "rb") as file:
        request("PUT", "/%s/unpacked.tar" % bucket, body=file.read(),
                headers={"x-amz-meta-snowball-auto-extract": "true", "x-amz-meta-minio-snowball-prefix": prefix})


def make_public(bucket):
    statement = {"Effect": "Allow", "Principal": {"AWS": ["*"]}, "Action": ["s3:GetObject", "s3:ListBucket"],
                 "Resource": ["arn:aws:s3:::" + bucket, "arn:aws:s3:::%s/*" % bucket]}
    request("PUT", "/" + bucket, "policy=", json.dumps({"Version": "2012-10-17", "Statement": [statement]}).encode())


def assume(seconds):
    form = {"Action": "AssumeRoleWithCustomToken", "Version": "2011-06-15", "Token": "anybody",
            "RoleArn": ROLE % region, "DurationSeconds": seconds}
    text = answer_to("POST", "/", urllib.parse.urlencode(form))
    got = {"Version": 1}
    for name in ("AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"):
        got[name] = re.search("<%s>([^<]*)</" % name, text)[1]
    print(json.dumps(got))


class Identity(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.dumps({"user": "trainer", "maxValiditySeconds": 3600, "claims": {}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_HEAD(self):
        self.send_response(200)
        self.end_headers()


def serve_identity():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Identity)
    print(server.server_port, flush=True)
    server.serve_forever()


commands = {
    "ready": wait_for_server,
    "bucket": lambda name: request("PUT", "/" + name),
    "put": put,
    "unpack": unpack,
    "list": lambda bucket: request("GET", "/" + bucket, "list-type=2"),
    "public": make_public,
    "assume": assume,
    "identity": serve_identity,
}
commands[command](*rest)
