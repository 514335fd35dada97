"""Circuits of 10 million edges: our HDF5 files against plain h5py; an edge table into a circuit."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from neurodriver import Circuit, Connections
from neurodriver.model.library import shipped

from .files import timed
from .measure import median

NODES, EDGES = 138_639, 10_000_000


def made() -> Circuit:
    """Return neurons with random edges in the order of their sources, and ids of 18 digits."""
    rng = np.random.default_rng(1)
    source = np.sort(rng.integers(NODES, size=EDGES, dtype=np.int32))
    target = rng.integers(NODES, size=EDGES, dtype=np.int32)
    weight = 0.275 * rng.integers(-20, 20, EDGES)
    links = Connections("spike_state", "syn", source, target, np.array(1.8e-3), {"weight": weight})
    uids = np.arange(720575940600000000, 720575940600000000 + NODES).astype("U18")
    return Circuit.from_arrays([(shipped()["LeakyIAFShiu"], NODES, {}, uids)], [links])


def run(rounds: int, peers: str | None) -> list[dict[str, Any]]:
    """Return the rows: written, read, and from a table."""
    circuit = made()
    (links,) = circuit.connections
    arrays = {"source": links.source, "target": links.target, "weight": links.data["weight"]}
    size = sum(column.nbytes for column in arrays.values()) / 1e6
    with tempfile.TemporaryDirectory() as folder:
        ours, plain, small = (Path(folder, name) for name in ("ours.h5", "plain.h5", "small.h5"))

        def write() -> None:
            with h5py.File(plain, "w") as file:
                for name, column in arrays.items():
                    file[name] = column

        def read() -> None:
            with h5py.File(plain) as file:
                for name in arrays:
                    file[name][()]

        pairs: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
            "written": (lambda: circuit.save(ours), write),
            "read and checked": (lambda: Circuit.from_file(ours), read),
            "written, compressed": (lambda: circuit.save(small, compress=True), write),
            "read and checked, compressed": (lambda: Circuit.from_file(small), read),
        }
        rows = []
        for what, (mine, theirs) in pairs.items():
            found = [(timed(mine), timed(theirs)) for _ in range(rounds)]
            seconds, peer = (median([pair[i] for pair in found]) for i in (0, 1))
            rows.append(_row(what, seconds, size, f"h5py alone {peer:.2f} s"))
            rows[-1]["ratio"] = median([a / b for a, b in found])
        rows += tables(folder, arrays, size, rounds)
    return rows


def tables(folder: str, arrays: dict[str, Any], size: float, rounds: int) -> list[dict[str, Any]]:
    """Return the row of a Parquet table, where pyarrow is there."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        return []
    path = Path(folder, "edges.parquet")
    wide = {k: v if k == "weight" else v.astype(np.int64) for k, v in arrays.items()}
    parquet.write_table(pyarrow.table(wide), path)
    model = shipped()["LeakyIAFShiu"]
    given = {"model": model, "source": "source", "target": "target", "weight": "weight"}
    found = [
        (
            timed(lambda: Circuit.from_tables(path, index=True, receptor="syn", **given)),
            timed(lambda: parquet.read_table(path)),
        )
        for _ in range(rounds)
    ]
    row = _row("from Parquet", median([a for a, _ in found]), size, "")
    row["peer"] = f"pyarrow alone {median([b for _, b in found]):.2f} s"
    row["ratio"] = median([a / b for a, b in found])
    return [row]


def _row(what: str, seconds: float, size: float, peer: str) -> dict[str, Any]:
    return {
        "case": f"{EDGES:,} edges {what}, {size / seconds:,.0f} MB/s",
        "us a step": float("nan"),
        "seconds": seconds,
        "peer": peer,
        "ratio": float("nan"),
        "target": "",
        "floor": "",
    }
