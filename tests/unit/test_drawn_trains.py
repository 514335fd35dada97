"""Event trains that a device draws are those of the host, in any chunk of steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from emulated_gpu import EmulatedCode, EmulatedDevice
from kernels_on_cpu import launcher

from neurodriver import BernoulliInput, PoissonInput
from neurodriver.backends.cuda import trains
from neurodriver.backends.cuda.trains import DrawnTrains
from neurodriver.backends.cuda.transfers import at
from neurodriver.inputs.trains import TrainInput

DT, COUNT = 1e-3, 70
RATES = np.random.default_rng(1).choice([0.0, 3.0, 80.0, 499.0], COUNT)
UIDS = [f"n{i}" for i in range(COUNT)]


class Doubled(PoissonInput):
    """An input of a user: its chunks are not those of the trains."""

    def chunk(self, number: int, first: int, steps: int) -> Any:
        """Return the events of the steps, twice as strong."""
        return super().chunk(number, first, steps)


def given(kind: str) -> Any:
    """Return an input that is ready."""
    one: Any = {
        "counts": lambda: PoissonInput("spike_state", UIDS, RATES, 0.1, 0.72, seed=3),
        "single": lambda: PoissonInput("spike_state", UIDS, RATES, seed=4, counts=False),
        "bernoulli": lambda: BernoulliInput("spike_state", UIDS, 0.37, seed=5),
    }[kind]()
    one.open(DT, np.dtype(np.float64))
    return one


@pytest.mark.parametrize("kind", ["counts", "single", "bernoulli"])
def test_events_of_the_host(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunk after chunk of odd lengths, before the input begins and after it has ended."""
    monkeypatch.setattr(trains, "launch", launcher("float64"))
    device: Any = EmulatedDevice()
    drawn, one, first = DrawnTrains(device, EmulatedCode(device, b"")), given(kind), 0
    several = 0
    for steps in (1, 7, 300, 256, 90, 120, 300):
        span = one.trains(0, first, steps)
        begin, column, value = drawn.draw(span)
        device.wait()
        ends = at(begin, (steps + 1,), np.int32)
        columns = at(column, (int(ends[-1]),), np.int32)
        assert ends[0] == ends.min() and value == 0
        found = np.zeros((steps, COUNT))
        for step in range(steps):
            mine = columns[ends[step] : ends[step + 1]]
            np.add.at(found[step], mine, 1)
        chunk = one.chunk(0, first, steps)
        expected = np.zeros((steps, COUNT))
        expected[chunk.steps_of(), chunk.column[chunk.span]] = chunk.value[chunk.span]
        np.testing.assert_array_equal(found, expected)
        several += int((found > 1).sum())
        first += steps
    assert (several > 50) == (kind == "counts")
    drawn.free()


def test_a_chunk_that_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """No place is read beyond its steps, although the input begins later."""
    limits, plain = [], launcher("float64")

    def launch(*arguments: Any) -> None:
        if arguments[5] is trains._LIMIT_TYPES:
            limits.append(arguments[4][1:4])
        plain(*arguments)

    monkeypatch.setattr(trains, "launch", launch)
    device: Any = EmulatedDevice()
    drawn = DrawnTrains(device, EmulatedCode(device, b""))
    for steps in (60, 200):  # it begins at step 100, and ends at step 720
        begin, *_ = drawn.draw(replace(given("counts").trains(0, 0, 5000), steps=steps))
        device.wait()
        ends = at(begin, (steps + 1,), np.int32)
        assert (ends[:101] == ends[0]).all() and (ends[-1] > ends[0]) == (steps > 100)
    assert limits == [(60, 60, 60), (200, 100, 200)]
    drawn.free()


def test_what_is_no_train() -> None:
    """Frequent events, chunks of a user's own; an input that is off has no events."""
    often = PoissonInput("spike_state", UIDS, 700.0)
    own = Doubled("spike_state", UIDS, 7.0)
    for one in (often, own):
        one.open(DT, np.dtype(np.float64))
        assert isinstance(one, TrainInput) and one.trains(0, 0, 10) is None
    quiet = given("single")
    quiet.on = False
    assert quiet.trains(0, 0, 10).active == (0, 0)
