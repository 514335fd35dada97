"""A job goes on with equal bits on ranks with a GPU of plain Python, and on ranks without."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cutting import after, assert_equal_bits, managed, random_parts, whole, with_crossings
from emulated_gpu import MODELS, emulated, random_circuit
from support import DT, build, node

from neurodriver import LPU, Manager, MemoryRecorder
from neurodriver.circuit.cut import cut
from neurodriver.mpi import world
from neurodriver.ports import Pattern

__all__ = ["emulated"]
STEPS, CUT = 90, 47
CHAINS = [
    (("cuda", "cuda"), ("cpu", "cpu")),
    (("cpu", "cuda"), ("cuda", "cpu")),
    (("cuda", "cuda"), ("cuda", "cuda")),
]


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """One file for both ranks."""
    yield Path(world().spread(str(tmp_path))) / "job.h5"
    world().gather(None)


@pytest.mark.parametrize("seed", [4, 5])
@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("more", [0, 4])
@pytest.mark.parametrize("alone", [False, True])
def test_from_gpu_to_cpu(
    emulated: None,
    seed: int,
    chain: tuple[tuple[str, str], tuple[str, str]],
    more: int,
    alone: bool,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The run ends between two gates, too."""
    if alone:
        where = f"of rank {world().rank}"
        monkeypatch.setattr("neurodriver.backends.cuda.device.place_of", lambda number: where)
    circuit, inputs = random_circuit(30, seed)
    part = random_parts(circuit, 2, seed)
    expected = whole(with_crossings(circuit, part, more=more), inputs, STEPS, backend="cpu")
    pieces = cut(circuit, part, ["a", "b"])
    for resumed, (backends, steps) in enumerate(zip(chain, (CUT, STEPS - CUT), strict=True)):
        monkeypatch.setenv("NEURODRIVER_BACKEND", backends[world().rank])
        ranks = {"a": resumed, "b": 1 - resumed}
        files = (None, path) if resumed else (path, None)
        man, found = managed(pieces, inputs, steps, more * 1e-4, ranks, *files)
        lpu: Any = next(iter(man.lpus.values()))
        assert lpu.backend.program.layout.target.name == backends[man.rank]
    assert assert_equal_bits(after(expected, CUT), found, all_of=False) > 10


def relayed(backend: str, rank: int) -> tuple[Manager, MemoryRecorder]:
    """Return two LPUs; a recorded input port of the second one gets values some steps late."""
    port = {"class": "Port", "port_type": "gpot"}
    a = build(
        {
            "a": node("Halving", {"start": 0.75}),
            "s": node("Share", {}),
            "o": {**port, "selector": "/a/o", "port_io": "out"},
        },
        [("a", "s"), ("s", "a"), ("a", "o", {"variable": "V"})],
        models=MODELS,
    )
    b = build(
        {
            "i": {**port, "selector": "/b/i", "port_io": "in"},
            "y": node("Share", {}),
            "b": node("Halving", {"start": 0.25}),
            "z": node("Share", {}),
            "c": node("Halving", {"start": 0.0}),
        },
        [("i", "y", {"variable": "V"}), ("y", "b"), ("b", "z", {"delay": 3e-4}), ("z", "c")],
        models=MODELS,
    )
    recorder = MemoryRecorder([("V", ["b", "c", "i"])])
    man = Manager(quiet=True)
    man.add(LPU, "a", a, DT, rank=0, backend=backend)
    man.add(LPU, "b", b, DT, [], [recorder], rank=rank, backend=backend)
    pattern = Pattern("/a/o", "/b/i")
    pattern["/a/o", "/b/i"] = 1
    man.connect("a", "b", pattern, delay=2 * DT)
    return man, recorder


def run_relayed(backend: str, rank: int, cuts: tuple[int, ...], sets: bool, path: Path) -> Any:
    """Return what is recorded, on every rank."""
    out = []
    for number, (first, end) in enumerate(itertools.pairwise(cuts)):
        man, recorder = relayed(backend, rank)
        man.spawn()
        if number:
            assert man.resume(path) == first
        elif sets and "b" in man.lpus:
            man.lpus["b"]["b"].set("V", 0.875)
        man.start(steps=end - first, checkpoint=path)
        man.wait()
        mine = np.array(recorder.get("V")) if "b" in man.lpus else None
        out.append(next(one for one in world().gather(mine) if one is not None))
    return np.concatenate(out)


@pytest.mark.parametrize("sets", [False, True])
@pytest.mark.parametrize("cuts", [(0, 20), (0, 8, 20)])
@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_relays_of_imports(
    emulated: None, backend: str, cuts: tuple[int, ...], sets: bool, path: Path
) -> None:
    """They are filled before a value is set or restored, and change no other component."""
    expected = run_relayed("cpu", 0, (0, 20), sets, path)
    assert (np.ptp(expected, axis=0) > 0).all()
    np.testing.assert_array_equal(run_relayed(backend, 1, cuts, sets, path), expected)
