#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Batches of a ring as cupy arrays on the GPU that the ring is in: no copy.

  ring-cupy.py /run/ring0
"""
import sys

import shufflefs

for batch in shufflefs.Ring(sys.argv[1], timeout=60):
    images = batch.cupy("jpg")  # of cupy's current stream
    print(batch, images.shape, float(images.mean()), flush=True)
