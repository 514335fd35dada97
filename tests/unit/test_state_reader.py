"""States are read and set again and again: the values of `LPU.get` and `LPU.set`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from emulated_gpu import emulated, random_circuit
from support import DT

import neurodriver as nd
from neurodriver.backends.cuda import state_reads
from neurodriver.model.component import NDComponent, State
from neurodriver.plan.arrays import Key
from neurodriver.run.state_reader import StateReader
from neurodriver.run.state_writer import StateWriter

__all__ = ["emulated"]
NAMES = ("trail", "level", "own", "lone")


class Trailing(NDComponent):
    """A counter that grows with its number, and a vector of its last values."""

    accesses: ClassVar = ()
    updates: ClassVar = ("shown",)
    params: ClassVar = {"gain": nd.Parameter("1", default=1.0)}
    states: ClassVar = {
        "level": State("1", 0.5, doc="counter"),
        "trail": State("1", 0.0, size=3, doc="last values"),
        "lone": State("1", 0.5, size=1, doc="a vector of one element"),
    }
    update = """
        trail[2] = trail[1]; trail[1] = trail[0]; trail[0] = level;
        level += gain;
        lone[0] += 1;
        shown = level;
    """


class OwnTrailing(Trailing):
    """The same with one more state."""

    states: ClassVar = {"own": State("1", 0.25, doc="another counter")}
    update = f"{Trailing.update} own += 2 * gain;"


def whole_numbers(lpu: nd.LPU) -> list[tuple[Key, slice]]:
    """Return three elements of each array of whole numbers of an LPU."""
    rows = (row for row in lpu.program.arrays.values() if row.dtype == np.int32 and row.size > 4)
    wanted = [(row.key, slice(1, 4)) for row in rows]
    assert len(wanted) > 5
    return wanted


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


def test_values_of_some_populations_are_read() -> None:
    """One population after the other, in the order that is asked for."""
    with nd.LPU(circuit(), DT, batch=2) as lpu:
        lpu.run(3)
        found = StateReader(lpu, {"level": ["second", "first"], "trail": ["first"], "own": ()})()
        first, second = (lpu[name].get("level") for name in ("first", "second"))
        assert np.array_equal(found["level"], np.concatenate([second, first], axis=1))
        assert np.array_equal(found["trail"], lpu["first"].get("trail"))
        assert np.array_equal(found["own"], lpu.get("own")) and np.ptp(found["level"]) > 1


def test_values_from_a_gpu(emulated: None, dtype: str) -> None:
    """They stay as they were, and their memory is used again when nobody has them any more."""
    some, inputs = random_circuit(20, 4)
    with nd.LPU(some, DT, inputs, backend="cuda", dtype=dtype) as lpu:
        read = StateReader(lpu, ("V", "I", "start"))
        first = compared(lpu, read)
        before = {name: values.copy() for name, values in first.items()}
        lpu.run(20)
        then = compared(lpu, read)
        lpu.set("V", then["V"][::-1])
        again = compared(lpu, read)
        assert np.array_equal(again["V"], then["V"][::-1]) and np.ptp(then["V"] - first["V"]) > 0
        for name, values in before.items():
            assert np.array_equal(first[name], values)
        wanted, backend = whole_numbers(lpu), lpu.simulation.backend
        reads = backend.live.reads([[one] for one in wanted[:3]] + [wanted[3:]])
        for _ in range(3):
            arrive = reads.begin()
            lpu.run(1)  # what has begun before the step comes with the values before it
        for _ in range(3):
            *alone, joined = reads.begin()()
            one = np.concatenate([*alone, joined], axis=1)[0]
            expected = np.concatenate([backend.array(key)[at] for key, at in wanted])
            assert np.array_equal(one, expected) and np.ptp(one) > 0
            del alone, joined
        assert len(reads._free) == 1 and len(arrive()) == 4
        del arrive
        assert len(reads._free) == 2
        kept = [reads.begin()()[-1] for _ in range(3 * state_reads.MOST_LENT)]
        assert len({one.tobytes() for one in kept}) == 1 and np.array_equal(kept[0][0], one[9:])
        assert reads._number == state_reads.MOST_LENT + 1  # the others are copies


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


def test_values_of_set(dtype: str) -> None:
    """A writer sets what `LPU.set` sets, after steps and after the circuit was compiled anew."""
    with nd.LPU(circuit(), DT, dtype=dtype) as one, nd.LPU(circuit(), DT, dtype=dtype) as other:
        write = StateWriter(one, "level")
        for seed in range(3):
            values = np.random.default_rng(seed).random(42)
            write(values)
            other.set("level", values)
            for lpu in (one, other):
                lpu.run(3)
                lpu["second"].set("gain", 7.0 + seed)
            for name in ("level", "trail", "shown"):
                assert np.array_equal(one.get(name), other.get(name)), name
            assert one.get("level").dtype == dtype and np.ptp(one.get("level")) > 1


@pytest.mark.parametrize("batch", [None, 2])
def test_values_of_some_populations(batch: int | None) -> None:
    """One after the other, in the order that is asked for; the others keep theirs."""
    with nd.LPU(circuit(), DT, batch=batch) as lpu:
        first, second = (np.array(lpu[name].get("level")) for name in ("first", "second"))
        values = np.arange(second.size * 1.0).reshape(second.shape)
        write = StateWriter(lpu, "level", ["second"])
        write(values)
        assert np.array_equal(lpu["second"].get("level"), values)
        assert np.array_equal(lpu["first"].get("level"), first)
        both = np.concatenate([values, first + 1], axis=-1)
        StateWriter(lpu, "level", ["second", "first"])(both)
        assert np.array_equal(lpu["first"].get("level"), first + 1)
        StateWriter(lpu, "level", ["second", "first"])(both.astype(int))  # as `LPU.set` does
        assert np.array_equal(lpu["second"].get("level"), values)
        with pytest.raises(nd.NeurodriverError, match="level"):
            write(np.full(second.shape, np.nan))


def test_values_set_on_a_gpu(emulated: None, dtype: str) -> None:
    """A variable goes to its row, too; a state alone to its array."""
    some, inputs = random_circuit(20, 4)
    with nd.LPU(some, DT, inputs, backend="cuda", dtype=dtype) as lpu:
        lpu.run(5)
        for name in ("V", "I"):
            values = np.linspace(-1, 1, len(lpu.get(name)))
            StateWriter(lpu, name)(values)
            assert np.array_equal(lpu.get(name), values.astype(dtype)), name
        backend, wanted = lpu.simulation.backend, whole_numbers(lpu)
        reads, writes = backend.live.reads([wanted]), backend.live.writes(wanted)
        for first in (1, 50):
            writes.write([np.full((1, 3), first + number) for number in range(len(wanted))])
            if first == 1:
                arrive = reads.begin()
        assert np.array_equal(arrive()[0][0], 1 + np.arange(len(wanted)).repeat(3))
        for number, (key, at) in enumerate(wanted):
            assert (backend.array(key)[at] == 50 + number).all()


def test_copies_share_a_reading(emulated: None, dtype: str) -> None:
    """There is a row for each copy; a single row is set in all of them."""
    some, inputs = random_circuit(20, 4)
    for where in ("cpu", "cuda"):
        with (
            nd.LPU(some, DT, inputs, backend=where, dtype=dtype) as one,
            nd.LPU(some, DT, inputs, backend=where, dtype=dtype) as other,
        ):
            backends = [lpu.simulation.backend for lpu in (one, other)]
            if where == "cuda":  # both are on one device, as the copies of a batch
                backends[0].device.blocks |= backends[1].device.blocks
            wanted, (first, second) = whole_numbers(one), (backend.live for backend in backends)
            writes, count = first.writes(wanted, [second]), len(wanted)
            reads = first.reads([wanted[:2], wanted[2:]], [second])
            given = np.arange(6 * count).reshape(2, count, 3)
            writes.write([*np.swapaxes(given, 0, 1)])
            few, others = reads.begin()()
            assert np.array_equal(few, given[:, :2].reshape(2, 6))
            assert np.array_equal(others, given[:, 2:].reshape(2, -1))
            for rows, backend in zip(given, backends, strict=True):
                for row, (key, at) in zip(rows, wanted, strict=True):
                    assert np.array_equal(backend.live.read(key, at), row)
            writes.write([*given[1]])
            assert np.array_equal(reads.begin()()[1], given[[1, 1], 2:].reshape(2, -1))
            assert np.array_equal(others, given[:, 2:].reshape(2, -1))  # it has not changed


def test_values_set_in_copies() -> None:
    """Each copy gets a row."""
    with nd.LPU(circuit(), DT, batch=3) as lpu:
        values = np.arange(3 * 42.0).reshape(3, 42)
        StateWriter(lpu, "level")(values)
        assert np.array_equal(lpu.get("level"), values)


class Counting(NDComponent):
    """Counts from a step that all have in common."""

    accesses: ClassVar = ()
    updates: ClassVar = ("count",)
    shared: ClassVar = {
        "origin": nd.Field("1", whole=True, default=0), "slope": nd.Field("1", default=1.0),
    }  # fmt: skip
    update = "count = slope * (step - origin);"


@pytest.mark.parametrize("batch", [None, 2])
def test_fields_of_the_circuit(batch: int | None) -> None:
    """All copies get a field; what does not fit is refused as by `LPU.set`."""
    one = nd.Circuit([nd.Population(Counting, 3, name=name) for name in ("a", "b")])
    with nd.LPU(one, DT, batch=batch) as lpu:
        writes = {name: StateWriter(lpu, name) for name in ("origin", "slope")}
        for origin, slope in ((3, 2.0), (np.int64(5), 0.5)):
            writes["origin"](origin)
            writes["slope"](slope)
            assert np.ravel(lpu.get("slope"))[0] == slope
            lpu.run(2)
            assert (np.asarray(lpu.get("count")) == slope * (lpu.step - 1 - origin)).all()
        for name, wrong in (("origin", 1.5), ("slope", np.inf), ("slope", [1.0, 2.0])):
            with pytest.raises(nd.NeurodriverError) as expected:
                lpu.set(name, wrong)
            with pytest.raises(nd.NeurodriverError) as found:
                writes[name](wrong)
            assert str(found.value) == str(expected.value)
        assert np.ravel(lpu.get("slope"))[0] == 0.5


@pytest.mark.parametrize("values", [np.zeros(41), np.full(42, np.nan), np.full(42, "a")])
def test_values_that_cannot_be_set(values: np.ndarray) -> None:
    """The message is that of `LPU.set`, and nothing has been changed."""
    with nd.LPU(circuit(), DT) as lpu:
        before = lpu.get("level").copy()
        with pytest.raises(nd.NeurodriverError) as expected:
            lpu.set("level", values)
        with pytest.raises(nd.NeurodriverError) as found:
            StateWriter(lpu, "level")(values)
        assert str(found.value) == str(expected.value)
        assert np.array_equal(lpu.get("level"), before)
