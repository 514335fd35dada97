"""Layers in circuits that are joined, and in parts of a circuit that is cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.circuit.cut import cut
from neurodriver.errors import CircuitError

AXES = {"y": nd.Axis.span(3, 0, 1), "x": nd.Axis.span(4, 0, 1)}


class Screen(nd.NDComponent):
    """Keeps what it is given."""

    axes, updates = ("y", "x"), {"val": "1"}


class Shifted(nd.NDComponent):
    """Reads a neighbour, graded cells, a field of each scope, and its own mean."""

    axes, updates = ("y", "x"), {"val": "1"}
    sources = {"image": nd.Source("val"), "graded": nd.Source("V")}
    fields = {"w": nd.Field(default=2.0)}
    shared = {"gain": nd.Field(default=1.0)}
    pools = {"mean": nd.Reduce("mean", "val")}
    update = """
        val = gain * w * image.val[here.y, here.x + 1] + here.mean + graded.V[here.y, here.x];
    """


def eye(strength: float, order: Any = None) -> nd.Circuit:
    """Return a screen, a layer that reads it, and cells that the layer drives."""
    screen = nd.Population(Screen, name="screen", axes=AXES)
    cells = nd.Population("GradedNeuron", name="cells", axes=AXES, bias=0.5, time_constant=4.0)
    bank = nd.Value(strength, name="bank")
    layer = nd.Population(Shifted, name="layer", axes=AXES, image=screen, graded=cells, w=bank)
    return nd.Circuit([screen, cells, layer], shared={"gain": 0.5}, order=order)


PICTURE = np.arange(12.0).reshape(3, 4)


def alone(circuit: nd.Circuit, picture: Any, later: float) -> Any:
    """Return what the layer has after some steps, with another value that was given a name."""
    with nd.LPU(circuit, dt=1e-3) as lpu:
        lpu["screen"].set("val", picture)
        lpu.set("bank", later)
        lpu.run(steps=5)
        return lpu["layer"].get("val"), lpu["layer"].get("mean"), lpu["cells"].get("V")


def test_layers_of_two_lpus_of_a_manager() -> None:
    """Populations of equal names stay apart; each LPU has the bits that it has alone."""
    ways = {"left": (eye(2.0, "listed"), PICTURE, 3.0), "right": (eye(-1.0), 2 * PICTURE, 1.5)}
    recorders = {name: nd.MemoryRecorder([("val", None)]) for name in ways}
    manager = nd.Manager()
    for name, (circuit, _, _) in ways.items():
        manager.add(nd.LPU, name, circuit, dt=1e-3, recorders=[recorders[name]])
    manager.spawn()
    lpus = {name: manager.lpus[name] for name in ways}
    for name, (_, picture, later) in ways.items():
        lpus[name]["screen"].set("val", 0 * picture)
        for y in range(3):
            lpus[name]["screen"].set("val", picture[y], at={"y": y})
        lpus[name].set("bank", later)
    manager.start(steps=5)
    manager.wait()
    for name, given in ways.items():
        expected = alone(*given)
        got = [lpus[name]["layer"].get(n) for n in ("val", "mean")] + [lpus[name]["cells"].get("V")]
        for one, wanted in zip(got, expected, strict=True):
            np.testing.assert_array_equal(np.ravel(one), np.ravel(wanted))
        assert lpus[name].get("gain") == 0.5 and np.ptp(got[0]) > 1
    assert recorders["left"].recording.val.shaped("layer").shape == (5, 3, 4)


def test_a_part_keeps_where_its_cells_are() -> None:
    """The part with the layer runs as the whole; a population that is divided has a mask."""
    whole = eye(2.0)
    more = nd.Population("GradedNeuron", name="more", axes=AXES, bias=0.1, time_constant=4.0)
    points = np.random.default_rng(0).random((6, 2))
    spread = nd.Population(
        "GradedNeuron", name="spread", positions=points, bias=0.1, time_constant=4.0
    )
    screen = nd.Population(Screen, name="screen", axes=AXES)
    cells = nd.Population("GradedNeuron", name="cells", axes=AXES, bias=0.5, time_constant=4.0)
    layer = nd.Population(Shifted, name="layer", axes=AXES, image=screen, graded=cells,
                          w=nd.Value(2.0, name="bank"))  # fmt: skip
    circuit = nd.Circuit([screen, cells, layer, more, spread], shared={"gain": 0.5})
    of = np.zeros(circuit.count, np.int64)
    half = circuit.populations["more"].numbers[::2], circuit.populations["spread"].numbers[:4]
    of[np.concatenate(half)] = 1
    parts = cut(circuit, of, ["here", "there"]).circuits
    for one, wanted in zip(
        alone(parts["here"], PICTURE, 3.0), alone(whole, PICTURE, 3.0), strict=True
    ):
        np.testing.assert_array_equal(one, wanted)
    there = parts["there"].spaces
    assert there["more"].count == 6 and set(there) == {"more", "spread"}
    np.testing.assert_array_equal(there["more"].positions, circuit.spaces["more"].positions[::2])
    np.testing.assert_array_equal(there["spread"].positions, points[:4])
    of[:] = 0
    of[circuit.populations["cells"].numbers] = 1
    with pytest.raises(CircuitError, match=r"'layer', in part 'here', reads cells of 'cells', in "):
        cut(circuit, of, ["here", "there"])
