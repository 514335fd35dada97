"""Counts that GPUs pack for each other, by warps whose threads are fibers."""

from __future__ import annotations

import ctypes as ct
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

import numpy as np
from synapse_texts_on_cpu import WarpSynapses

from neurodriver.model.synapse_texts import SynapseTexts


def packed_counts(texts: SynapseTexts, patience: float = 60.0) -> Callable[..., None]:
    """Return what stands for `launch`: it runs texts of float64, and signals.

    A kernel that waits for other GPUs does so for ``patience`` seconds at most.
    """
    library = WarpSynapses(texts, np.dtype("float64"), 1).library

    def launched(
        _: Any, kernel: str, blocks: int, threads: int, values: Any, types: Any, *more: Any
    ) -> None:
        if kernel in ("nd_signal", "nd_wait_for"):
            (signal if kernel == "nd_signal" else wait)(threads, *values)
            return
        given = [kind(value) for kind, value in zip(types, values, strict=True)]
        if kernel == "nd_greatest":
            library.nd_greatest(*given)
            return
        _, begin, count, *_ = values
        rows = (ct.c_longlong * (count + 1)).from_address(begin)[count]
        assert threads % 32 == 0 and 0 <= blocks * threads // 32 - rows < threads // 32
        library.nd_run_sharing(*given)

    def signal(ranks: int, words: int, number: int) -> None:
        for word in (ct.c_uint64 * ranks).from_address(words):
            ct.c_uint64.from_address(word).value = number

    def wait(ranks: int, words: int, number: int, most: int, missing: int) -> None:
        signals, end = (ct.c_uint64 * ranks).from_address(words), monotonic() + patience
        assert most == 30 * 10**9
        while min(signals) < number and monotonic() < end:
            sleep(1e-4)
        for rank in range(ranks):
            if signals[rank] < number:
                (ct.c_int64 * ranks).from_address(missing)[rank] = number

    return launched
