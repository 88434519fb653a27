# SPDX-License-Identifier: MIT
"""shufflefs for trainers.  Ring: batches that shufflefs-sidecar has decoded, without a copy."""
from .ring import Batch, Ring, RingError, Tensor

__all__ = ["Batch", "Ring", "RingError", "Tensor"]
