"""Texts over the synapses of a path: against NumPy, on threads, and as a GPU runs them."""

from __future__ import annotations

import ctypes as ct
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import pairwise
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from packed_counts_on_cpu import packed_counts as run_packed_counts
from synapse_texts_on_cpu import WarpSynapses

from neurodriver.backends.cpu import synapse_place as host_place
from neurodriver.backends.cpu.synapse_place import HostSynapses
from neurodriver.backends.cuda import peer_counts, synapse_place
from neurodriver.backends.synapse_place import ADDS, ALONE, PACKS
from neurodriver.backends.synapse_sets import SynapseSets
from neurodriver.backends.synapse_tables import SynapseSet
from neurodriver.errors import ModelError, NeurodriverError
from neurodriver.model.synapse_texts import UNIT, SynapseText, SynapseTexts

TEXTS = SynapseTexts(
    own=("weight", "total"),
    kept=("trace",),
    numbers=("rate", "share"),
    vectors={"parts": 3},
    states={"v": 3, "x": None},
    given=("factor",),
    greatest={"peak": "x"},
    texts={
        "learn": SynapseText(
            """
            real product = 0;
            for (int b = 0; b < 3; ++b) product += parts[b] * pre.v[b] * post.v[b];
            trace += share * (product - trace);
            const real bound = fmin(post.factor, 0.6);  // it is equal for all synapses
            const real round = pre.x, apart = post.x - round;
            add(rate * trace * bound * (1 + apart) * (post.x < post.peak ? 1 : 0.5));
            """,
            where="post.x > 0.6",
        ),
        "apply": SynapseText(
            """
            mean = sum(changed);
            moved = sum(changed != 0 ? 1 : 0);
            weight = fmax(weight + changed - share * mean / moved, 0);
            total += changed;
            changed = 0;
            send(exp(weight));
            """,
            when="changed != 0",
        ),
        "rest": SynapseText("weight += 0;"),
        "scale": SynapseText("all = sum(weight); weight *= inputs / all; send(weight);"),
    },
)

COPIES, SOURCES, TARGETS = 2, 37, 9
ELEMENTS = 4


class Example:
    """A set of synapses with states of its ends, and what the texts have to do with them."""

    def __init__(self, place: Any, dtype: str) -> None:
        rng = np.random.default_rng(3)
        connected = rng.random((TARGETS, SOURCES)) < 0.6
        connected[2] = False
        self.post, self.pre = np.nonzero(connected)
        self.first = np.concatenate([[0], np.cumsum(connected.sum(axis=1))])
        m = len(self.pre)
        self.states = [
            [rng.random((ELEMENTS, n)).astype(dtype) for n in (SOURCES, TARGETS)]
            for _ in range(COPIES)
        ]
        self.weight, self.factor = rng.random(m), rng.random((COPIES, TARGETS))
        self.numbers = {"rate": 0.3, "share": 0.25, "parts": np.array([0.5, 1.0, 2.0])}
        own = {"weight": self.weight, "total": np.zeros(m)}
        one = SynapseSet(self.first, self.pre, own, self.numbers, keeps=True, offset=4, part=2)
        self.sets = SynapseSets(place, TEXTS, {"a": one}, COPIES, TARGETS + 4)
        self.order = rng.permutation(m)
        self.sent = [np.zeros(m, dtype) for _ in range(COPIES)]
        where = [[[row.ctypes.data for row in end] for end in copy] for copy in self.states]
        sent = np.array([one.ctypes.data for one in self.sent], np.uint64)
        self.sets.bind({"a": np.array(where, np.uint64)}, {"a": sent}, {"a": self.order})

    def run(self, text: str) -> None:
        """Run a text; the first four targets of what is given belong to others."""
        given = np.concatenate([np.full((COPIES, 4), np.nan), self.factor], axis=1)
        self.sets.run({"a": text}, {"factor": given})

    def left(self) -> dict[str, np.ndarray]:
        """Return all numbers."""
        own = {name: self.sets.read("a", name) for name in ("weight", "total", "trace")}
        return {**own, "counts": self.sets.counts, "sent": np.array(self.sent)}


def expected(example: Example) -> dict[str, np.ndarray]:
    """Return what `learn`, `learn`, `apply`, `scale` have to leave, computed with NumPy."""
    pre, post, m = example.pre, example.post, len(example.pre)
    trace, counts = np.zeros((COPIES, m)), np.zeros(m, np.int64)
    for _ in range(2):
        for copy, (a, b) in enumerate(example.states):
            a, b = a.astype(float), b.astype(float)
            product = sum(example.numbers["parts"][i] * a[i][pre] * b[i][post] for i in range(3))
            runs = b[3][post] > 0.6
            trace[copy] = np.where(runs, trace[copy] + 0.25 * (product - trace[copy]), trace[copy])
            factor = np.minimum(example.factor[copy], 0.6)[post]
            change = 0.3 * trace[copy] * factor * (1 + b[3][post] - a[3][pre])
            change *= np.where(post == b[3].argmax(), 0.5, 1.0)
            counts += np.where(runs, np.rint(change / UNIT), 0).astype(np.int64)
    changed = counts * UNIT
    moved = np.bincount(post, counts != 0, TARGETS)
    mean = np.bincount(post, changed, TARGETS) / np.maximum(moved, 1)
    new = np.maximum(example.weight + changed - 0.25 * mean[post], 0)
    weight = np.where(counts != 0, new, example.weight)
    share = np.bincount(post, None, TARGETS) / np.maximum(np.bincount(post, weight, TARGETS), 1e-9)
    return {"trace": trace, "total": changed, "weight": weight * share[post], "applied": weight}


def ran(place: Any, dtype: str) -> tuple[Example, dict[str, np.ndarray]]:
    """Return an example after its texts have run, and what they left."""
    example = Example(place, dtype)
    for text in ("learn", "learn", "apply"):
        example.run(text)
    applied = example.left()
    example.run("scale")
    return example, {**example.left(), "sent before": applied["sent"]}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_texts_against_numpy(dtype: str) -> None:
    """Averages, sums over copies and targets, conditions, and what is sent."""
    example, left = ran(HostSynapses(TEXTS, np.dtype(dtype), 1), dtype)
    want = expected(example)
    assert 0 < (want["total"] != 0).sum() < len(example.pre)
    for name in ("trace", "total", "weight"):
        assert np.abs(left[name] - want[name]).max() < 1e-11, name
    assert not left["counts"].any()
    sent = left["sent"][:, example.order]
    assert np.abs(sent - want["weight"]).max() < 1e-6 and np.ptp(sent, axis=0).max() == 0
    before = left["sent before"][:, example.order]
    assert np.abs(before - np.exp(want["applied"]) * (want["total"] != 0)).max() < 1e-6


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_threads_and_warps_leave_equal_bits(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No order of additions changes a bit."""
    monkeypatch.setattr(host_place, "THREAD_WORTH", 16)
    kind = np.dtype(dtype)
    places = [HostSynapses(TEXTS, kind, 1), HostSynapses(TEXTS, kind, 3)]
    found = [ran(place, dtype)[1] for place in (*places, WarpSynapses(TEXTS, kind, 1))]
    for other in found[1:]:
        for name, values in found[0].items():
            assert values.tobytes() == other[name].tobytes(), name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SynapseText("weight += wieght;"), "unknown name 'wieght'.*'weight'"),
        (SynapseText("rate = 1;"), "rate"),
        (SynapseText("weight += pre.v;"), "'pre_v' is an array"),
        (SynapseText("add(1);", where="pre.x > 0"), "unknown name 'pre_x'"),
        (SynapseText("add(1);", when="post.x > 0"), "unknown name 'post_x'"),
        (SynapseText("m = sum(trace); add(m);"), "unknown name 'trace'"),
        (SynapseText("add(1, 2);"), "'add' takes 1 argument"),
    ],
)
def test_faults_of_texts(text: SynapseText, message: str) -> None:
    """Each says what is wrong."""
    shared = {name: getattr(TEXTS, name) for name in ("own", "kept", "numbers", "states", "given")}
    with pytest.raises(ModelError, match=message):
        SynapseTexts(**shared, texts={"wrong": text})


@pytest.mark.parametrize("place", [HostSynapses, WarpSynapses])
@pytest.mark.parametrize("units", [1, 31, 32, 257, 1000])
def test_greatest_value_of_a_population(place: Any, units: int) -> None:
    """Wherever it is; of each copy its own."""
    texts = SynapseTexts(
        own=("weight",), states={"x": None}, greatest={"peak": "x"},
        texts={"take": SynapseText("add(post.peak);")},
    )  # fmt: skip
    rng, places = np.random.default_rng(units), np.unique([0, units // 2, units - 1])
    for at in places:
        x = -rng.random((COPIES, units)).astype(np.float32)
        x[:, at] = [0.5, -1e-9]
        one = SynapseSet(np.arange(units + 1), np.zeros(units, int), {"weight": np.ones(units)}, {})
        sets = SynapseSets(place(texts, x.dtype, 1), texts, {"a": one}, COPIES, units)
        where = np.array([[[x.ctypes.data], [row.ctypes.data]] for row in x], np.uint64)
        sets.bind({"a": where}, {}, {})
        sets.run({"a": "take"}, {})
        assert (sets.counts == np.rint(x.max(axis=1).astype(float) / UNIT).sum()).all()
    x[1, places[-1]] = np.nan
    sets.run({"a": "take"}, {})
    assert np.isnan(sets._tables.given["peak"].read()[1])


@pytest.mark.parametrize("state", ["y", "v"])
def test_greatest_values_of_what_is_no_number(state: str) -> None:
    """An unknown state, and a vector."""
    with pytest.raises(ModelError, match=f"'peak' needs a state that is no vector .got '{state}'"):
        SynapseTexts(own=(), states={"x": None, "v": 2}, greatest={"peak": state}, texts={})


def test_a_greatest_value_in_a_condition_is_that_of_a_copy() -> None:
    """Such a text runs for each copy."""
    text = SynapseText("add(1);", where="post.peak > 0")
    texts = SynapseTexts(own=(), states={"x": None}, greatest={"peak": "x"}, texts={"one": text})
    assert texts.of_copies("one")


class PretendedDevice:
    """A GPU whose memory is that of the host."""

    arch, processors, number = "sm_90", 132, 0
    handle = ct.create_string_buffer(64)
    driver = SimpleNamespace(
        cuIpcGetMemHandle=lambda _: SimpleNamespace(
            getPtr=lambda: ct.addressof(PretendedDevice.handle)
        )
    )

    def current(self) -> Any:
        """Return nothing to enter."""
        return nullcontext()

    def allocate(self, size: int) -> Any:
        """Return memory that may be given back once."""
        memory, freed = np.zeros(size, np.uint8), iter([None])
        self.kept = [*getattr(self, "kept", []), memory]
        return PretendedMemory(memory, lambda: next(freed))

    def pinned(self, count: int, dtype: Any) -> np.ndarray:
        """Return memory of the host."""
        return np.zeros(count, dtype)

    def upload(self, address: int, array: np.ndarray) -> None:
        """Copy an array."""
        flat = np.ascontiguousarray(array)
        ct.memmove(address, flat.ctypes.data, flat.nbytes)

    def download(self, address: int, out: np.ndarray) -> None:
        """Copy into an array."""
        ct.memmove(out.ctypes.data, address, out.nbytes)

    def clear(self, address: int, size: int) -> None:
        """Set bytes to zero."""
        ct.memset(address, 0, size)

    def at_end(self, end: Any) -> None:
        """Forget it."""

    def wait(self) -> None:
        """Return at once."""


class PretendedMemory:
    """Memory of this device."""

    def __init__(self, memory: np.ndarray, free: Any) -> None:
        self.memory, self.free = memory, free

    def __int__(self) -> int:
        return int(self.memory.ctypes.data)


def test_memory_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers come to it and from it, and all is given back once, without a GPU."""
    warps, ended, kernels = WarpSynapses(TEXTS, np.dtype("float64"), 1), [], []

    def launched(device: Any, kernel: str, blocks: int, threads: int, values: Any, _: Any) -> None:
        kernels.append(kernel)
        if kernel == "nd_greatest":
            units, count = values
            assert 0 <= blocks * threads // 32 - count < threads // 32
            warps._greatest(ct.c_void_p(units), ct.c_longlong(count))
            return
        sets, begin, count, *shares = values
        assert shares == [0, 0, ALONE]
        rows = (ct.c_longlong * (count + 1)).from_address(begin)[count]
        assert threads % 32 == 0 and 0 <= blocks * threads // 32 - rows < threads // 32
        given = ct.c_void_p(sets), ct.c_void_p(begin)
        warps._run(*given, *map(ct.c_longlong, (count, 0, rows)))

    code = SimpleNamespace(function=lambda name: name, unload=lambda: ended.append(1))
    monkeypatch.setattr(synapse_place, "Loaded", lambda *_: code)
    monkeypatch.setattr(synapse_place, "compile_cubin", lambda *_: b"")
    monkeypatch.setattr(synapse_place, "launch", launched)
    device: Any = PretendedDevice()
    example, found = ran(
        synapse_place.DeviceSynapses(TEXTS, np.dtype("float64"), device), "float64"
    )
    for name, values in ran(HostSynapses(TEXTS, np.dtype("float64"), 1), "float64")[1].items():
        assert values.tobytes() == found[name].tobytes(), name
    learns = ["nd_greatest", "nd_run"]
    assert kernels == [*learns, *learns, "nd_run_light", "nd_run_light"]
    example.sets.close()
    example.sets.close()
    assert ended == [1]


class Ranks:
    """Ranks that are threads: what each of them needs of a communicator."""

    def __init__(self, count: int) -> None:
        self.barrier, self.given = Barrier(count, timeout=60), [None] * count

    def of(self, rank: int) -> Any:
        """Return the communicator of a rank."""

        def allgather(value: Any) -> list[Any]:
            self.given[rank] = value
            self.barrier.wait()
            found = [*self.given]
            self.barrier.wait()
            return found

        return SimpleNamespace(
            allgather=allgather, Get_rank=lambda: rank, Get_size=lambda: len(self.given)
        )


@pytest.mark.parametrize("host", [None, 0, 2])
def test_counts_of_several_gpus(monkeypatch: pytest.MonkeyPatch, host: int | None) -> None:
    """Each GPU adds those of the others; if a rank has none, no rank does."""
    code = SimpleNamespace(function=lambda name: name, unload=lambda: None)
    emulate(monkeypatch, code)
    ranks, kind = Ranks(3), np.dtype("float64")
    rng = np.random.default_rng(7)
    size = len(Example(HostSynapses(TEXTS, kind, 1), "float64").pre)
    given = rng.integers(-(1 << 31), 1 << 31, (3, 3, size)) * (rng.random((3, 3, size)) < 0.4)
    given[:, 0] <<= rng.integers(0, 30, size)  # some of trial 0 need 8 bytes

    def of_rank(rank: int) -> tuple[list[bool], list[np.ndarray]]:
        device: Any = PretendedDevice()
        gpu = synapse_place.DeviceSynapses(TEXTS, kind, device)
        example = Example(HostSynapses(TEXTS, kind, 1) if rank == host else gpu, "float64")
        done, found = [], []
        for trial in range(3):
            example.sets.counts = given[rank, trial]
            done.append(example.sets.reaches(ranks.of(rank)))
            if done[-1]:
                example.sets.run({"a": "rest"}, {}, PACKS)
                example.sets.run({"a": "rest"}, {}, ADDS)
            found.append(example.sets.counts)
        example.sets.close()
        return done, found

    with ThreadPoolExecutor(3) as pool:
        results = [*pool.map(of_rank, range(3))]
    for rank, (done, found) in enumerate(results):
        assert done == [host is None] * 3
        for trial, counts in enumerate(found):
            wanted = given[:, trial].sum(axis=0) if host is None else given[rank, trial]
            assert np.array_equal(counts, wanted) and np.count_nonzero(counts) > 9


SIZES = np.array([0, 1, 31, 32, 33, 64, 128, 129, 300, 7, 5])
"""Synapses of rows: none, one, some words of masks and parts of them, many."""


def gpus_of(counts: np.ndarray, marks: np.ndarray) -> list[SynapseSets]:
    """Return the sets of some ranks, which reach each other; the last rows are of another set."""
    made, parts = [], (SIZES[:6], SIZES[6:])
    for rank in range(len(counts)):
        device: Any = PretendedDevice()
        place = synapse_place.DeviceSynapses(TEXTS, np.dtype("float64"), device)
        sets = {}
        for name, sizes in zip("ab", parts, strict=True):
            first, m = np.concatenate([[0], np.cumsum(sizes)]), sizes.sum()
            sets[name] = SynapseSet(first, np.zeros(m, int), {"weight": np.ones(m)}, {})
        made.append(SynapseSets(place, TEXTS, sets, 1, len(SIZES)))
        made[-1].counts = counts[rank]
        made[-1]._tables.marks.write(marks[rank])
    offers = [one.place.offer(len(SIZES), SIZES.sum(), len(made)) for one in made]
    assert all(one.place.reach(offers, rank) for rank, one in enumerate(made))
    return made


def packed(one: SynapseSets, share: int) -> None:
    """Let a rank pack or add, and change nothing else."""
    one.run({"a": "rest", "b": "rest"}, {}, share)


def emulate(monkeypatch: pytest.MonkeyPatch, code: Any = None, patience: float = 60.0) -> None:
    """Let GPUs be processors, which wait for each other as GPUs do."""
    code = code or SimpleNamespace(function=lambda name: name, unload=lambda: None)
    launch = run_packed_counts(TEXTS, patience)
    monkeypatch.setattr(synapse_place, "Loaded", lambda *_: code)
    monkeypatch.setattr(synapse_place, "compile_cubin", lambda *_: b"")
    for module in (synapse_place, peer_counts):
        monkeypatch.setattr(module, "launch", launch)


def test_rows_that_are_not_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row without a mark adds nothing; a row that gets something is marked."""
    emulate(monkeypatch)
    first = np.concatenate([[0], np.cumsum(SIZES)])
    rng = np.random.default_rng(5)
    counts = rng.integers(1, 1 << 31, (2, first[-1])) * (rng.random((2, first[-1])) < 0.7)
    counts[1, first[8] + 17] = -(1 << 40)  # one number of a row that does not fit into 4 bytes
    marks = np.ones((2, len(SIZES)), np.int32)
    marks[0, ::2], marks[1, [3, 8]] = 0, [0, 1]
    for rank in range(2):
        counts[rank, np.repeat(marks[rank] == 0, SIZES)] = 0
    counts[1, first[9] : first[10]] = 0  # marked, and nothing is left of it
    gpus = gpus_of(counts, marks)
    for one in gpus:
        packed(one, PACKS)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda one: packed(one, ADDS), gpus))
    for rank, one in enumerate(gpus):
        assert np.array_equal(one.counts, counts.sum(axis=0))
        came = np.array([counts[1 - rank, a:b].any() for a, b in pairwise(first)])
        assert np.array_equal(one._tables.marks.read(), (marks[rank] != 0) | came)
        assert 0 < came.sum() < len(SIZES) - 2


def test_a_gpu_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A communicator of one rank: there is nothing to add."""
    emulate(monkeypatch)
    counts = np.arange(SIZES.sum())[None]
    (alone,) = gpus_of(counts, np.ones((1, len(SIZES)), np.int32))
    packed(alone, PACKS)
    packed(alone, ADDS)
    assert np.array_equal(alone.counts, counts[0])
    alone.close()


def test_a_gpu_whose_partner_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next time that counts are added up, the user hears that they are wrong."""
    emulate(monkeypatch, patience=0.05)
    shape = 2, len(SIZES)
    gpus = gpus_of(np.ones((2, SIZES.sum()), np.int64), np.ones(shape, np.int32))
    for one in gpus:
        packed(one, PACKS)
    peers = [one.place._peers for one in gpus]  # type: ignore[attr-defined]
    packed(gpus[0], ADDS)
    peers[1].check()
    missing = "another rank has not sent its changes within"
    for action in (lambda: packed(gpus[0], ADDS), peers[0].check, lambda: gpus[0].counts):
        with pytest.raises(NeurodriverError, match=missing):
            action()
    monkeypatch.setattr(peers[1], "_send", lambda what: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        packed(gpus[1], ADDS)
    with pytest.raises(NeurodriverError, match="interrupted while they were added up; begin again"):
        peers[1].check()


def test_counts_that_others_have_set() -> None:
    """They are applied once, in rows that no text has changed, too; then all counts are 0."""
    example = Example(HostSynapses(TEXTS, np.dtype("float64"), 1), "float64")
    before = example.left()
    example.run("apply")
    assert np.array_equal(example.left()["weight"], before["weight"])
    counts = np.zeros(len(example.pre), np.int64)
    counts[::3] = 1 << 38
    example.sets.counts = counts
    example.run("apply")
    applied = example.left()
    changed = applied["weight"] != before["weight"]
    assert np.array_equal(changed, counts != 0) and not applied["counts"].any()
    example.run("apply")
    assert np.array_equal(example.left()["weight"], applied["weight"])


def test_states_that_are_nowhere() -> None:
    """A text that reads what the units or the synapses do not have is refused before it runs."""
    example = Example(HostSynapses(TEXTS, np.dtype("float64"), 1), "float64")
    where = np.zeros((COPIES, 2, ELEMENTS), np.uint64)
    example.sets.bind({"a": where}, {}, {})
    with pytest.raises(NeurodriverError, match=r"text .learn. reads pre\.v, which is no state"):
        example.run("learn")
    example.run("scale")  # reads none
    one = SynapseSet(np.array([0, 1]), np.array([0]), {"total": np.zeros(1)}, {})
    sets = SynapseSets(example.sets.place, TEXTS, {"b": one}, 1, 1)
    with pytest.raises(NeurodriverError, match=r"'b': text 'scale' needs weight, which these"):
        sets.run({"b": "scale"}, {})
