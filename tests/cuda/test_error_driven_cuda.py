"""Networks that learn from errors, on a GPU: the bits of the CPU, there and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from error_networks import UNITS, four_units, patterns, predictor, several_kinds, striatum

from neurodriver.error_driven import Table, Trainer

ENDS = ("Input", "Hidden"), ("Hidden", "Output"), ("Output", "Hidden"), ("Hidden", "Hidden")
STATES = "VmDend", "GababM", "LearnCaP", "bins", "PoolGi", "ActM"


def pairs(seed: int = 4) -> Table:
    """Return six pairs of patterns."""
    rng = np.random.default_rng(seed)
    return Table(Input=patterns(rng, 6), Output=patterns(rng, 6))


def left(sim: Trainer, trials: int = 6) -> dict[str, np.ndarray]:
    """Return what some trials leave: statistics, weights, and states."""
    log = sim.train(pairs(), epochs=1, trials=trials)
    rows = {f"log {name}": column for name, column in log["trial"].items()}
    weights = {f"{a} {b}": sim.path(a, b) for a, b in ENDS}
    states = {f"{n} {s}": sim.get(n, s) for n in ("Hidden", "Output") for s in STATES}
    return {**rows, **weights, **states}


def agree(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    """Fail unless all bits are the same."""
    assert one.keys() == other.keys()
    for name, values in one.items():
        assert values.tobytes() == other[name].tobytes(), name


@pytest.mark.parametrize("items", [None, 3])
def test_bits_of_the_cpu(items: int | None) -> None:
    """In single precision, in which the other tests are not; one item, and several.

    There is an interval before each trial. A layer names another one. Later, units are off.
    """
    found = []
    for backend in ("cpu", "cuda"):
        net = four_units(rates=True)
        net.interval = 15
        net.inhibit_as("Hidden", "Output")
        with Trainer(net, items, backend=backend, dtype="float32") as sim:
            before = sim.path("Input", "Hidden")
            for unit in range(3):
                if unit == 2:
                    sim.lesion("Hidden", UNITS[[0]].reshape(2, 2) > 0)
                    sim.lesion("Output", UNITS[3] > 0)
                units = np.roll(UNITS, unit, axis=0)[: items or 1]
                sim.trial({"Input": np.squeeze(units), "Output": np.squeeze(units)})
            found.append({s: sim.get("Hidden", s) for s in STATES})
            found[-1] |= {n: sim.path("Hidden", "Output", n) for n in ("Wt", "DSWt")}
            assert np.nanmax(np.abs(sim.path("Input", "Hidden") - before)) > 1e-6
    assert np.ptp(found[0]["ActM"]) > 0.1
    agree(*found)


def test_a_trained_network_changes_its_place(tmp_path: Path) -> None:
    """What was trained on one goes on with equal bits on the other, there and back.

    The network has sub-pools, and paths of all kinds.
    """
    place = tmp_path / "weights.h5"
    with Trainer(several_kinds(), backend="cuda", slow_interval=4) as sim:
        left(sim)
        sim.save(place)
    found = []
    for backend in ("cpu", "cuda"):
        with Trainer(several_kinds(), backend=backend, slow_interval=4) as sim:
            sim.load(place)
            found.append(left(sim))
            sim.save(tmp_path / f"{backend}.h5")
    assert found[0]["Hidden ActM"].max() > 0.1
    agree(*found)
    with Trainer(several_kinds(), backend="cpu") as sim, Trainer(several_kinds()) as other:
        sim.load(tmp_path / "cuda.h5")
        other.load(tmp_path / "cpu.h5")
        agree(left(sim), left(other))


def test_deep_layers() -> None:
    """Context, prediction, and a driver; two items."""
    found = []
    for backend in ("cpu", "cuda"):
        with Trainer(predictor(), 2, backend=backend) as sim:
            for units in ([0, 1], [2, 3]):
                sim.trial({"Input": UNITS[units], "Pulvinar": UNITS[units]})
            names = "Ctxt", "GMaintSyn", "BurstPrv", "VmDend"
            found.append({name: sim.get("CT", name) for name in names})
            found[-1] |= {name: sim.get("Pulvinar", name) for name in ("GeExt", "Act")}
            found[-1]["context"] = sim.path("Hidden", "CT", kind="context")
    assert found[0]["Ctxt"].max() > 0.01 and found[0]["GeExt"].max() > 0.1
    agree(*found)


def test_striatum() -> None:
    """Traces, dopamine and rewards, of two items with levels of their own."""
    found: list[dict[str, np.ndarray]] = []
    for backend in ("cpu", "cuda"):
        with Trainer(striatum(), 2, backend=backend) as sim:
            for reward in (0, 0, 1, 0):
                shown = {"Cue": np.eye(3)[:2], "Action": np.eye(2), "other": np.ones(2)}
                shown |= {"reward": np.array([reward, 1.0]), "dopamine": np.array([0.7, -0.6])}
                sim.trial(shown)
            found.append({name: sim.get("Go", name) for name in ("Ge", "CaD", "VmDend")})
            for name in ("Go", "NoGo"):
                found[-1] |= {f"{name} {n}": sim.path("Cue", name, n) for n in ("Tr", "DSWt", "Wt")}
    assert found[0]["Go Tr"].any() and found[0]["Go DSWt"].any() and found[0]["NoGo DSWt"].any()
    agree(*found)
