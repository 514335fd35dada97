"""Graded synapses that learn: their text for a GPU compiles."""

from __future__ import annotations

import pytest
from learned_rates import DT, Mixed, Rates
from test_cuda_text import built

from neurodriver.codegen.generate import generate
from neurodriver.codegen.simt.device import Part, Shape, device_text
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.target import CUDA

pytestmark = pytest.mark.needs("NVRTC")


@pytest.mark.parametrize("late", [1, 4])
def test_the_text_compiles(late: int, dtype: str) -> None:
    """With one delay and with several, with a tail; no register spills."""
    circuit = Rates.drawn(150, 900, 5, late).circuit(Mixed(), Mixed())
    units = generate(compile_circuit(circuit, DT, dtype, target=CUDA)).tasks
    parts = [Part(unit.kernel) for unit in units]
    said = built(device_text(parts, dtype, Shape(128)), "sm_90")
    assert "on_step" in parts[0].kernel.text and "warning" not in said
