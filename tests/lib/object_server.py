# SPDX-License-Identifier: MIT
"""What the servers of stores have in common (s3.py, ais.py, hf.py)."""
import http.server
import json
import sys
import threading

lock = threading.Lock()
odd_answers = {}  # an `odd` of server.json -> how often it was the answer


def is_odd(odd, asked):
    """Is the answer to this request, for a "list" or an "object", to be the odd one?"""
    if not odd or odd["to"] != asked:
        return False
    with lock:
        name = json.dumps(odd, sort_keys=True)
        odd_answers[name] = odd_answers.get(name, 0) + 1
        return odd_answers[name] <= odd["times"]


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):  # the client has gone
            super().handle_error(request, client_address)
