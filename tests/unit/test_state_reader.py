"""Several states are read at once, again and again: the values of `LPU.get`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from emulated_gpu import emulated, random_circuit
from support import DT

import neurodriver as nd
from neurodriver.backends.cuda import state_reads
from neurodriver.model.component import NDComponent, State
from neurodriver.run.state_reader import StateReader

__all__ = ["emulated"]
NAMES = ("trail", "level", "own")


class Trailing(NDComponent):
    """A counter that grows with its number, and a vector of its last values."""

    accesses: ClassVar = ()
    updates: ClassVar = ("shown",)
    params: ClassVar = {"gain": nd.Parameter("1", default=1.0)}
    states: ClassVar = {
        "level": State("1", 0.5, doc="counter"),
        "trail": State("1", 0.0, size=3, doc="last values"),
    }
    update = """
        trail[2] = trail[1]; trail[1] = trail[0]; trail[0] = level;
        level += gain;
        shown = level;
    """


class OwnTrailing(Trailing):
    """The same with one more state."""

    states: ClassVar = {"own": State("1", 0.25, doc="another counter")}
    update = f"{Trailing.update} own += 2 * gain;"


def circuit() -> nd.Circuit:
    """Return two populations, of which one has a further state."""
    first = nd.Population(Trailing, 37, name="first", gain=np.linspace(1, 2, 37))
    second = nd.Population(OwnTrailing, 5, name="second", gain=np.linspace(3, 4, 5))
    return nd.Circuit([first, second])


def compared(lpu: nd.LPU, read: StateReader) -> dict[str, np.ndarray]:
    """Return what a reader reads, which has to be what `LPU.get` returns."""
    found = read()
    assert tuple(found) == read.names
    for name, values in found.items():
        expected = np.asarray(lpu.get(name))
        assert values.shape == expected.shape and values.dtype == expected.dtype, name
        assert np.array_equal(values, expected), name
    return found


def test_values_of_get(dtype: str) -> None:
    """After steps, after a value was set, and after the circuit was compiled anew."""
    with nd.LPU(circuit(), DT, dtype=dtype) as lpu:
        read = StateReader(lpu, (*NAMES, "shown", "gain"))
        seen = [compared(lpu, read)]
        for what, values in (("level", np.arange(5.0)), ("gain", 7.0)):
            lpu.run(4)
            seen.append(compared(lpu, read))
            lpu["second"].set(what, values)
            seen.append(compared(lpu, read))
        assert seen[0]["trail"].shape == (42, 3) and seen[0]["own"].shape == (5,)
        assert np.ptp(seen[3]["trail"], axis=1).max() == 8.0
        assert len({one["level"].tobytes() for one in seen}) == 4  # copies, which do not change


def test_values_from_a_gpu(emulated: None, monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    """Neighbouring arrays come in one copy."""
    some, inputs = random_circuit(20, 4)
    with nd.LPU(some, DT, inputs, backend="cuda", dtype=dtype) as lpu:
        read = StateReader(lpu, ("V", "I", "start"))
        first = compared(lpu, read)
        lpu.run(20)
        then = compared(lpu, read)
        lpu.set("V", then["V"][::-1])
        again = compared(lpu, read)
        assert np.array_equal(again["V"], then["V"][::-1]) and np.ptp(then["V"] - first["V"]) > 0
        backend = lpu.simulation.backend
        rows = (lpu.program.arrays[key] for key in backend.binding.pool.address if key != str(key))
        wanted = [row for row in rows if row.size > 4]
        assert len(wanted) > 5
        for near, copies in ((1 << 20, 1), (-1, len(wanted))):
            monkeypatch.setattr(state_reads, "NEAR", near)
            reads = backend.live.reads([(row.key, slice(1, 4)) for row in wanted])
            assert len(reads._runs) == copies
            reads.begin()
            for row, values in zip(wanted, reads.finish(), strict=True):
                assert np.array_equal(values, backend.array(row.key)[1:4])


def test_copies_of_a_batch() -> None:
    """There is an axis of copies before the others."""
    with nd.LPU(circuit(), DT, batch=3) as lpu:
        read = StateReader(lpu, NAMES)
        lpu["first"].set("level", np.array([[1.0], [2.0], [3.0]]))
        lpu.run(2)
        found = read()
        for name in NAMES:
            assert np.array_equal(found[name], lpu.get(name)), name
        assert np.allclose(np.ptp(found["level"], axis=0)[:37], 2.0)


def test_a_name_that_nothing_has() -> None:
    """The message is that of `LPU.get`."""
    with nd.LPU(circuit(), DT) as lpu:
        with pytest.raises(nd.NeurodriverError) as expected:
            lpu.get("levle")
        with pytest.raises(nd.NeurodriverError) as found:
            StateReader(lpu, ["levle"])()
        assert str(found.value) == str(expected.value)
