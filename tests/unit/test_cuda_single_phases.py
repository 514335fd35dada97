"""Single phases of a step on a GPU, here an emulated one: the values of the CPU after each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulated_gpu import Halving, Share, Twitch, emulated

import neurodriver as nd
from neurodriver.errors import NeurodriverError

fixtures = (emulated,)

DT = 1e-4


def circuit() -> nd.Circuit:
    """Return three phases: neurons, synapses that act within the step, neurons again."""
    rng = np.random.default_rng(4)
    first = nd.Population(Halving, 9, name="first", start=rng.integers(0, 8, 9) / 8)
    twitch = nd.Population(Twitch, 7, name="twitch")
    share = nd.Population(Share, 8, name="share")
    last = nd.Population(Halving, 6, name="last", start=rng.integers(0, 8, 6) / 8)
    links = [
        nd.Projection(first, twitch, nd.FixedInDegree(3)),
        nd.Projection(first, share, nd.FixedInDegree(2)),
        nd.Projection(twitch, last, nd.FixedInDegree(2)),
        nd.Projection(share, last, nd.FixedInDegree(2)),
        nd.Projection(last, share, nd.FixedInDegree(1)),
        nd.Projection(share, first, nd.FixedInDegree(1), delay=2e-4),
    ]
    order = [["first"], ["twitch", "share"], ["last"]]
    return nd.Circuit([first, twitch, share, last], links, order=order, seed=1)


def values(lpu: nd.LPU) -> list[Any]:
    names = {"first": "V", "twitch": "I", "share": "I", "last": "V"}
    return [np.asarray(lpu[who].get(what)).tolist() for who, what in names.items()]


def inputs() -> list[Any]:
    return [nd.StepInput("I", [f"first/{i}" for i in range(9)], 0.75, 1e-4, 9e-4)]


@pytest.mark.parametrize("executor", ["resident", "stepwise"])
def test_values_after_each_phase(emulated: None, executor: str) -> None:
    """Inputs, values that are set between phases, and steps that end as a whole."""
    recorders = [nd.MemoryRecorder([("V", None)]) for _ in range(2)]
    given = zip(({}, {"backend": "cuda", "executor": executor}), recorders, strict=True)
    lpus = [nd.LPU(circuit(), DT, inputs(), [recorder], **more) for more, recorder in given]
    seen = []
    for turn in range(8):
        for lpu in lpus:
            lpu.advance_phase()
            if turn == 3:
                lpu["first"].set("V", 0.5)
        host, device = map(values, lpus)
        assert host == device and lpus[0].step == lpus[1].step == (turn + 1) // 3
        seen.append(host)
    assert len({str(one) for one in seen}) == len(seen)
    with pytest.raises(NeurodriverError, match="2 of 3 phases of step 2 are done"):
        lpus[1].save("nowhere.h5")
    for lpu in lpus:
        lpu.advance(4)
        lpu.finish()
    assert values(lpus[0]) == values(lpus[1]) and lpus[1].step == 6
    rows = [np.asarray(one.recording["V"]) for one in recorders]
    assert len(rows[0]) == 6 and np.array_equal(*rows)


def test_a_run_that_has_begun_in_one_launch(emulated: None) -> None:
    """It is compiled anew, and goes on from its state."""
    lpus = [nd.LPU(circuit(), DT, inputs(), **more) for more in ({}, {"backend": "cuda"})]
    for lpu in lpus:
        lpu.advance(3)
        lpu.advance_phase()
    assert values(lpus[0]) == values(lpus[1])
