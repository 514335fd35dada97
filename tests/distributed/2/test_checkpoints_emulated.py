"""A job goes on with equal bits on ranks with a GPU of plain Python, and on ranks without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cutting import after, assert_equal_bits, managed, random_parts, whole, with_crossings
from emulated_gpu import emulated, random_circuit

from neurodriver.circuit.cut import cut
from neurodriver.mpi import world

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
