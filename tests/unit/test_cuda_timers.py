"""Times of the parts of the steps on a GPU, from the cycles that its warps have counted."""

from __future__ import annotations

import re
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from emulated_gpu import emulated, random_circuit
from support import DT, assert_same_bits, recorded, started

from neurodriver.backends.cuda import backend
from neurodriver.backends.cuda.timers import REST, DeviceTimers
from neurodriver.codegen.simt.device import TIMER_ROWS
from neurodriver.native.headers import header
from neurodriver.profiling.measured import Timed
from neurodriver.profiling.phases import Profile

__all__ = ["emulated"]

RECORD = (("V", None), ("spike_state", None))
STEPS, CHUNK = 60, 5


@pytest.fixture
def texts(emulated: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what gets compiled."""
    out: list[str] = []

    def compile_cubin(text: str, arch: str) -> bytes:
        out.append(text)
        return b""

    monkeypatch.setattr(backend, "compile_cubin", compile_cubin)
    return out


def run(executor: str) -> Any:
    """Run the emulated GPU; return the closed LPU and its recordings."""
    circuit, inputs = random_circuit(20, 1)
    with started(
        circuit, DT, inputs, RECORD, backend="cuda", executor=executor, chunk=CHUNK
    ) as lpu:
        lpu.run(steps=STEPS)
        return lpu, recorded(lpu, STEPS)


@pytest.mark.parametrize("executor", ["resident", "stepwise"])
def test_a_profiled_run(texts: list[str], executor: str) -> None:
    """Rows are shares of the launches' time by their cycles; nothing else differs."""
    plain, expected = run(executor)
    with Profile(trace=True) as profile:
        lpu, got = run(executor)
    assert_same_bits(expected, got)
    assert [re.findall(r"#define ND_TIMERS (.*)", text) for text in texts] == [
        ["0"],
        [str(TIMER_ROWS)],
    ]
    assert not any(seconds for _, seconds in plain.backend.profile_times())

    (found,) = profile.measured
    units = lpu.backend.generated.tasks
    assert isinstance(lpu.backend, Timed) and found.threads == lpu.backend.plan.warps
    assert [r.name for r in found.rows] == [*(u.kernel.name for u in units), *REST]
    assert lpu.backend.device_seconds == pytest.approx(STEPS // CHUNK * 1e-3)
    assert found.seconds == pytest.approx(found.threads * lpu.backend.device_seconds)
    assert found.peak == 1e12 and "warps. Peak: 1000 GB/s, a copy" in profile.report()
    spent = {row.name: row.seconds for row in found.rows}
    assert spent.pop("spikes") == 0  # none with weights
    assert all(spent.values())
    cycles = lpu.backend.device.kernels.timers.sum(axis=0)
    own = [7 * STEPS * -(-unit.count // 32) for unit in units]  # an item is a warp's components
    assert cycles[: len(units)].tolist() == own
    share = np.array([row.seconds for row in found.rows]) / found.seconds
    np.testing.assert_allclose(share, cycles / cycles.sum())


def test_units_that_instances_launch() -> None:
    """Their time is what they were waited for; their cycles are no part of the other launches."""
    units: Any = [
        SimpleNamespace(kernel=SimpleNamespace(name=name), stepwise=stepwise)
        for name, stepwise in (("alone", True), ("other", False))
    ]
    counted = np.zeros((TIMER_ROWS, 6), np.uint64)
    counted[3] = 50, 10, 0, 5, 0, 20
    counted[TIMER_ROWS - 1] = 7, 3, 0, 0, 1, 1
    code: Any = SimpleNamespace(address=lambda name: {"nd_timers": 64}[name])

    def download(address: int, out: np.ndarray) -> None:
        assert address == 64
        out[:] = counted

    device: Any = SimpleNamespace(download=download, current=nullcontext)
    timers = DeviceTimers(device, units, code)
    for _ in range(3):
        with timers.launched(0):
            pass
    times = dict(timers.times(2.0, 10))
    assert list(times) == ["alone", "other", *REST]
    assert 0 < times["alone"] < 1.0
    assert [times[name] for name in ("other", *REST)] == pytest.approx([6.5, 0, 2.5, 0.5, 10.5])


def test_columns_are_those_of_the_kernel() -> None:
    """The device counts into the columns that the host reads."""
    (found,) = re.findall(
        r"enum \{ (ND_SPIKES = ND_UNITS.*?) \};", header("codegen/simt/device.cuh")
    )
    names = [name.split(" ")[0] for name in found.split(", ")]
    assert names == [*(f"ND_{name.upper()}" for name in REST), "ND_PARTS"]
