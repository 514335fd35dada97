"""Compiles or runs circuits where there is no CUDA toolkit, and PyCUDA must not be imported.

python without_toolkit.py compile
python without_toolkit.py run
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

for _name in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "LD_LIBRARY_PATH"):
    os.environ.pop(_name, None)
_folders = [f for f in os.environ["PATH"].split(os.pathsep) if not shutil.which("nvcc", path=f)]
os.environ["PATH"] = os.pathsep.join(_folders)
sys.path.insert(0, str(Path(__file__).parents[1]))


class Refuser:
    """Refuses to import PyCUDA, also where it is installed."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        assert name.partition(".")[0] != "pycuda", "PyCUDA is imported"


sys.meta_path.insert(0, Refuser())  # type: ignore[arg-type]

import numpy as np  # noqa: E402
from device_code import check_text  # noqa: E402
from learning_circuits import DT, RULES, told  # noqa: E402
from support import assert_same_bits, recorded, spiking_network, started  # noqa: E402

import neurodriver as nd  # noqa: E402
from neurodriver.backends.cuda import compiler  # noqa: E402
from neurodriver.codegen.generate import generate  # noqa: E402
from neurodriver.codegen.simt.device import Part, device_text  # noqa: E402
from neurodriver.codegen.simt.shape import Shape  # noqa: E402
from neurodriver.plan.compile import compile_circuit  # noqa: E402
from neurodriver.plan.target import CUDA  # noqa: E402

STEPS = 200
RECORD: Any = [("V", None), ("spike_state", None)]


def circuits() -> Iterator[tuple[str, nd.Circuit, Any, float]]:
    """Yield synapses between neurons, drawn projections, and synapses that learn."""
    circuit = spiking_network(200, 3, seed=5, alpha=0.5)
    yield "spiking", circuit, [nd.StepInput("I", circuit.groups[0].uids, 5.0)], 1e-4
    cells = nd.Population("LeakyIAFShiu", 300, name="cells")
    link = nd.Projection(
        cells, cells, nd.FixedProbability(0.1), receptor="syn", weight=0.5, delay=1.8e-3
    )
    drawn = nd.Circuit([cells], [link]).stimulate(cells, rate=150.0)
    yield "drawn", drawn, (), 1e-4
    circuit, inputs, _ = told(
        next(iter(RULES))(), sources=40, targets=70, synapses=900, steps=STEPS
    )
    yield "learning", circuit, inputs, DT


def compiled() -> None:
    """Compile the texts of the circuits for a GPU that need not be here."""
    for name, circuit, _, dt in circuits():
        program = compile_circuit(circuit, dt, target=CUDA)
        parts = [Part(unit.kernel) for unit in generate(program, {}).tasks]
        text = device_text(parts, program.dtype.name, Shape(256, 1, False))
        assert check_text(text)
        print(name)


def run() -> None:
    """Run the circuits with both executors, and compare them with the CPU."""
    for name, *circuit in circuits():
        expected = found(*circuit, backend="cpu")
        assert np.asarray(expected["spike_state"]).any()
        for executor in ("resident", "stepwise"):
            assert_same_bits(expected, found(*circuit, backend="cuda", executor=executor))
        print(name)


def found(circuit: nd.Circuit, inputs: Any, dt: float, **where: Any) -> Any:
    """Return what a run records."""
    with started(circuit, dt, inputs, RECORD, **where) as lpu:
        lpu.run(steps=STEPS)
        return recorded(lpu, STEPS)


def main() -> None:
    """Do what the command line says, and tell what was used."""
    {"compile": compiled, "run": run}[sys.argv[1]]()
    found = compiler.find_compiler()
    maps = Path("/proc/self/maps").read_text(encoding="utf-8") if os.name == "posix" else ""
    used = sorted({line.split()[-1] for line in maps.splitlines() if "libnvrtc.so" in line})
    print(f"{found.name} {found.version}:", *used)
    assert found.name == "NVRTC" and "pycuda" not in sys.modules


if __name__ == "__main__":
    main()
