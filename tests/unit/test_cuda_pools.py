"""Pools: their text for a GPU compiles, and a GPU refuses what it does not run with them."""

from __future__ import annotations

import numpy as np
import pytest
from device_code import check_text
from pooled import CIRCUITS

import neurodriver as nd
from neurodriver.backends.cuda.batch import CUDABatch
from neurodriver.codegen.generate import generate
from neurodriver.codegen.simt.device import Part, Shape, device_text
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.target import CUDA


@pytest.mark.needs("NVRTC")
def test_the_text_compiles(dtype: str) -> None:
    """Of first and of later levels, with lists and without, and of what reads them."""
    parts = []
    for name in ("one group", "of this step", "under a mask"):
        units = generate(compile_circuit(CIRCUITS[name](), 1e-3, dtype, target=CUDA)).tasks
        parts += [Part(unit.kernel) for unit in units]
    unique = list({part.kernel.text: part for part in parts}.values())
    assert len(unique) > 20
    check_text(device_text(unique, dtype, Shape(128, stages=10)))


def test_a_batch_is_refused() -> None:
    """It has no stages on a GPU."""
    program = compile_circuit(CIRCUITS["pools of pools"](), 1e-3, target=CUDA)
    assert program.stages == 4 and program.phase_ends == [program.phases]
    with pytest.raises(nd.NeurodriverError, match="with pools"):
        CUDABatch([program, program], None)  # type: ignore[arg-type]
    assert np.all([unit.stage <= 3 for unit in program.units])
