"""Which states rest in the memory of a GPU."""

from __future__ import annotations

import numpy as np
import pytest
from error_networks import four_units
from host_threads import HostThreads
from resting import circuit
from support import DT

import neurodriver as nd
from neurodriver.codegen.generate import Task, generate
from neurodriver.error_driven.circuit import circuit_of
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.target import CUDA


def test_states_that_a_text_reads_in_some_steps_only() -> None:
    """The bins of Axon's neurons rest, and what is kept for statistics."""
    units = generate(compile_circuit(circuit_of(four_units()), 1e-3, "float32", target=CUDA)).tasks
    text = next(unit.kernel.text for unit in units if "real nd_v_Vm[" in unit.kernel.text)
    rested = {"ActM", "ActP", "CaDBefore", "bins__0", "bins__19"}
    assert all(f"real {one} = ND_RESTS({one}, nd_place);" in text for one in rested)
    loads = [text.index(f"real bins__{i} = ND_RESTS(bins__{i}, nd_place);") for i in range(20)]
    stores = [text.index(f"ND_RESTS(bins__{i}, nd_place) = bins__{i};") for i in range(20)]
    assert max(loads) < min(stores)  # no load waits for another
    assert all(f"ND_LATE_ARRAY(nd_s_{one}, " in text for one in rested)
    assert "ND_RESTS(CaP" not in text and "ND_LATE_ARRAY(nd_s_CaP" not in text
    assert "ND_LATE_NUMBER(gi, " in text


class HoldingThreads(HostThreads):
    """Threads that keep their components from step to step, or do not."""

    holds = False

    def text(self, task: Task, dtype: str, own: int) -> str:
        text = super().text(task, dtype, own)
        return text.replace("#define ND_HOLDS 0", f"#define ND_HOLDS {int(self.holds)}")


@pytest.mark.parametrize("holds", [False, True])
def test_bits_of_the_cpu(holds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In registers and in memory, where threads of the last warp are beyond the end."""
    monkeypatch.setattr(HoldingThreads, "holds", holds)
    threads = HoldingThreads(circuit(), DT, "float64")
    threads.advance(8)
    with nd.LPU(circuit(), DT) as lpu:
        lpu.run(8)
        for state in ("level", "last", "held"):
            want = np.concatenate([lpu[name].get(state).ravel() for name in ("few", "many")])
            assert np.ptp(want) > 1e-8 and want.tobytes() == threads.state(0, state).tobytes()
