#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A small HTTPS server with ranges.

  https.py FOLDER CERTIFICATE KEY [AUTHORITY]

Prints its port and serves the files of FOLDER until it is killed.  With AUTHORITY,
clients must show a certificate that this one has signed, for each request: the
connection is closed after it.  Standard library only.
"""
import http.server
import os
import re
import ssl
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = os.path.join(sys.argv[1], os.path.basename(self.path))
        if not os.path.isfile(path):
            self.send_error(404)
            return
        with open(path, "rb") as file:
            data = file.read()
        found = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        first = int(found[1]) if found else 0
        last = min(int(found[2]) if found and found[2] else len(data) - 1, len(data) - 1)
        body = data[first:last + 1]
        self.send_response(206 if found else 200)
        if found:
            self.send_header("Content-Range", "bytes %d-%d/%d" % (first, last, len(data)))
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"%x"' % len(data))
        if len(sys.argv) > 4:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, context):
        super().__init__(("127.0.0.1", 0), Handler)
        self.context = context

    def finish_request(self, request, client_address):
        # In the connection's own thread: a handshake that fails disturbs nobody.
        try:
            with self.context.wrap_socket(request, server_side=True) as secure:
                super().finish_request(secure, client_address)
        except OSError as e:
            print(e, file=sys.stderr)


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    if len(sys.argv) > 4:
        context.load_verify_locations(sys.argv[4])
        context.verify_mode = ssl.CERT_REQUIRED
    server = Server(context)
    print(server.server_address[1], flush=True)
    server.serve_forever()


main()
