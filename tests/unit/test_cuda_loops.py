"""Texts that loop over connections: what a GPU gets compiles, and spills no register."""

from __future__ import annotations

import pytest
from device_code import check_no_spills
from looped import DT, circuit

from neurodriver.codegen.generate import generate
from neurodriver.codegen.simt.device import Part, Shape, device_text
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.target import CUDA

pytestmark = pytest.mark.needs("NVRTC")


@pytest.mark.parametrize(("delays", "dtype"), [(True, "float64"), (False, "float32")])
def test_the_text_compiles(delays: bool, dtype: str) -> None:
    """Threads beyond the end of a group store nothing."""
    units = generate(compile_circuit(circuit(delays=delays), DT, dtype, target=CUDA)).tasks
    text = device_text([Part(unit.kernel) for unit in units], dtype, Shape(128))
    check_no_spills(text)
    assert text.count("if (nd_live[nd_i])\n") >= 2 or "if (nd_live[nd_i]) {" in text
