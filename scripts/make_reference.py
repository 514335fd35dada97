"""Simulate the optic lobe with SciPy, independently of neurodriver, and write JSON.

The circuit is built here from the tables of ``data/optic_lobe`` with dictionaries and loops, the
stimulus from its definition, and the dynamics by explicit Euler in float64 with a sparse matrix:
nothing of the package is imported. ``data/reference/optic_lobe_extent{E}.json`` holds for T4a-d,
T5a-d and both contrasts the peak response of the central cell to each direction, preferred
direction and direction selectivity.

What the figures show at extent 15: T4a-c answer ON edges and T5a-d OFF edges, each most in
the quadrant of its published direction. T4d prefers its direction for ON edges, but weakly, and its
peak for OFF edges is higher. T5a-c are lower in their peaks for OFF edges than T4a-c for ON edges.
Start of the edge, tail and a longer time of grey move the selectivities by less than 0.01.

Usage::

    python scripts/make_reference.py [--extents 3 15] [--out DIR]
"""

from __future__ import annotations

import argparse
import cmath
import csv
import json
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

ROOT = Path(__file__).resolve().parents[1]

DT = 5e-3
"""Step, s."""

SPEED = 19.0
"""Columns per second."""

DIRECTIONS = list(range(0, 360, 30))
"""Directions of motion, degrees: 0 along x, 90 along y, which points up."""

GREY, LUMINANCE = 0.5, {"on": 1.0, "off": 0.0}
SETTLE, TAIL = 2.0, 0.5
"""Grey before the sweep, and light after the last column has switched, s."""

MARGIN = 1.0
"""Distance of the edge from the first column when the sweep starts, columns."""

SAME_PLACE = 1e-9
"""Columns. A column that the edge misses by less than this counts as reached: it is rounding."""

READ_OUT = ["T4a", "T4b", "T4c", "T4d", "T5a", "T5b", "T5c", "T5d"]

EXPECTED_COUNTS = {15: {"columns": 721, "cells": 45_669, "edges": 1_513_231}}
"""What flyvis documents."""

EXPECTED_TUNING = {"T4a": (0.40, 175), "T4b": (0.50, 350), "T4c": (0.61, 58), "T4d": (0.10, 275)}
"""Selectivity and preferred direction for ON edges at extent 15, from another SciPy program."""

DSI_TOLERANCE, ANGLE_TOLERANCE = 0.05, 10.0
"""The two programs place the edge on a grid of steps, each in its own way."""

PUBLISHED_DIRECTION = {"a": 180, "b": 0, "c": 90, "d": 270}
"""Preferred directions of T4 and T5 in the frame of flyvis (x = v sqrt(3)/2, y = -(u + v/2))."""

QUADRANT = 45.0
"""A cell prefers the published direction if it is nearer to it than to the other three."""

Column = tuple[int, int]


@dataclass(frozen=True)
class Circuit:
    """The cells in the order of their names' types, and how they are connected."""

    columns: int
    index: dict[tuple[str, int, int], int]
    matrix: sparse.csr_array
    excitatory: int
    bias: NDArray[np.float64]
    tau: NDArray[np.float64]
    inputs: dict[int, Column]


def rows_of(name: str) -> list[dict[str, str]]:
    """Read a table of the circuit."""
    with (ROOT / "data" / "optic_lobe" / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def hexagon(extent: int) -> list[Column]:
    """Return the columns of the eye."""
    side = range(-extent, extent + 1)
    return [(u, v) for u in side for v in side if abs(u + v) <= extent]


def build(extent: int) -> Circuit:
    """Build the circuit, one cell and one edge after the other."""
    columns = hexagon(extent)
    index: dict[tuple[str, int, int], int] = {}
    places: dict[str, list[Column]] = {}
    bias, tau, inputs = [], [], {}
    for row in rows_of("types.csv"):
        a, b = int(row["a"]), int(row["b"])
        if row["lattice"] != "stride":
            raise ValueError(f"{row['type']}: lattice must be 'stride' (got {row['lattice']!r})")
        places[row["type"]] = [(u, v) for u, v in columns if u % a == 0 and v % b == 0]
        for u, v in places[row["type"]]:
            if row["input"] == "1":
                inputs[len(index)] = (u, v)
            index[row["type"], u, v] = len(index)
            bias.append(float(row["bias"]))
            tau.append(max(float(row["time_constant_s"]), DT))

    sources, targets, weights, excitatory = [], [], [], 0
    pairs = rows_of("pairs.csv")
    for row in rows_of("filters.csv"):
        pair = pairs[int(row["pair"])]
        du, dv, sign = int(row["du"]), int(row["dv"]), int(pair["sign"])
        weight = sign * float(row["n_syn"]) * float(pair["strength"])
        for u, v in places[pair["source"]]:
            target = index.get((pair["target"], u + du, v + dv))
            if target is not None:
                sources.append(index[pair["source"], u, v])
                targets.append(target)
                weights.append(weight)
                excitatory += sign > 0
    shape = (len(index), len(index))
    matrix = sparse.coo_array((weights, (targets, sources)), shape=shape).tocsr()
    return Circuit(len(columns), index, matrix, excitatory, np.array(bias), np.array(tau), inputs)


def switching_steps(circuit: Circuit, direction: float) -> NDArray[np.int64]:
    """Return the step of the sweep in which each input cell's light changes, ``(inputs,)``."""
    motion = (math.cos(math.radians(direction)), math.sin(math.radians(direction)))
    places = [(v * math.sqrt(3) / 2, -(u + v / 2)) for u, v in circuit.inputs.values()]
    along = [x * motion[0] + y * motion[1] for x, y in places]
    start = min(along) - MARGIN
    return np.array([math.ceil((p - start - SAME_PLACE) / (SPEED * DT)) for p in along])


def advance(circuit: Circuit, potential: NDArray[np.float64], light: NDArray[np.float64]) -> None:
    """Advance the potential ``(cells, trials)`` by one step; light is ``(inputs, trials)``."""
    change = circuit.matrix @ np.maximum(potential, 0.0)
    change += circuit.bias[:, np.newaxis]
    change -= potential
    change[list(circuit.inputs)] += light
    change *= (DT / circuit.tau)[:, np.newaxis]
    potential += change


def simulate(circuit: Circuit) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.float64]]:
    """Run all directions and contrasts at once.

    Returns
    -------
    peaks : dict of (types, directions) float64
        By contrast, the largest ``max(V, 0)`` of the central cells from the start of the sweep to
        the end of the tail, rest included.
    rest : (types,) float64
        Potential of the central cells in grey light.
    """
    central = [circuit.index[name, 0, 0] for name in READ_OUT]
    potential = circuit.bias[:, np.newaxis].copy()
    grey = np.full((len(circuit.inputs), 1), GREY)
    for _ in range(round(SETTLE / DT)):
        advance(circuit, potential, grey)
    rest = potential[central, 0]

    trials = [(contrast, direction) for contrast in LUMINANCE for direction in DIRECTIONS]
    switch = np.stack([switching_steps(circuit, direction) for _, direction in trials], axis=1)
    behind = np.array([LUMINANCE[contrast] for contrast, _ in trials])
    steps = switch.max(axis=0) + 1 + round(TAIL / DT)
    potential = np.repeat(potential, len(trials), axis=1)
    peaks = np.maximum(potential[central], 0.0)
    for step in range(steps.max()):
        advance(circuit, potential, np.where(step >= switch, behind, GREY))
        running = step < steps
        peaks = np.where(running, np.maximum(peaks, potential[central]), peaks)
    half = len(DIRECTIONS)
    return {name: peaks[:, i * half : (i + 1) * half] for i, name in enumerate(LUMINANCE)}, rest


def describe(peaks: dict[str, NDArray[np.float64]], row: int) -> dict[str, Any]:
    """Describe the tuning of one cell, selectivity relative to the stronger contrast."""
    strongest = max(values[row].sum() for values in peaks.values())
    result = {}
    for contrast, values in peaks.items():
        response = values[row].tolist()
        vector = sum(
            r * cmath.exp(1j * math.radians(d)) for r, d in zip(response, DIRECTIONS, strict=True)
        )
        silent = max(response) <= 0
        result[contrast] = {
            "peaks": response,
            "maximum": max(response),
            "preferred_direction_deg": None if silent else math.degrees(cmath.phase(vector)) % 360,
            "dsi": 0.0 if silent else abs(vector) / strongest,
        }
    return result


def reference(extent: int) -> dict[str, Any]:
    """Build and simulate one extent, and collect what the file holds."""
    circuit = build(extent)
    peaks, rest = simulate(circuit)
    responses = {}
    for row, name in enumerate(READ_OUT):
        responses[name] = {"rest": float(rest[row]), **describe(peaks, row)}
    edges = circuit.matrix.nnz
    return {
        "command": f"python scripts/make_reference.py --extents {extent}",
        "model": "flyvis 1.2.0, flow/0000/000",
        "counts": {
            "columns": circuit.columns,
            "cells": len(circuit.index),
            "edges": edges,
            "excitatory": circuit.excitatory,
            "inhibitory": edges - circuit.excitatory,
        },
        "method": "explicit Euler, float64, V(0) = bias, tau = max(time constant, dt)",
        "response": "peak of max(V, 0) from the start of the sweep to the end of the tail",
        "dsi": "length of the vector sum of the peaks / sum of the peaks of the stronger contrast",
        "dt_s": DT,
        "stimulus": {
            "position": "x = v sqrt(3)/2, y = -(u + v/2), columns",
            "directions_deg": DIRECTIONS,
            "speed_columns_per_s": SPEED,
            "luminance_before": GREY,
            "luminance_behind": LUMINANCE,
            "settle_s": SETTLE,
            "margin_columns": MARGIN,
            "tail_s": TAIL,
        },
        "responses": responses,
    }


def angular_distance(a: float, b: float) -> float:
    """Return the angle between two directions, degrees."""
    return abs((a - b + 180) % 360 - 180)


def check(extent: int, result: dict[str, Any]) -> None:
    """Fail where the figures are not the expected ones."""
    for key, value in EXPECTED_COUNTS.get(extent, {}).items():
        if result["counts"][key] != value:
            raise ValueError(f"{key}: must be {value} (got {result['counts'][key]})")
    if extent not in EXPECTED_COUNTS:
        return
    responses = result["responses"]
    for name, (dsi, angle) in EXPECTED_TUNING.items():
        got = responses[name]["on"]["dsi"]
        at = responses[name]["on"]["preferred_direction_deg"]
        if abs(got - dsi) > DSI_TOLERANCE or angular_distance(at, angle) > ANGLE_TOLERANCE:
            raise ValueError(f"{name}: must be {dsi} at {angle} deg (got {got:.3f} at {at:.1f})")
    for name, response in responses.items():
        contrast = "on" if name.startswith("T4") else "off"
        at, angle = response[contrast]["preferred_direction_deg"], PUBLISHED_DIRECTION[name[-1]]
        if angular_distance(at, angle) > QUADRANT:
            raise ValueError(f"{name}: must prefer about {angle} deg for {contrast} (got {at:.1f})")
        if contrast == "off" and response["off"]["maximum"] <= response["on"]["maximum"]:
            raise ValueError(f"{name} must answer OFF edges more than ON edges")


def main() -> None:
    """Read the command line, simulate, check and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--extents", type=int, nargs="+", default=[3, 15])
    parser.add_argument("--out", type=Path, default=ROOT / "data" / "reference")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for extent in arguments.extents:
        begin = time.perf_counter()
        result = reference(extent)
        print(f"extent {extent}: {result['counts']}, {time.perf_counter() - begin:.1f} s")
        for name, response in result["responses"].items():
            for contrast in LUMINANCE:
                r = response[contrast]
                angle = r["preferred_direction_deg"]
                print(
                    f"  {name} {contrast:3}  dsi {r['dsi']:.3f} at "
                    f"{math.nan if angle is None else angle:5.1f} deg, "
                    f"peak {r['maximum']:.3f}, rest {response['rest']:.3f}"
                )
        check(extent, result)
        text = json.dumps(result, indent=1) + "\n"
        (arguments.out / f"optic_lobe_extent{extent}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
