"""The number of the step: in texts, read and set from Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learning_circuits import Pairs
from phased import DT, Cell, plain, random_phased

from neurodriver import (
    LPU,
    ArrayInput,
    Circuit,
    MemoryRecorder,
    NDComponent,
    OneToOne,
    Parameter,
    Population,
    Projection,
)
from neurodriver.errors import NeurodriverError, StateError


class Scheduled(NDComponent):
    """Does something else at some steps."""

    accesses = ("I",)
    updates = {"val": "1"}
    params = {"a": Parameter("1", default=-2.0)}
    terms = {"third": "step % 3"}
    update = "val = third * 10 + step + I; if (step == 4) val = a;"


def values(lpu: LPU, steps: int) -> list[float]:
    """Return the value after each step."""
    out = []
    for _ in range(steps):
        lpu.advance(1)
        out.append(float(lpu["s"].get("val")[0]))
    return out


@pytest.mark.parametrize("plans", [True, False])
def test_texts_know_the_step(dtype: str, plans: bool) -> None:
    """From 0, whatever the calls; a step can be given another number."""
    given = np.arange(8.0)[:, None] * 100
    source = ArrayInput({"I": (["s/0"], given)})
    recorder = MemoryRecorder([("val", None)])
    circuit = Circuit([Population(Scheduled, 3, name="s")])
    expected = [10 * (k % 3) + k + 100 * k if k != 4 else -2 for k in range(8)]
    with LPU(circuit, DT, source, recorder, dtype=dtype, plans=plans, threads=2) as lpu:
        assert values(lpu, 5) == expected[:5] and lpu.step == 5
        lpu["s"].set("a", 7.0)
        lpu.finish()
        lpu.reset(step=3)
        assert lpu.step == 3 and float(lpu["s"].get("val")[0]) == -2
        assert values(lpu, 3) == [expected[3], 7, expected[5]] and lpu.step == 6
        lpu.run(steps=2)
    assert recorder.output["val"]["data"][:, 0].tolist()[-1] == expected[6]


@pytest.mark.parametrize("to", [0, 1, 400])
def test_what_is_on_its_way_stays(to: int) -> None:
    """Spikes and past rows keep their delays when steps are numbered anew."""
    made = random_phased(np.random.default_rng([6, 1]))
    circuit, place = made.circuit(order=made.order()), made.places()
    expected = plain(made, 30)
    with LPU(circuit, DT, threads=2) as lpu:
        lpu.advance(11)
        lpu.reset(step=to)
        lpu.advance(18)
        assert lpu.step == to + 18
        for variable, rows in expected.items():
            some = [i for i in range(len(made.owner)) if not np.isnan(rows[0, i])]
            if not some:
                continue
            got = lpu[circuit.uids[[place[i] for i in some]].tolist()].get(variable)
            assert np.array_equal(got, rows[29, some])


def test_a_step_that_is_none() -> None:
    """The error says what is allowed, and nothing changes."""
    with LPU(Circuit([Population(Scheduled, 3, name="s")]), DT) as lpu:
        lpu.advance(2)
        wrong: list[Any] = [-1, 1.5, "0", 2**31, True]
        for step in wrong:
            with pytest.raises(NeurodriverError, match="step must be a whole number from 0 to"):
                lpu.reset(step=step)
        with pytest.raises(NeurodriverError, match="with step all values stay; leave out keep"):
            lpu.reset(["weights"], step=0)
        with pytest.raises(NeurodriverError, match=r"while run\(\) or advance\(\) does its steps"):
            lpu.run(steps=2, progress=lambda done: lpu.reset(step=0))
        lpu.reset(step=0)
        assert lpu.step == 0


def test_synapses_that_learn_remember_steps(tmp_path: Path) -> None:
    """So their steps cannot be numbered anew."""
    a, b = Population(Cell, 3, name="a", drive=1.0), Population(Cell, 2, name="b", drive=2.0)
    link = Projection(a[:2], b, OneToOne(), delay=DT, plasticity=Pairs(), receptor="exc", name="w")
    with LPU(Circuit([a, b], [link]), DT) as lpu:
        lpu.advance(5)
        with pytest.raises(StateError, match="cannot be numbered anew where synapses learn"):
            lpu.reset(step=0)
        lpu.reset()
        assert lpu.step == 0
