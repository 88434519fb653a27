#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Batches of a ring as JAX arrays on the GPU that the ring is in.

JAX takes arrays to be immutable, but a slot is filled again after its release: so copy what
outlives the batch (one copy on the GPU), and wait for it before the batch is released.

  ring-jax.py /run/ring0
"""
import sys

import jax
import jax.dlpack
import jax.numpy
import shufflefs

with shufflefs.Ring(sys.argv[1], timeout=60) as ring:
    while (batch := ring.next()) is not None:
        with batch:
            images = jax.numpy.array(jax.dlpack.from_dlpack(batch["jpg"]), copy=True)
            images.block_until_ready()
        print(batch, images.shape, float(images.mean()), flush=True)
