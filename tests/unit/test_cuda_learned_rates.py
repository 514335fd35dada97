"""Graded synapses that learn: their text for a GPU compiles."""

from __future__ import annotations

import pytest
from device_code import check_no_spills
from learned_rates import DT, Mixed, Rates

from neurodriver.codegen.generate import generate
from neurodriver.codegen.simt.device import Part, Shape, device_text
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.target import CUDA

pytestmark = pytest.mark.needs("NVRTC")


@pytest.mark.parametrize(("late", "dtype"), [(1, "float32"), (4, "float64")])
def test_the_text_compiles(late: int, dtype: str) -> None:
    """With one delay and with several, with a tail; no register spills."""
    circuit = Rates.drawn(150, 900, 5, late).circuit(Mixed(), Mixed())
    units = generate(compile_circuit(circuit, DT, dtype, target=CUDA)).tasks
    parts = [Part(unit.kernel) for unit in units]
    assert "on_step" in parts[0].kernel.text
    check_no_spills(device_text(parts, dtype, Shape(128)))
