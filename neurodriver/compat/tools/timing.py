"""A stretch of a program -> the seconds it took, printed."""

from __future__ import annotations

import time
from types import TracebackType


class Timer:
    """Print the time that a ``with`` block takes.

    Parameters
    ----------
    name : str, optional
        What is timed.

    Attributes
    ----------
    elapsed : float
        Seconds, after the block.

    Examples
    --------
    >>> with Timer("sum"):  # doctest: +ELLIPSIS
    ...     total = sum(range(9))
    Starting sum
    Elapsed time for sum: 0.0...s
    """

    def __init__(self, name: str | None = None) -> None:
        self.name = name
        self.elapsed = 0.0
        self._begin = 0.0

    def __enter__(self) -> Timer:
        print(f"Starting {'timer' if self.name is None else self.name}")
        self._begin = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.elapsed = time.perf_counter() - self._begin
        what = "" if self.name is None else f" for {self.name}"
        print(f"Elapsed time{what}: {self.elapsed:.2f}s")
