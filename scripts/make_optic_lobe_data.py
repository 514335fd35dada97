"""Turn the wheels of flyvis and flycns into the text files of ``data/optic_lobe``.

The wheel of flyvis holds the connectome as JSON: the lattice of each cell type and, for each pair
of types, the mean number of synapses at each columnar offset. The wheel of flycns holds the
parameters of the trained networks and the filters as flyvis expands them. flyvis fills the gaps
inside the convex hull of a filter with one synapse, and the offsets that no two cells of strided
lattices span are left out. The script checks that the two wheels differ in this way alone, and
fails otherwise.

Usage::

    python scripts/make_optic_lobe_data.py [--wheels DIR] [--out DIR]

Without ``--wheels`` pip downloads the two packages by name. Neither of them is installed.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

MODEL = 0
"""The network of the ensemble whose parameters are written."""

REQUIREMENTS = ("flyvis==1.2.0", "flycns==0.7.0")

SHA256 = {
    "flyvis-1.2.0-py3-none-any.whl": (
        "af365b16e870111fcb06782a063f6551b05cce9a105c6eaab9c0bda3b017031f"
    ),
    "flycns-0.7.0-py3-none-any.whl": (
        "2a6057aab9653d6ff8ed1736825bbb1008235c6c297ddf56181a80290cc8745d"
    ),
}
FLYVIS, FLYCNS = SHA256

CONNECTOME = "flyvis/connectome/fib25-fib19_v2.2.json"
ENSEMBLE = "flycns/data/flyvis-1.2.0-ensemble/"

NOTICES = {
    "LICENSE.flyvis": ENSEMBLE + "LICENSE-flyvis.txt",
    "LICENSE.flycns": "flycns-0.7.0.dist-info/licenses/LICENSE",
}
"""Both come from the wheel of flycns: the wheel of flyvis names its licence, but has no notice."""

HULL_MINIMUM = 3
"""flyvis fills the hull of filters that report at least this many offsets."""

N_SYN_FILL = 1.0
"""Synapses that flyvis assumes in a gap of a filter."""

COUNT_TOLERANCE = 5e-7
"""Relative. flyvis keeps counts as float32 logarithms; exp of them is off by a few ulp."""

Offset = tuple[int, int]
Arrays = dict[str, np.ndarray]

README = """\
# The optic lobe of the fruit fly, as tables

Cell types, lattices, filters and trained parameters of the connectome-constrained model of the
fly's motion pathway (model {model:03d} of the pretrained ensemble). They are expanded to a circuit
of any size by `neurodriver.circuits.optic_lobe`. This is a tiled, type-level connectivity, not a
whole-brain connectome.

| file | rows | columns |
| --- | --- | --- |
| `types.csv` | {types} | cell type; kind of lattice and its strides a, b (a cell where u % a == 0 \
and v % b == 0); bias; time constant (s); 1 if light enters; 1 if read out |
| `pairs.csv` | {pairs} | source type, target type, sign, strength of one synapse |
| `filters.csv` | {filters} | row of `pairs.csv` (from 0); offset du, dv of the target from the \
source (columns); mean number of synapses |

The weight of an edge is sign x n_syn x strength. Numbers are float32 values written as float64,
so that reading them in either precision is exact.

## Origin

| package | file | sha256 of the wheel |
| --- | --- | --- |
| flyvis 1.2.0 | `{flyvis}`: `{connectome}` | `{flyvis_sha256}` |
| flycns 0.7.0 | `{flycns}`: `{ensemble}` | `{flycns_sha256}` |

Both are published under the MIT licence; the notices are in `LICENSE.flyvis` and `LICENSE.flycns`.
Names and lattices are flyvis's. Parameters and filters are flycns's copy of flyvis's:

* {filled} of the {filters} offsets are not in flyvis's JSON. They fill the gaps inside the convex
  hull of a filter with one synapse, as flyvis does.
* {unreachable} offsets of the JSON are left out, because the lattices of their two types have no
  two cells that far apart. With them goes the pair {dropped}.

Made by `python scripts/make_optic_lobe_data.py`, which fails where the above does not hold.

Please cite: Lappalainen, J. K. et al. Connectome-constrained networks predict neural activity
across the fly visual system. Nature 634, 1132-1140 (2024).
https://doi.org/10.1038/s41586-024-07939-3
"""


def download(folder: Path) -> None:
    """Download the wheels by name with pip, without what they depend on."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*command, "--dest", str(folder), *REQUIREMENTS], check=True)


def open_wheel(folder: Path, name: str) -> zipfile.ZipFile:
    """Open a wheel whose content is the one that this script was written for."""
    path = folder / name
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != SHA256[name]:
        raise ValueError(f"{name}: sha256 must be {SHA256[name]} (got {found})")
    return zipfile.ZipFile(path)


def read_ensemble(wheel: zipfile.ZipFile) -> tuple[list[str], Arrays]:
    """Read the names of the types and the arrays of flycns, each checked against its hash."""
    manifest = json.loads(wheel.read(ENSEMBLE + "manifest.json"))
    arrays: Arrays = {}
    for entry in manifest["arrays"]:
        content = wheel.read(ENSEMBLE + entry["file"])
        if hashlib.sha256(content).hexdigest() != entry["sha256"]:
            raise ValueError(f"{entry['file']}: content does not match the manifest's sha256")
        dtype = np.dtype(entry["dtype"]).newbyteorder("<")
        arrays[entry["name"]] = np.frombuffer(content, dtype).reshape(entry["shape"])
    return manifest["strings"]["type"], arrays


def strides(pattern: Sequence[Any]) -> Offset:
    """Return the strides (a, b) of a lattice that has cells in many columns."""
    kind, value = pattern
    if kind == "stride":
        return value[0], value[1]
    if kind == "tile":
        return value, value
    raise ValueError(f"lattice must be 'stride' or 'tile' (got {kind!r})")


def cross(o: Offset, a: Offset, b: Offset) -> int:
    """Return twice the signed area of the triangle o, a, b."""
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])


def convex_hull(points: Iterable[Offset]) -> list[Offset]:
    """Return the corners of the convex hull, counter-clockwise (monotone chain, exact)."""
    ordered = sorted(set(points))
    chains: list[list[Offset]] = []
    for sequence in (ordered, ordered[::-1]):
        chain: list[Offset] = []
        for point in sequence:
            while len(chain) > 1 and cross(chain[-2], chain[-1], point) <= 0:
                chain.pop()
            chain.append(point)
        chains.append(chain[:-1])
    return chains[0] + chains[1] or ordered


def hull_points(offsets: Iterable[Offset]) -> tuple[set[Offset], set[Offset]]:
    """Return the lattice points inside the hull of offsets: with its border, and without it."""
    corners = convex_hull(offsets)
    us, vs = zip(*corners, strict=True)
    closed, interior = set(), set()
    for u in range(min(us), max(us) + 1):
        for v in range(min(vs), max(vs) + 1):
            sides = [cross(corners[i - 1], corners[i], (u, v)) for i in range(len(corners))]
            if min(sides) >= 0:
                closed.add((u, v))
            if min(sides) > 0:
                interior.add((u, v))
    return closed, interior


def check_filter(
    name: str, reported: dict[Offset, float], used: dict[Offset, float], step: Offset
) -> tuple[int, int]:
    """Check the filter that flycns gives against the one that flyvis reports.

    Parameters
    ----------
    name
        The pair, for messages.
    reported, used
        Mean numbers of synapses by offset, of flyvis and of flycns.
    step
        Greatest common divisors of the strides of the two lattices: no other offsets occur.

    Returns
    -------
    tuple of int
        Offsets that flycns adds, and that it leaves out.
    """

    def reachable(offset: Offset) -> bool:
        return offset[0] % step[0] == 0 and offset[1] % step[1] == 0

    expected = {offset for offset in reported if reachable(offset)}
    for offset in expected:
        got, n_syn = used.get(offset, math.nan), reported[offset]
        if not abs(got - n_syn) <= COUNT_TOLERANCE * n_syn:
            raise ValueError(f"{name} at {offset}: n_syn must be {n_syn} (got {got})")
    filled = used.keys() - expected
    closed, interior = hull_points(reported) if len(reported) >= HULL_MINIMUM else (set(), set())
    missing = {offset for offset in interior if reachable(offset)} - used.keys()
    wrong = {o for o in filled if o not in closed or not reachable(o) or used[o] != N_SYN_FILL}
    if missing or wrong:
        raise ValueError(f"{name}: gaps not filled {sorted(missing)}, wrong {sorted(wrong)}")
    return len(filled), len(reported) - len(expected)


def cross_check(connectome: dict[str, Any], types: list[str], arrays: Arrays) -> dict[str, Any]:
    """Check names, pairs, signs and filters of flycns against flyvis; count the differences."""
    if [node["name"] for node in connectome["nodes"]] != types:
        raise ValueError("cell types of flyvis and flycns differ")
    lattice = {node["name"]: strides(node["pattern"]) for node in connectome["nodes"]}
    pairs = list(zip(arrays["pair_source"].tolist(), arrays["pair_target"].tolist(), strict=True))
    index = {(types[s], types[t]): row for row, (s, t) in enumerate(pairs)}
    used: list[dict[Offset, float]] = [{} for _ in pairs]
    keys = (arrays[key].tolist() for key in ("group_pair", "group_du", "group_dv", "group_n_syn"))
    for pair, du, dv, n_syn in zip(*keys, strict=True):
        if (du, dv) in used[pair]:
            raise ValueError(f"pair {pair} of flycns has the offset {(du, dv)} twice")
        used[pair][du, dv] = n_syn

    differences: dict[str, Any] = {"filled": 0, "unreachable": 0, "dropped": []}
    for edge in connectome["edges"]:
        source, target = edge["src"], edge["tar"]
        name = f"{source} -> {target}"
        reported = {(du, dv): float(n_syn) for (du, dv), n_syn in edge["offsets"]}
        (a, b), (c, d) = lattice[source], lattice[target]
        row = index.pop((source, target), None)
        found = {} if row is None else used[row]
        filled, unreachable = check_filter(name, reported, found, (math.gcd(a, c), math.gcd(b, d)))
        differences["filled"] += filled
        differences["unreachable"] += unreachable
        if row is None:
            differences["dropped"].append(name)
        elif edge["alpha"] != arrays["pair_sign"][row]:
            raise ValueError(f"{name}: sign must be {edge['alpha']}")
    if index:
        raise ValueError(f"pairs of flycns that flyvis does not have: {sorted(index)}")
    return differences


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
    """Write a table; floats as the shortest text that reads back as the same float64."""
    content = list(rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(content)
    return len(content)


def write_tables(
    folder: Path, connectome: dict[str, Any], types: list[str], arrays: Arrays
) -> dict[str, int]:
    """Write the three tables and return how many rows each has."""
    bias, tau = arrays["bias"][MODEL].tolist(), arrays["time_const_s"][MODEL].tolist()
    lattice = [strides(node["pattern"]) for node in connectome["nodes"]]
    kinds = [node["pattern"][0] for node in connectome["nodes"]]
    inputs = [int(name in connectome["input_units"]) for name in types]
    outputs = [int(name in connectome["output_units"]) for name in types]
    cells = zip(types, kinds, *zip(*lattice, strict=True), bias, tau, inputs, outputs, strict=True)
    header = ["type", "lattice", "a", "b", "bias", "time_constant_s", "input", "output"]
    counts = {"types": write_csv(folder / "types.csv", header, cells)}

    sources = [types[index] for index in arrays["pair_source"]]
    targets = [types[index] for index in arrays["pair_target"]]
    signs, strengths = arrays["pair_sign"].tolist(), arrays["strength"][MODEL].tolist()
    pairs = zip(sources, targets, signs, strengths, strict=True)
    header = ["source", "target", "sign", "strength"]
    counts["pairs"] = write_csv(folder / "pairs.csv", header, pairs)

    keys = ("group_pair", "group_du", "group_dv", "group_n_syn")
    groups = sorted(zip(*(arrays[key].tolist() for key in keys), strict=True))
    counts["filters"] = write_csv(folder / "filters.csv", ["pair", "du", "dv", "n_syn"], groups)
    return counts


def convert(wheels: Path, folder: Path) -> None:
    """Check the wheels in one folder and write the data into another."""
    folder.mkdir(parents=True, exist_ok=True)
    with open_wheel(wheels, FLYVIS) as flyvis, open_wheel(wheels, FLYCNS) as flycns:
        connectome = json.loads(flyvis.read(CONNECTOME))
        types, arrays = read_ensemble(flycns)
        differences = cross_check(connectome, types, arrays)
        counts = write_tables(folder, connectome, types, arrays)
        for name, source in NOTICES.items():
            (folder / name).write_bytes(flycns.read(source))
    facts = {
        "model": MODEL,
        "flyvis": FLYVIS,
        "flycns": FLYCNS,
        "flyvis_sha256": SHA256[FLYVIS],
        "flycns_sha256": SHA256[FLYCNS],
        "connectome": CONNECTOME,
        "ensemble": ENSEMBLE,
        **counts,
        **differences,
        "dropped": ", ".join(differences["dropped"]),
    }
    (folder / "README.md").write_text(README.format(**facts), encoding="utf-8")
    print(f"{folder}: {counts}, differences from flyvis' JSON: {differences}")


def main() -> None:
    """Read the command line, get the wheels and convert them."""
    default = Path(__file__).resolve().parents[1] / "data" / "optic_lobe"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheels", type=Path, help="folder that holds the two wheels")
    parser.add_argument("--out", type=Path, default=default, help="folder to write into")
    arguments = parser.parse_args()
    if arguments.wheels is not None:
        convert(arguments.wheels, arguments.out)
        return
    with tempfile.TemporaryDirectory() as temporary:
        download(Path(temporary))
        convert(Path(temporary), arguments.out)


if __name__ == "__main__":
    main()
