#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Train on batches from a ring, which shufflefs-sidecar fills with --fields 'jpg:rgb,224;cls:i4'.

  train-ring.py RING          e.g. /run/user/0/ring0

Prints where a next job goes on.  Needs torch.
"""
import sys

import shufflefs
import torch

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 3, stride=2), torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(3), torch.nn.Flatten(), torch.nn.Linear(144, 1000)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

with shufflefs.Ring(sys.argv[1], timeout=60) as ring:
    for batch in ring:
        images = batch.torch("jpg").to(device).permute(0, 3, 1, 2) / 127.5 - 1  # NHWC to NCHW
        classes = batch.torch("cls").to(device).long()
        loss = torch.nn.functional.cross_entropy(model(images), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if batch.seq % 100 == 0:
            print("batch %d: loss %.3f" % (batch.seq, loss.item()), flush=True)
    print("resume at", ring.state_dict())
