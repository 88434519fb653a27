#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Batches of a ring as torch tensors on the GPU that the ring is in: no copy.

  shufflefs-sidecar send STREAM 'local:/run/ring0?memory=cuda' --fields 'jpg:rgb,224;cls:i4' &
  ring-torch.py /run/ring0
"""
import sys

import shufflefs
import torch

for batch in shufflefs.Ring(sys.argv[1], timeout=60):
    images = batch.torch("jpg")  # torch.uint8 on cuda:N; released after this stream's work
    assert isinstance(images, torch.Tensor)
    mean = images.permute(0, 3, 1, 2).float().mean(dim=(0, 2, 3)) / 255
    print(batch, images.device, mean.tolist(), flush=True)
