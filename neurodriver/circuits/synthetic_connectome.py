"""Small synthetic tables with the columns of a published connectome (FlyWire, from Codex).

The wiring is drawn at random, from one layer of types to the next. It says nothing about flies; it
is there to try what is meant for the real tables.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import whole_number
from ..io.write import complete_or_none, folder_for_files

TYPES = (
    ("GRN_sugar", "sensory", "gustatory", "ACH", 0.05),
    ("IN1", "central", "", "ACH", 0.25),
    ("IN2", "central", "", "ACH", 0.25),
    ("LN", "central", "", "GABA", 0.35),
    ("MN9", "motor", "", "ACH", 0.10),
)
"""Type, super class, class, transmitter, and share of the neurons."""

PAIRS = {
    ("GRN_sugar", "IN1"): 0.35,
    ("GRN_sugar", "IN2"): 0.12,
    ("IN1", "IN2"): 0.06,
    ("IN1", "LN"): 0.06,
    ("IN1", "MN9"): 0.10,
    ("IN2", "MN9"): 0.10,
    ("LN", "IN2"): 0.05,
    ("LN", "LN"): 0.05,
}
"""Probability of a connection from a neuron of a type to one of another."""

FIRST_ID = 720575940600000000


def write_tables(folder: str | Path, neurons: int = 600, seed: int = 0) -> list[Path]:
    """Write connections, neurons, classification and cell types as compressed CSV.

    Parameters
    ----------
    folder : path
        It is made where it is not there.
    neurons : int
        At least 100.
    seed : int
        Of the wiring.

    Returns
    -------
    list of Path
    """
    whole_number(neurons, "write_tables: neurons", least=100, most=1_000_000)
    where = Path(folder)
    folder_for_files(where)
    rng = np.random.default_rng(seed)
    kinds = np.repeat(np.arange(len(TYPES)), _counts(neurons))
    ids = FIRST_ID + np.sort(rng.choice(10**8, neurons, replace=False))
    side = np.where(np.arange(neurons) % 2, "left", "right")
    types, classes, narrow, transmitters = (
        np.array([row[i] for row in TYPES])[kinds] for i in range(4)
    )
    region = np.where(types == "GRN_sugar", "GNG", "GNG.PRW")
    edges = _edges(kinds, rng)
    none = np.full(neurons, "")
    tables: dict[str, dict[str, Any]] = {
        "connections": {
            "pre_root_id": ids[edges["source"]],
            "post_root_id": ids[edges["target"]],
            "neuropil": edges["neuropil"],
            "syn_count": edges["count"],
            "nt_type": transmitters[edges["source"]],
        },
        "neurons": {"root_id": ids, "group": region, "nt_type": transmitters},
        "classification": {
            "root_id": ids,
            "super_class": classes,
            "class": narrow,
            "side": side,
        },
        "consolidated_cell_types": {
            "root_id": ids,
            "primary_type": types,
            "additional_type(s)": none,
        },
    }
    return [_write(where / f"{name}.csv.gz", columns) for name, columns in tables.items()]


def _counts(neurons: int) -> list[int]:
    counts = [int(neurons * share) for *_, share in TYPES]
    return [*counts[:-1], neurons - sum(counts[:-1])]


def _edges(kinds: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return the rows of the edges; some pairs have one for each of two regions."""
    names = [row[0] for row in TYPES]
    found = []
    for (first, second), probability in PAIRS.items():
        a, b = (np.flatnonzero(kinds == names.index(name)) for name in (first, second))
        there = rng.random((len(a), len(b))) < probability
        row, column = np.nonzero(there)
        found.append((a[row], b[column]))
    source, target = (np.concatenate(ends) for ends in zip(*found, strict=True))
    apart = source != target
    source, target = source[apart], target[apart]
    count = 5 + rng.poisson(14.0, len(source))
    twice = np.flatnonzero(rng.random(len(source)) < 0.3)
    neuropil = np.concatenate([np.full(len(source), "GNG"), np.full(len(twice), "PRW")])
    return {
        "source": np.concatenate([source, source[twice]]),
        "target": np.concatenate([target, target[twice]]),
        "count": np.concatenate([count, count[twice]]),
        "neuropil": neuropil,
    }


def _write(path: Path, columns: dict[str, Any]) -> Path:
    """Write columns as a compressed CSV, the same bytes each time."""
    rows = zip(*(map(str, column) for column in columns.values()), strict=True)
    lines = [",".join(columns), *map(",".join, rows)]
    text = ("\n".join(lines) + "\n").encode()
    with complete_or_none(path) as part, open(part, "wb") as file:
        with gzip.GzipFile(filename=str(path), fileobj=file, mode="wb", mtime=0) as packed:
            packed.write(text)
    return path
