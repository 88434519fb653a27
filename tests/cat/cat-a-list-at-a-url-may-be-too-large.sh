#!/bin/sh
# SPDX-License-Identifier: MIT
# A list at a URL that has more bytes than any list is refused in one line: before a byte of it is read if the
# server says how many it has, and else as soon as so many have come.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"
. "$top/tests/lib/faults.sh"

cat >large.py <<'END'
import http.server, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        if "said" in self.path:
            self.send_header("Content-Length", str(1 << 40))
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"x.tar\n" * 100000)
        except OSError:
            pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
END
"$python" large.py >large-port 2>large-log &
wait_until 30 grep -q . large-port
large="http://127.0.0.1:$(cat large-port)"
for how in said comes; do
    refused @$large/$how.txt
    said "cannot read $large/$how.txt: it is larger than 256 MiB, so it is no list of shards"
done
