# SPDX-License-Identifier: MIT
"""shufflefs for trainers, without a copy.  Ring: batches that shufflefs-sidecar has decoded.
Samples: samples as they are."""
from .device import Array, Memory
from .ring import Batch, Ring, RingError, Tensor
from .samples import Sample, Samples, SamplesError

__all__ = ["Array", "Batch", "Memory", "Ring", "RingError", "Sample", "Samples", "SamplesError", "Tensor"]
