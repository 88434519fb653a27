# SPDX-License-Identifier: MIT
"""shufflefs for trainers.  Batches: decoded by a child of the trainer.  Ring: batches that a sidecar
has decoded, without a copy.  Samples: samples as they are.  forward(): let a mount send a stream."""
from .batches import Batches, Tensors
from .device import Array, Memory
from .ring import Batch, Ring, RingError, Tensor
from .samples import Sample, Samples, SamplesError
from .session import Forward, ForwardError, Status, forward

__all__ = ["Array", "Batch", "Batches", "Forward", "ForwardError", "Memory", "Ring", "RingError", "Sample",
           "Samples", "SamplesError", "Status", "Tensor", "Tensors", "forward"]
