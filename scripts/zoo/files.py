"""Circuits from files and tables: GEXF, HDF5 and tables of edges and nodes."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import neurodriver as nd

from .case import COUNT, DT, Case, How, Values, simulated
from .networks import ALL, NEURONS, current, spiking
from .weighted import RULES, WEIGHTS, network, projections


def written(path: Path, head: Sequence[str], *columns: Any) -> Path:
    """Write a table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(head)
        rows.writerows(zip(*(np.asarray(c).tolist() for c in columns), strict=True))
    return path


def of_tables(index: bool, how: How) -> Values:
    """Run a circuit from tables; ``index``: edges name rows of the nodes instead of ids."""
    rng, edges = np.random.default_rng(31), 12 * COUNT
    ids = 720575940628857210 + 17 * np.arange(COUNT)
    source, target = rng.integers(0, COUNT, (2, edges))
    weight, delay = rng.integers(-5, 12, edges), rng.integers(1, 15, edges) / 10
    start = rng.uniform(-52.0, -43.0, COUNT)
    ends = (source, target) if index else (ids[source], ids[target])
    with TemporaryDirectory() as folder:
        table = written(Path(folder, "edges.csv"), ("pre", "post", "count", "ms"),
                        *ends, weight, delay)  # fmt: skip
        nodes = written(Path(folder, "nodes.csv"), ("id", "start"), ids, start)
        circuit = nd.Circuit.from_tables(
            table, nodes, model="LeakyIAFShiu", source="pre", target="post", index=index,
            weight="count", weight_scale=3.0, delay="ms", delay_scale=1e-3, receptor="syn",
            params={"initV": "start", "tau": 2.0},
        )  # fmt: skip
    inputs = [nd.PoissonInput("spike_state", circuit.uids.tolist(), 900.0, seed=4)]
    return simulated(how, circuit, inputs)


def of_file(ending: str, how: How) -> Values:
    """Run a network that was written and read again."""
    with TemporaryDirectory() as folder:
        path = Path(folder, f"circuit.{ending}")
        spiking(20).save(path)
        circuit = nd.Circuit.from_file(path)
    return simulated(how, circuit, current(NEURONS, 1.2, 4.0), ALL)


def of_stored(drawn: bool, how: How) -> Values:
    """Run weighted connections from an HDF5 file; ``drawn``: by the rules that stand in it."""
    circuit = network("LeakyIAFDelta")
    if drawn:
        late = nd.Uniform(0.5 * DT, 20.5 * DT)
        circuit = projections(RULES["probability"], WEIGHTS["normal"], late)
    with TemporaryDirectory() as folder:
        path = Path(folder, "circuit.h5")
        circuit.save(path)
        read = nd.Circuit.from_file(path)
    return simulated(how, read, seed=7)


def cases() -> Iterator[Case]:
    """Yield the cases of this file."""
    yield Case("tables by ids", partial(of_tables, False))
    yield Case("tables by rows", partial(of_tables, True))
    for ending in ("gexf", "gexf.gz", "h5"):
        yield Case(f"file {ending}", partial(of_file, ending))
    yield Case("file of weights", partial(of_stored, False))
    yield Case("file of rules", partial(of_stored, True))
