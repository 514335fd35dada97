"""Pools, and the stages that they make: their text for a GPU compiles."""

from __future__ import annotations

import re

import numpy as np
import pytest
from device_code import check_text
from error_networks import four_units
from learning_circuits import Pairs
from phased import DT, learning_layers
from pooled import CIRCUITS

from neurodriver.backends.cuda.spike_delivery import with_learning
from neurodriver.codegen.generate import generate
from neurodriver.codegen.simt.device import Part, Shape, device_text
from neurodriver.error_driven.circuit import circuit_of
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
    check_text(device_text(unique, dtype, Shape(128, stages=10)), whole=dtype == "float32")


def test_stages() -> None:
    """Each level of pools is a stage, and all components are in one part of a step."""
    program = compile_circuit(CIRCUITS["pools of pools"](), 1e-3, target=CUDA)
    assert program.stages == 4 and program.phase_ends == [program.phases]
    assert np.all([unit.stage <= 3 for unit in program.units])


@pytest.mark.needs("NVRTC")
def test_stages_and_learning_compile() -> None:
    """A turn has the barriers of both; turns are single steps, as phases act within a step."""
    program = compile_circuit(learning_layers(Pairs(), 8), DT, "float32", target=CUDA)
    made = generate(program)
    learning = [Part(kernel, learning=True, warps=(0, 4, 0)) for kernel in made.learning]
    parts = [Part(unit.kernel, stage=unit.stage) for unit in made.tasks]
    shape = with_learning(
        Shape(128, window=program.window, stages=program.stages), made.learning, 1
    )
    assert len(learning) == 2 and {part.stage for part in parts} == {0, 1, 2}
    assert program.window == 1 and shape.barriers(0, 50) == 50 * (2 + 2) + 2
    check_text(device_text([*parts, *learning], "float32", shape))


def test_sums_of_pools_are_loaded_before_the_first_mean() -> None:
    """A neuron of `error_driven` reads three pools, and waits for their sums once."""
    units = generate(compile_circuit(circuit_of(four_units()), 1e-3, "float32", target=CUDA)).tasks
    text = next(unit.kernel.text for unit in units if "real nd_v_Vm[" in unit.kernel.text)
    begin = text[text.index("void load(") : text.index("void step(")]
    loads = [one.start() for one in re.finditer("nd_load_sum", begin)]
    means = [one.start() for one in re.finditer("nd_mean_of", begin)]
    assert len(loads) == len(means) == 3 and max(loads) < min(means)
