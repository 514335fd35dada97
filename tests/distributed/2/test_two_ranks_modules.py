"""Modules and LPUs on two ranks behave as in one process."""

from __future__ import annotations

import numpy as np
import pytest
from stepping import Echo, N, chain, relays, run

from neurodriver.compat.core import Manager as OldManager
from neurodriver.mpi import world

STEPS = 20

PLACES = [
    {"c": 0, "e": 1, "f": 1, "l": 1},
    {"c": 1, "e": 1, "f": 0, "l": 0},
    {"c": 0, "e": 0, "f": 1, "l": 1},
    {"c": 1, "e": 0, "f": 0, "l": 1},
]


@pytest.mark.parametrize("ranks", PLACES)
def test_chain(ranks: dict[str, int]) -> None:
    """Each crossing takes one step, wherever the Modules are."""
    man = chain(ranks, OldManager)
    run(man, STEPS)
    assert set(man.modules) == {name for name in "cef" if ranks[name] == world().rank}
    for name, late in (("e", 1), ("f", 2)):
        echo = man.modules.get(name)
        if isinstance(echo, Echo):
            expected = late * (1.0 + np.arange(STEPS - late)[:, None] + np.arange(N))
            np.testing.assert_array_equal(np.array(echo.seen)[late:], expected)
    assert sum(one.received for one in man.exchanged) > 0
    # a chain over both ranks takes bytes on the rank at its end
    assert man.average_step_sync_time > 0
    assert min(man.average_throughput, man.total_throughput) > 0


@pytest.mark.parametrize("ranks", PLACES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_beside_an_lpu(ranks: dict[str, int], dtype: str) -> None:
    """Counter -> LPU -> Echo has the values of one process, bit by bit."""
    man, recorder = relays(ranks, dtype=dtype)
    run(man, STEPS)
    mine = man.modules.get("e"), recorder if "l" in man.lpus else None
    told = world().gather(
        (
            np.array(mine[0].seen) if isinstance(mine[0], Echo) else None,
            mine[1].get("V") if mine[1] else None,
        ),
        30.0,
    )
    seen = next(s for s, _ in told if s is not None)
    v, taken = next(v for _, v in told if v is not None).T
    np.testing.assert_array_equal(taken, np.concatenate([[0.0], 1.0 + np.arange(STEPS - 1)]))
    np.testing.assert_array_equal(seen[1:, 0], v[:-1])
    assert np.ptp(v) > 0.1
