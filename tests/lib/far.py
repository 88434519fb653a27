#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A server that is far, as its clients see it.

  far.py FOLDER

Prints its port, and answers no handshake of TCP as long as there is a file FOLDER/far,
because its queue is full.  Then it is origin.py.  Standard library only.
"""
import os
import socket
import sys
import threading
import time

import origin


def fill(address):
    """Connect until that is not answered."""
    kept = []
    while True:
        kept.append(socket.socket())
        kept[-1].settimeout(0.2)
        try:
            kept[-1].connect(address)
        except TimeoutError:
            return kept


def main():
    origin.set_up(sys.argv[1])
    listener = socket.create_server(("127.0.0.1", 0), backlog=0)
    kept = fill(listener.getsockname())
    origin.ports["main"] = listener.getsockname()[1]
    print(origin.ports["main"], flush=True)
    while os.path.exists(sys.argv[1] + "/far"):
        time.sleep(0.01)
    for s in kept:
        s.close()
    listener.listen(256)
    while True:
        conn, _ = listener.accept()
        threading.Thread(target=origin.serve_connection, args=("main", conn), daemon=True).start()


main()
