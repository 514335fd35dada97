"""Names that old scripts use and that NumPy, networkx, h5py and Python have dropped since.

They are put back only where they are missing, those of networkx as soon as the old import paths
are installed, the others by the runner alone. Each is listed in ``docs/migration.md``.
"""

from __future__ import annotations

import collections
import collections.abc
import pickle
import sys
import time
import warnings
from typing import Any

from .after_import import after_import

NUMPY: dict[str, str] = {
    "int": "builtins:int",
    "float": "builtins:float",
    "complex": "builtins:complex",
    "object": "builtins:object",
    "str": "builtins:str",
    "float_": "numpy:float64",
    "complex_": "numpy:complex128",
    "unicode_": "numpy:str_",
    "string_": "numpy:bytes_",
    "infty": "numpy:inf",
    "Inf": "numpy:inf",
    "NaN": "numpy:nan",
    "product": "numpy:prod",
    "cumproduct": "numpy:cumprod",
    "alltrue": "numpy:all",
    "sometrue": "numpy:any",
    "row_stack": "numpy:vstack",
    "in1d": "numpy:isin",
    "trapz": "numpy:trapezoid",
}
"""Names of NumPy -> what they are now."""


def install() -> None:
    """Put the missing names back."""
    _numpy()
    install_networkx()
    after_import("h5py", _h5py)
    if not hasattr(time, "clock"):
        time.clock = time.perf_counter  # type: ignore[attr-defined]
    for name in collections.abc.__all__:
        if not hasattr(collections, name):
            setattr(collections, name, getattr(collections.abc, name))
    sys.modules.setdefault("cPickle", pickle)


def _numpy() -> None:
    import builtins

    import numpy as np

    owners: dict[str, Any] = {"builtins": builtins, "numpy": np}
    have = vars(np)
    for name, place in NUMPY.items():
        module, _, now = place.partition(":")
        if name not in have and hasattr(owners[module], now):
            setattr(np, name, getattr(owners[module], now))
    if "asscalar" not in have:
        np.asscalar = lambda array: array.item()  # type: ignore[attr-defined]
    if "typeDict" not in have:
        np.typeDict = np.sctypeDict  # type: ignore[attr-defined]


def install_networkx() -> None:
    """Put the missing names of networkx back."""
    after_import("networkx", _networkx)


def _networkx(nx: Any) -> None:
    if not hasattr(nx.Graph, "node"):
        nx.Graph.node = property(lambda graph: graph.nodes)
    if not hasattr(nx, "write_gpickle"):
        nx.write_gpickle = _write_gpickle
    if not hasattr(nx, "read_gpickle"):
        nx.read_gpickle = _read_gpickle


def _write_gpickle(graph: Any, path: Any, protocol: int = pickle.HIGHEST_PROTOCOL) -> None:
    """Write a graph as a pickle, as networkx did before version 3."""
    warnings.warn("write_gpickle is gone from networkx 3; write GEXF instead", stacklevel=2)
    if hasattr(path, "write"):
        pickle.dump(graph, path, protocol)
        return
    with open(path, "wb") as file:
        pickle.dump(graph, file, protocol)


def _read_gpickle(path: Any) -> Any:
    """Read a graph from a pickle, as networkx did before version 3."""
    message = "read_gpickle is gone from networkx 3; a pickle can run any code: trust its source"
    warnings.warn(message, stacklevel=2)
    if hasattr(path, "read"):
        return pickle.load(path)
    with open(path, "rb") as file:
        return pickle.load(file)


def _h5py(h5py: Any) -> None:
    if not hasattr(h5py.Dataset, "value"):
        h5py.Dataset.value = property(lambda dataset: dataset[()])
