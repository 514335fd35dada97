"""Random numbers of models: drawn for a tile or called one by one, they are the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import assert_same_bits, simulate

from neurodriver import Circuit, NDComponent

COUNT, STEPS = 700, 23
RECORD = [(name, None) for name in ("x", "y", "n", "m")]


class Beforehand(NDComponent):
    """Draws for whole tiles."""

    updates = ("x", "y", "n", "m")
    params = {"mean": "1"}
    constants = {"twice": "2 * mean"}
    reference = "A test (no DOI)."
    update = """
        x = uniform();
        y = normal();
        n = poisson(mean);
        m = poisson(twice / (1 + 1)) + 1e3 * poisson(fmax(fmin(mean, 3), 0));
    """


class OneByOne(Beforehand):
    """Has two sub-steps, so that each number is a call, and keeps those of the first."""

    maximum_dt = 5e-5
    states = {"x": 0.0, "y": 0.0, "n": 0.0, "m": 0.0}
    update = """
        x = substep == 0 ? uniform() : x;
        y = substep == 0 ? normal() : y;
        n = substep == 0 ? poisson(mean) : n;
        m = substep == 0 ? poisson(twice / (1 + 1)) + 1e3 * poisson(fmax(fmin(mean, 3), 0)) : m;
    """


class Late(Beforehand):
    """Has means that the text itself computes."""

    update = """
        real later = mean;
        x = uniform();
        y = normal();
        n = poisson(later);
        m = poisson(0.5 * (later + mean)) + 1e3 * poisson(later < 0 ? 0 : later > 3 ? 3 : later);
    """


def means(kind: str) -> Any:
    """Return one mean, or means that differ within a tile, between tiles, or both."""
    if kind == "one":
        return 2.5
    mixed = np.array([0.0, -1.0, 1e-4, 0.3, 2.0, 9.0, 15.9, 16.0, 16.1, 40.0, 1e3])
    if kind == "mixed":
        return np.resize(mixed, COUNT)
    out = np.repeat([2.0, 30.0, 2.0, 0.5, 16.0, 5.0], 128)[:COUNT]
    out[128:200] = 1.0 + np.arange(72) / 8
    return out


@pytest.mark.parametrize("kind", ["one", "mixed", "tiles"])
@pytest.mark.parametrize("other", [OneByOne, Late])
def test_same_bits_wherever_they_are_drawn(kind: str, other: type[NDComponent], dtype: str) -> None:
    first, second = (
        simulate(Circuit.from_arrays([(m, COUNT, {"mean": means(kind)}, None)]), 1e-4, STEPS,
                 record=RECORD, dtype=dtype)
        for m in (Beforehand, other)
    )  # fmt: skip
    assert_same_bits(first, second)
    assert 0 < first["x"][1:].min() and first["y"][1:].std() > 0.9
    assert len(np.unique(first["y"][1:])) > 0.999 * COUNT * (STEPS - 1)  # no word serves twice
    assert first["n"][1:].any() and (first["m"] >= 1e3).any()


@pytest.mark.parametrize("count", [COUNT, 2 * COUNT, 40_000])
@pytest.mark.parametrize("chunk", [3, 50])
def test_same_bits_as_by_vectors(count: int, chunk: int, dtype: str) -> None:
    """Where threads keep words and thresholds for one component or two, and where for none."""
    mean = {"mean": np.resize(means("mixed"), count)}
    circuit = Circuit.from_arrays([(Beforehand, count, mean, None)])
    cpu, other = (
        simulate(circuit, 1e-4, STEPS, record=RECORD, dtype=dtype, **how)
        for how in ({"backend": "cpu"}, {"chunk": chunk})
    )
    assert_same_bits(cpu, other)


@pytest.mark.parametrize("chunk", [1, 3, 7])
def test_columns_survive_a_cut(chunk: int, dtype: str) -> None:
    """A run that is cut within a block, on any threads, gives the numbers of a whole one."""
    circuit = Circuit.from_arrays([(Beforehand, COUNT, {"mean": means("tiles")}, None)])
    whole, cut = (
        simulate(circuit, 1e-4, STEPS, record=RECORD, dtype=dtype, **how)
        for how in ({"threads": 1}, {"threads": 3, "chunk": chunk})
    )
    assert_same_bits(whole, cut)


def test_precisions_draw_alike() -> None:
    """The counts are equal, and a normal or uniform number is the other one rounded."""
    circuit = Circuit.from_arrays([(Beforehand, COUNT, {"mean": 2.5}, None)])
    wide, narrow = (
        simulate(circuit, 1e-4, STEPS, record=RECORD, dtype=d) for d in ("float64", "float32")
    )
    for name in ("n", "m", "y"):
        np.testing.assert_array_equal(wide[name], narrow[name])
    assert np.abs(wide["x"] - narrow["x"]).max() <= 2.0**-24
