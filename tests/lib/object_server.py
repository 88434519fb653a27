# SPDX-License-Identifier: MIT
"""What the servers of stores have in common (s3.py, ais.py, hf.py)."""
import http.server
import sys


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):  # the client has gone
            super().handle_error(request, client_address)
