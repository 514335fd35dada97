"""Reductions other than the sum: their text for a GPU compiles."""

from __future__ import annotations

import pytest
from device_code import check_text
from reductions import drawn

from neurodriver.codegen.generate import generate
from neurodriver.codegen.simt.device import Part, Shape, device_text
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.target import CUDA

pytestmark = pytest.mark.needs("NVRTC")


def test_the_text_compiles(dtype: str) -> None:
    """Kept connections, batches of them and a tail."""
    units = generate(compile_circuit(drawn()[0], 1e-3, dtype, target=CUDA)).tasks
    text = device_text([Part(unit.kernel) for unit in units], dtype, Shape(128))
    check_text(text, whole=dtype == "float32")
