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
    address: int  # 0: it lies in a GPU's memory
    offset: int
    is_released: bool
    def release(self) -> None: ...

class Handle:
    def __new__(cls, path: object, timeout: Optional[float]) -> "Handle": ...
    def next(self, timeout: Optional[float], /) -> Optional[Lease]: ...
    def layout(self) -> Tuple[Tuple[str, str, Tuple[int, ...], int, int], ...]: ...
    def memory(self) -> Tuple[str, str, bytes, int, int]: ...
    def close(self) -> None: ...

def dlpack(address: int, device_type: int, device_id: int, type_code: int, type_bits: int,
           shape: Tuple[int, ...], owner: object, /) -> object: ...
