from typing import Optional, Tuple

class RingError(RuntimeError):
    errno: int

class Lease:
    seq: int
    epoch: int
    first: int
    end: int
    n_samples: int
    sender: int
    address: int
    is_released: bool
    def release(self) -> None: ...

class Handle:
    def __new__(cls, path: object, timeout: Optional[float]) -> "Handle": ...
    def next(self, timeout: Optional[float], /) -> Optional[Lease]: ...
    def layout(self) -> Tuple[Tuple[str, str, Tuple[int, ...], int, int], ...]: ...
    def close(self) -> None: ...
