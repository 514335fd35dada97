"""Values that are given as arrays of other libraries, on the host or on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import NeurodriverError
from ..native.shared import CPU, CUDA

if TYPE_CHECKING:
    from .live_places import Live

HOST = CPU, 3
"""Types of devices whose memory the host reads; 3 is page-locked memory."""


def on_host(values: Any, simulation: Live, said: str) -> Any:
    """Return the values of an array on a device as an array of NumPy; others as they are.

    Values on the GPU that computes an LPU are copied to the host, where they are checked.

    Parameters
    ----------
    simulation : Live
        What the values are for.
    said : str
        What messages call it.

    Raises
    ------
    NeurodriverError
        For values on another device, and those that are not contiguous.
    """
    asked = getattr(values, "__dlpack_device__", None)
    if asked is None or isinstance(values, np.ndarray | np.generic):
        return values
    kind, number = (int(one) for one in asked())
    if kind in HOST:
        return values
    live = simulation.backend.live
    if kind != CUDA or live.place != (CUDA, number):
        theirs = _name(kind, number)
        fix = "copy them to the host, as values.cpu() of PyTorch does"
        raise NeurodriverError(
            f"{said}: the values are on {theirs}, and the LPU on {_name(*live.place)}; {fix}"
        )
    interface = getattr(values, "__cuda_array_interface__", None)
    if interface is None or interface.get("strides") is not None:
        fix = "give a contiguous array, or copy it to the host"
        raise NeurodriverError(f"{said}: values on a GPU must lie one after the other; {fix}")
    out = np.empty(interface["shape"], np.dtype(interface["typestr"]))
    live.copy_out(interface["data"][0], out)
    return out


def _name(kind: int, number: int) -> str:
    return {CPU: "the CPU", CUDA: f"GPU {number}"}.get(kind, f"device {number} of type {kind}")
