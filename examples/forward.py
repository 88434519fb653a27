#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Forward a stream of a mount, and wait until it has arrived.

  forward.py /mnt/ds/epochs/0.tar tcp://gpu1:18515 'jpg:rgb,224;cls:i4' [BATCH]
"""
import sys

import shufflefs

path, target, fields, *batch = sys.argv[1:]
try:
    with shufflefs.forward(path, target, fields, *map(int, batch)) as session:
        while True:
            try:
                status = session.wait(timeout=1)
                break
            except TimeoutError:
                status = session.status()
                print("%s: %d batches, %d samples" % (status.state, status.batches, status.samples), flush=True)
    print("%s: %d batches, %d samples" % (status.state, status.batches, status.samples))
except (shufflefs.ForwardError, OSError, ValueError) as error:
    sys.exit("forward: %s" % error)
