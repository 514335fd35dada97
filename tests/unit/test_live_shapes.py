"""Values of a live population have its shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import neurodriver as nd
from neurodriver.errors import InputError, NeurodriverError

CELL = {"bias": 0.0, "time_constant": 50.0}


def test_values_have_the_shape_of_the_population() -> None:
    grid = nd.Population("GradedNeuron", name="grid", axes={"t": 2, "y": 3, "x": 4}, **CELL)
    mask = np.eye(3) > 0
    part = nd.Population("GradedNeuron", name="part", axes={"y": 3, "x": 3}, mask=mask, **CELL)
    plain = nd.Population("GradedNeuron", 5, name="plain", **CELL)
    values = np.arange(24.0).reshape(2, 3, 4)
    with nd.LPU(nd.Circuit([grid, part, plain]), dt=1e-3) as lpu:
        lpu["grid"].set("V", values)
        assert (lpu["grid"].get("V") == values).all()
        assert (lpu[grid[:, 1]].get("V") == values[:, 1]).all()
        lpu["grid"].set("V", values.ravel() + 1)
        assert (lpu["grid"].V == values + 1).all()
        lpu[grid[0]].set("V", -values[0])
        assert (lpu[grid].get("V")[0] == -values[0]).all()
        assert lpu["part"].get("V").shape == (3,)
        assert lpu["plain"].get("V").shape == (5,)
        assert lpu["grid"].get("bias").shape == (2, 3, 4)
        said = (
            r"'V': a number or 24 of them, in the shape \(2, 3, 4\) or \(24,\), got .* \(4, 3, 2\)"
        )
        with pytest.raises(NeurodriverError, match=f"grid, {said}"):
            lpu["grid"].set("V", values.T)
        for ragged in ([[1.0], [1.0, 2.0]], "fast"):
            with pytest.raises(NeurodriverError, match=r"grid, 'V': a number or 24 of them.*got ."):
                lpu["grid"].set("V", ragged)


def test_shared_memory_has_the_shape_of_the_population() -> None:
    """Also where other libraries take it, whether it can be written to or not."""
    grid = nd.Population("GradedNeuron", name="grid", axes={"t": 2, "y": 3, "x": 4}, **CELL)
    with nd.LPU(nd.Circuit([grid]), dt=1e-3) as lpu:
        cells = lpu["grid"]
        cells.shared("V")[1, 2] = 7.0
        assert (cells.get("V")[1, 2] == 7.0).all() and cells.get("V").sum() == 28.0
        cells.set("V", np.arange(24.0).reshape(2, 3, 4))
        lpu.advance(1)
        for name in ("V", "r"):
            shared = cells.shared(name)
            assert shared.shape == (2, 3, 4)
            assert np.array_equal(np.from_dlpack(shared), cells.get(name))
            assert np.array_equal(np.from_dlpack(shared[1, ::2]), cells.get(name)[1, ::2])
        assert lpu[grid[1, 1:]].shared("V").shape == (2, 4)


def test_inputs_have_the_shape_of_the_population(tmp_path: Path) -> None:
    """Rows of an array, in memory and in a file, for a population and a part of one."""
    grid = nd.Population("GradedNeuron", name="grid", axes={"t": 2, "y": 3, "x": 4}, **CELL)
    frames = np.random.default_rng(0).normal(size=(5, 2, 3, 4))
    with h5py.File(tmp_path / "frames.h5", "w") as file:
        file["frames"] = frames
        found = []
        for who, data in (
            (grid, frames.reshape(5, 24)),
            (grid, frames),
            (grid, file["frames"]),
            (grid[:, :, ::2], frames[..., ::2]),
        ):
            with nd.LPU(nd.Circuit([grid]), 1e-3, nd.ArrayInput({"I": (who, data)})) as lpu:
                lpu.run(5, record=["V"])
                found.append(lpu.recording.V.shaped("grid"))
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])
    assert np.array_equal(found[0][..., ::2], found[3][..., ::2]) and np.ptp(found[0]) > 0
    for wrong in (frames[:, 1], frames.T, frames[0]):
        with pytest.raises(InputError, match=r"of shape \(steps, 2, 3, 4\) or \(steps, 24\)"):
            nd.ArrayInput({"I": (grid, wrong)})


class Drawing(nd.NDComponent):
    """Cells with all that can be set."""

    axes, updates, update = ("y", "x"), {"V": "mV"}, "V += 0 * (u + g + pair[0] + table[0]);"
    states = {"V": nd.State("mV", 0.0), "u": nd.State(), "pair": nd.State(size=2)}
    params = {"g": nd.Parameter("mV", 0.0)}
    fields = {"table": nd.Field(size=3, default=0.0)}


def test_distributions_are_set() -> None:
    """What is drawn follows from seed, step, name and cells."""
    grid = nd.Population(Drawing, name="grid", axes={"y": 6, "x": 50})
    law = nd.Uniform(2, 3)

    def found(seed: int = 1, steps: int = 0, **more: Any) -> dict[str, np.ndarray]:
        with nd.LPU(nd.Circuit([grid]), 1e-3, seed=seed, **more) as lpu:
            lpu.advance(steps)
            cells = lpu["grid"]
            for name in ("V", "u", "g", "pair"):
                cells.set(name, law)
            cells.set("u", nd.Normal(0, 1), at={"y": 2})
            return {name: np.array(cells.get(name)) for name in ("V", "u", "g", "pair")}

    first = found()
    every = [first["V"], first["g"], *np.moveaxis(first["pair"], -1, 0)]
    assert all(one.shape == (6, 50) and 2 <= one.min() < one.max() <= 3 for one in every)
    assert len({one.tobytes() for one in every}) == 4
    assert first["u"][2].min() < 0 and (np.delete(first["u"], 2, axis=0) >= 2).all()
    again = found(threads=2)
    assert all(np.array_equal(first[name], again[name]) for name in first)
    for other in (found(seed=2), found(steps=1)):
        assert not any(np.isin(first[name], other[name]).any() for name in first)
    with nd.LPU(nd.Circuit([grid]), 1e-3) as lpu:
        for name, given, said in (
            ("V", nd.Normal(0, -1), "'V': Normal.* 'sd' must be finite and at least 0"),
            ("table", law, "'table': Uniform.*distributions draw parameters and states, not fie"),
        ):
            with pytest.raises(NeurodriverError, match=said):
                lpu["grid"].set(name, given)
    with pytest.raises(
        NeurodriverError, match=r"Drawing\.table: Uniform.*, not fields; give an ar"
    ):
        nd.Population(Drawing, name="grid", axes={"y": 6, "x": 50}, table=law)
