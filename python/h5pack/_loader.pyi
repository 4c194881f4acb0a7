"""Loader's types; its words are in _loader.py."""
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypedDict

from numpy.typing import ArrayLike

Path = str | bytes | os.PathLike[Any]
Size = int | tuple[int, int]

class ResizedCrop(TypedDict, total=False):
    size: Size
    scale: tuple[float, float]
    ratio: tuple[float, float]
    filter: Literal["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]

class Loader:
    def __init__(
        self,
        path: Path | Sequence[Path],
        batch_size: int,
        *,
        images: str = "images",
        with_: str | Sequence[str] | None = ("labels",),
        order: str = "shuffle",
        threads: int | None = None,
        memory: int | str = "1G",
        seed: int = 0,
        rank: int | Literal["auto"] | None = None,
        world: int | None = None,
        drop_last: bool = False,
        indices: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        box: Sequence[int] | None = None,
        step: int | None = None,
        crop: Size | None = None,
        centre_crop: Size | None = None,
        resized_crop: Size | ResizedCrop | None = None,
        resize: Size | None = None,
        flip: bool | float = False,
        normalize: bool | tuple[Sequence[float], Sequence[float]] | None = None,
        dtype: Any = None,
        layout: Literal["nchw", "nhwc", "channels_last"] | None = None,
        device: Any = None,
        pin: bool | None = None,
        out: Literal["torch", "numpy", "dlpack"] | None = None,
        strategy: Literal["auto", "pread", "mmap", "direct"] = "auto",
    ) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iteration: ...
    def set_epoch(self, epoch: int) -> None: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...
    def stats(self) -> dict[str, Any]: ...
    def advice(self) -> str: ...
    def log_to(self, writer: Any, step: int | None = None, prefix: str = "h5pack/") -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Loader: ...
    def __exit__(self, *why: object) -> None: ...

class Iteration(Iterator[tuple[Any, ...]]):
    def __len__(self) -> int: ...
    def __next__(self) -> tuple[Any, ...]: ...
