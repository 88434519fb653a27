#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Google Cloud Storage's XML API, as it is documented, and the services that Google has for
tokens.

  gcs.py FOLDER [PORT]

As s3.py (see there for the folder and server.json), of which it differs in this:

- a request may have an access token instead of a signature: "tokens" are those that are good;
- signatures may be for any region;
- listings have generations, and keys as they are unless they are asked for encoded; so have responses (x-goog-generation);
- x-goog- headers are refused in signed requests, which have x-amz- headers.

The services: GET .../service-accounts/default/token of the metadata server, and POST /token, which
takes the refresh token REFRESH/one, or a JSON Web Token of the service account "account": {"email": E,
"modulus": HEX} (its exponent is 65537); both give "grant": [TOKEN, SECONDS].  So does POST /sts for the token
"subject" of another provider, which is at GET /subject (?json: as JSON) for who sends X-Provider: yes; or, if the scope is
the cloud platform, a token with which POST /impersonate gives that, unless "no_role".  "payers": {BUCKET: PROJECT}: the
project that has to pay.
"""
import base64
import hashlib
import json
import os
import time
import urllib.parse
from xml.sax.saxutils import escape

import s3
from s3 import Refusal


def generation_of(path):
    return os.stat(path).st_mtime_ns // 1000


def decode(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def check_jwt(jwt, account, audience):
    """RFC 7515, and RFC 8017 of the signature."""
    header, claims, signature = jwt.split(".")
    modulus = int(account["modulus"], 16)
    size = (modulus.bit_length() + 7) // 8
    digest = bytes.fromhex("3031300d060960864801650304020105000420") + \
        hashlib.sha256((header + "." + claims).encode()).digest()
    wanted = b"\0\1" + b"\xff" * (size - len(digest) - 3) + b"\0" + digest
    if pow(int.from_bytes(decode(signature), "big"), 65537, modulus).to_bytes(size, "big") != wanted:
        raise Refusal(400, "invalid_grant", "signature")
    claims = json.loads(decode(claims))
    if json.loads(decode(header))["alg"] != "RS256" or claims["iss"] != account["email"] or \
            claims["aud"] != audience or "devstorage.read_only" not in claims["scope"] or \
            not claims["iat"] <= time.time() + 60 < claims["exp"] <= claims["iat"] + 3600:
        raise Refusal(400, "invalid_grant", "claims")


class Handler(s3.Handler):
    def check_region(self, region):
        pass

    def check_signature(self):
        value = self.headers.get("Authorization", "")
        if value.startswith("Bearer "):
            if value[7:] not in self.config.get("tokens", []):
                raise Refusal(401, "AuthenticationRequired", "Authentication required.")
            return value
        if value and any(n.lower().startswith("x-goog-") for n in self.headers):
            raise Refusal(400, "InvalidArgument", "x-goog- headers in a request with x-amz- headers")
        try:
            return super().check_signature()
        except Refusal as r:
            if r.code == "InvalidAccessKeyId":
                raise Refusal(403, "InvalidSecurity", "The provided security credentials are not valid.")
            raise

    def check_listing(self, query):
        if query.get("list-type") != "2":
            raise Refusal(400, "InvalidArgument", "list-type=2 is needed")
        self.is_encoded = query.get("encoding-type") == "url"

    def entry(self, key, path):
        return ("<Key>%s</Key><Generation>%d</Generation><MetaGeneration>1</MetaGeneration>"
                "<LastModified>2026-11-25T08:00:00.000Z</LastModified><ETag>\"%s\"</ETag><Size>%d</Size>" %
                (escape(urllib.parse.quote_plus(key) if self.is_encoded else key), generation_of(path), s3.etag_of(path), os.path.getsize(path)))

    def check_payer(self, bucket, query):
        wanted = self.config.get("payers", {}).get(bucket)
        named = query.get("userProject")
        if wanted and not named:
            raise Refusal(400, "UserProjectMissing", "Bucket is a requester pays bucket but no user project provided.")
        if wanted and named != wanted:
            raise Refusal(403, "UserProjectAccessDenied", "The project may not be charged")

    def federate(self, path):
        """Of workload identity federation, as RFC 8693 and Google's documentation have it."""
        token, seconds = self.config["grant"]
        if path == "/subject":
            if self.headers.get("X-Provider") != "yes":
                raise Refusal(403, "Forbidden")
            subject = self.config["subject"]
            return (json.dumps({"access_token": subject}) if "json" in self.path else subject + "\n").encode()
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if path == "/sts":
            sent = dict(urllib.parse.parse_qsl(body, strict_parsing=True))
            scope = sent.pop("scope")
            if sent != {"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
                        "requested_token_type": "urn:ietf:params:oauth:token-type:access_token",
                        "audience": "//iam.googleapis.com/projects/1/pools/p&q",
                        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
                        "subject_token": self.config["subject"]}:
                raise Refusal(400, "invalid_grant")
            is_platform = scope == "https://www.googleapis.com/auth/cloud-platform"
            return json.dumps({"access_token": "TOKEN.of-sts" if is_platform else token, "token_type": "Bearer",
                               "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
                               "expires_in": seconds}).encode()
        sent = json.loads(body)
        if self.headers.get("Authorization") != "Bearer TOKEN.of-sts" or self.config.get("no_role") or \
                self.headers["Content-Type"] != "application/json" or \
                sent["scope"] != ["https://www.googleapis.com/auth/devstorage.read_only"] or sent["lifetime"] != "3600s":
            raise Refusal(403, "PERMISSION_DENIED")
        end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
        return json.dumps({"accessToken": token, "expireTime": end}).encode()

    def more_headers(self, path):
        return {"x-goog-generation": str(generation_of(path)), "x-goog-metageneration": "1"}

    def service(self, path):
        if path == "/token" and self.command == "POST":
            sent = dict(urllib.parse.parse_qsl(
                self.rfile.read(int(self.headers["Content-Length"])).decode()))
            if "assertion" in sent:
                if sent["grant_type"] != "urn:ietf:params:oauth:grant-type:jwt-bearer":
                    raise Refusal(400, "invalid_grant")
                check_jwt(sent["assertion"], self.config["account"], "http://%s/token" % self.headers["Host"])
            elif sent != {"grant_type": "refresh_token", "client_id": "the client", "client_secret": "SECRET&1",
                          "refresh_token": "REFRESH/one"}:
                raise Refusal(400, "invalid_grant")
        elif path == "/computeMetadata/v1/instance/service-accounts/default/token":
            if self.headers.get("Metadata-Flavor") != "Google":
                raise Refusal(403, "Forbidden")
        elif path in ("/sts", "/subject", "/impersonate"):
            return self.federate(path)
        else:
            return None
        token, seconds = self.config["grant"]
        return json.dumps({"access_token": token, "expires_in": seconds, "token_type": "Bearer"}).encode()


s3.main(Handler)
