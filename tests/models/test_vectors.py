"""Parameters and states that are vectors, against NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.errors import ModelError


class Bins(nd.NDComponent):
    """A ring of bins, addressed by the step; a filter of them."""

    params = {"beta": nd.Parameter("1", default=0.5, size=3), "gain": nd.Parameter("1", 1.0)}
    states = {"bins": nd.State("1", 1.0, size=4), "x": nd.State("1", 0.0)}
    updates = ["x"]
    update = """
        x = gain * beta[1] * bins[0];
        for (int i = 0; i < 4; ++i) bins[i] += beta[i % 3] * i;
        bins[step % 4] = x;
    """


class More(Bins):
    """A longer vector, one more, and elements at written places alone."""

    params = {"beta": nd.Parameter("1", size=2), "start": nd.Parameter("1", size=2)}
    states = {"y": nd.State("1", "start", size=2)}
    update = "y[0] += beta[1]; y[1] = beta[0] * y[1]; x = y[0] - y[1];"


def stepped(bins: np.ndarray, beta: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray]:
    x = beta[..., 1] * bins[..., 0]
    bins = bins + np.stack([beta[..., i % 3] * i for i in range(4)], -1)
    bins[..., step % 4] = x
    return x, bins


def test_numpy(tmp_path: Path) -> None:
    """On axes: values that are given, read, set and restored, in the shape of the population."""
    rng = np.random.default_rng(0)
    beta, bins = rng.normal(size=(2, 5, 3)), rng.normal(size=(2, 5, 4))
    cells = nd.Population(Bins, name="c", axes={"y": 2, "x": 5}, beta=beta, initbins=bins)
    with nd.LPU(nd.Circuit([cells]), 1e-3, threads=2) as lpu:
        for step in range(6):
            x, bins = stepped(bins, beta, step)
            lpu.advance(1)
            assert np.array_equal(lpu["c"].x, x) and np.array_equal(lpu["c"].bins, bins)
            if step == 2:
                lpu.save(tmp_path / "state.h5")
                kept = bins
            if step == 3:
                beta = beta * 2
                lpu["c"].beta = beta
                lpu["c"].set("bins", [1.0, 2.0, 3.0, 4.0])
                bins = np.broadcast_to(np.arange(1.0, 5), (2, 5, 4))
                assert np.array_equal(lpu["c"].get("beta"), beta)
        assert {"beta", "bins"} <= {*lpu["c"].names}
        assert np.array_equal(np.reshape(lpu.get("bins"), bins.shape), bins)
        with pytest.raises(nd.NeurodriverError, match=r"broadcasts to \(2, 5, 4\), got"):
            lpu["c"].set("bins", np.zeros(3))
    with nd.LPU.restore(tmp_path / "state.h5", models=[Bins]) as lpu:
        assert np.array_equal(lpu["c"].bins, kept)


def test_forms_of_values() -> None:
    """One number, one for each element, laws, and what the class says."""
    some = [nd.Population(Bins, 3, name=f"c{i}", **given) for i, given in enumerate((
        {}, {"beta": 2.0}, {"beta": [1, 2, 3]}, {"beta": nd.Uniform(0, 1)},
    ))]  # fmt: skip
    with nd.LPU(nd.Circuit(some, seed=1), 1e-3) as lpu:
        found = [np.array(lpu[f"c{i}"].beta) for i in range(4)]
        assert (found[0] == 0.5).all() and (found[1] == 2).all()
        assert (found[2] == [1, 2, 3]).all() and len(np.unique(found[3])) == 9
        assert (lpu["c0"].bins == 1).all()


def test_a_family_and_its_vectors() -> None:
    """A subclass has another size, and no element of the old one."""
    assert More.vectors == {"beta": 2, "bins": 4, "start": 2, "y": 2}
    assert "beta__2" not in More.params and "beta__2" in Bins.params
    cells = nd.Population(More, 2, name="c", beta=[3.0, 1.0], start=[[1.0, 2.0], [5.0, 6.0]])
    with nd.LPU(nd.Circuit([cells]), 1e-3) as lpu:
        lpu.advance(2)
        assert lpu["c"].y.tolist() == [[3, 18], [7, 54]] and lpu["c"].x.tolist() == [-15, -47]


@pytest.mark.parametrize(
    ("update", "more", "said"),
    [
        ("x = beta[3];", {}, "'beta' has the elements 0 to 2"),
        ("x = beta[0.5];", {}, "the index of an array is an integer"),
        ("beta[1] = 2;", {}, "'beta__1' is a parameter, which the text cannot change"),
        ("x = beta;", {}, "'beta' is an array; say which element: beta[0]"),
        ("x = 1;", {"states": {"z": nd.State("1", "beta", size=5)}}, "which has 3 elements"),
        ("x = 1;", {"states": {"z": nd.State("1", size=0)}}, "a whole number from 1 to 1024"),
    ],
)
def test_bad_vectors(update: str, more: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelError) as caught:
        model: Any = type("Bad", (Bins,), {"update": update, **more})
        nd.LPU(nd.Circuit([nd.Population(model, 2)]), 1e-3)
    assert said in str(caught.value)


def test_bad_values() -> None:
    """A shape that does not fit tells the vector."""
    for given in ({"beta": np.zeros((3, 2))}, {"initbins": [1.0, 2.0]}):
        with pytest.raises(nd.CircuitError, match=r"its last axis has \d elements, got shape"):
            nd.Population(Bins, 3, **given)
