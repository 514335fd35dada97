"""The old LPU on a GPU: its device, old classes with kernels of their own, scripts as they are."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from old_circuit import FILE, TWINS, check_own_kernel, run_old
from support import AMPA, IAF, assert_same_bits, graph, node

import neurodriver.compat.old
from neurodriver.compat.core_gpu import Manager
from neurodriver.compat.inputs import StepInputProcessor
from neurodriver.compat.lpu import LPU
from neurodriver.compat.outputs import FileOutputProcessor, OutputRecorder
from neurodriver.compat.pm_gpu import GPUPortMapper
from neurodriver.errors import CircuitWarning, ModelError

assert neurodriver.compat.old is not None
ROOT = Path(__file__).parents[2]


@pytest.fixture
def cuda(plain: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let old LPUs run on a GPU."""
    monkeypatch.setenv("NEURODRIVER_BACKEND", "cuda")


@pytest.mark.needs("PyCUDA")
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_old_classes_with_kernels(
    cuda: None, executor: str, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they are, from a file: inputs, rings, states, initial values, templates; equal bits."""
    monkeypatch.setenv("NEURODRIVER_EXECUTOR", executor)
    found, lpu = run_old([FILE], default_dtype=kind)
    assert lpu.settings.choice.name == "cuda" and lpu.backend.instances.made
    twins, _ = run_old(TWINS, default_dtype=kind)
    monkeypatch.setenv("NEURODRIVER_BACKEND", "cpu")
    expected, _ = run_old(TWINS, default_dtype=kind)
    assert_same_bits(twins, expected)
    assert_same_bits(found, expected)


@pytest.mark.needs("PyCUDA")
def test_a_class_without_a_base(cuda: None) -> None:
    """A text with arguments of its own is no template: the class starts its kernel itself."""
    check_own_kernel()


def network(number: int) -> Any:
    """Return two neurons, one of them driven by the other."""
    return graph(
        {"a": node("LeakyIAF", IAF, initV=-60.0 - number), "b": node("LeakyIAF", IAF),
         "s": node("SynapseAMPA", AMPA, gmax=0.1, reverse=0.0)},
        [("a", "s", {"delay": 1e-3}), ("s", "b")],
    )  # fmt: skip


def managed(folder: Path, devices: list[int]) -> dict[str, Any]:
    """Run an LPU for each device number; return what their files hold."""
    folder.mkdir()
    man = Manager()
    for i, number in enumerate(devices):
        current = StepInputProcessor("I", ["a"], 10.0, 0.01, 0.08)
        record = [("V", None), ("spike_state", None), ("I", None)]
        output = FileOutputProcessor(record, str(folder / f"{i}.h5"))
        man.add(LPU, f"l{i}", 1e-4, "obj", network(i), device=number, input_processors=[current],
                output_processors=[output])  # fmt: skip
    man.start(steps=1000)
    man.wait()
    out: dict[str, Any] = {}
    for i in range(len(devices)):
        with h5py.File(folder / f"{i}.h5") as file:
            out |= {f"{v}{i}": file[f"{v}/data"][()] for v in ("V", "I")}
            out[f"time{i}"] = file["spike_state/data/time"][()]
    assert all(len(out[f"time{i}"]) > 5 for i in range(len(devices)))
    return out


def test_managers(cuda: None, gpus: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """LPUs of one process share a GPU, whatever numbers they give; the bits are the CPU's."""
    one = managed(tmp_path / "one", [gpus - 1, gpus - 1])
    with pytest.warns(CircuitWarning, match="share a GPU" if gpus > 1 else "there is no GPU"):
        two = managed(tmp_path / "two", [0, 1])
    monkeypatch.setenv("NEURODRIVER_BACKEND", "cpu")
    expected = managed(tmp_path / "cpu", [0, 1])
    assert_same_bits(one, expected)
    assert_same_bits(two, expected)


def test_a_device_by_its_number(cuda: None, gpus: int) -> None:
    """The last GPU is taken where its number is given, modulo how many there are."""
    with LPU(1e-4, "obj", network(0), device=gpus - 1) as lpu:
        assert lpu.backend.device.number == gpus - 1
    with pytest.warns(CircuitWarning, match=f"no GPU {2 * gpus + 1}"):
        lpu = LPU(1e-4, "obj", network(0), device=2 * gpus + 1)
    assert lpu.backend.device.number == 1 % gpus
    lpu.close()


@pytest.mark.needs("PyCUDA")
def test_what_users_look_into(cuda: None) -> None:
    """Rings and variables hold what the GPU has computed."""
    recorder = OutputRecorder([("V", ["a", "b"])])
    current = StepInputProcessor("I", ["a"], 10.0, 0.0, 1.0)
    lpu = LPU(1e-4, "obj", network(0), input_processors=current, output_processors=recorder)
    lpu.pre_run()
    lpu.advance(50)
    variable = lpu.memory_manager.variables["V"]
    row = variable["buffer"].get()[variable["buffer"].current]
    seen = [row[variable["uids"][uid]] for uid in ("a", "b")]
    assert seen == lpu.get("V").tolist()
    lpu.advance(1)
    lpu.post_run()
    assert seen == recorder.output["V"]["data"][50].tolist() and seen[0] != -60.0


def test_models_for_the_cpu(cuda: None) -> None:
    """A class of NumPy alone says that it runs on the CPU, and what to choose."""
    from old_style import RawLeaky

    with pytest.raises(ModelError, match=r"RawLeaky runs on cpu.*NEURODRIVER_BACKEND=cpu"):
        LPU(1e-4, "obj", graph({"n": node("RawLeaky", IAF)}), extra_comps=[RawLeaky])


@pytest.mark.needs("PyCUDA")
@pytest.mark.parametrize("name", ["custom_model.py", "generic.py"])
def test_scripts(name: str, cuda: None, tmp_path: Path) -> None:
    """The files of a script of the old library hold the bits that it gets on the CPU."""
    files = {}
    for backend in ("cpu", "cuda"):
        folder = tmp_path / backend
        folder.mkdir()
        given = ["--folder", folder] if name == "generic.py" else [folder / "custom.h5"]
        command = [sys.executable, "-m", "neurodriver.compat", ROOT / "examples/old_style" / name]
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        own = {**os.environ, "PYTHONPATH": path, "NEURODRIVER_BACKEND": backend}
        words = [str(word) for word in (*command, *given)]
        done = subprocess.run(words, capture_output=True, text=True, env=own, timeout=300)
        assert done.returncode == 0, done.stderr
        (recorded,) = [p for p in folder.glob("*.h5") if "input" not in p.name]
        with h5py.File(recorded) as file:
            names = ("V/data", "spike_state/data/time", "spike_state/data/index")
            files[backend] = {n: file[n][()] for n in names}
    assert len(files["cpu"]["spike_state/data/time"]) > 20
    assert_same_bits(files["cuda"], files["cpu"])


@pytest.mark.needs("PyCUDA")
def test_values_of_ports(cuda: None) -> None:
    """A port mapper reads and writes an array of PyCUDA."""
    pm = GPUPortMapper("/a[0:3],/b", np.arange(4.0))
    pm["/a[0:2]"] = [7.0, 8.0]
    pm["/b"] = 2.0
    assert type(pm.data).__module__ == "pycuda.gpuarray" and pm.data_ctype == "double"
    assert pm["/b,/a[1]"].tolist() == [2.0, 8.0] and pm.data.get().tolist() == [7.0, 8.0, 2.0, 2.0]
    assert pm.copy().equals(pm)


@pytest.mark.needs("PyCUDA")
def test_generators_of_kernels(cuda: None) -> None:
    """A generator for each thread, that of its number and the seed."""
    from pycuda.compiler import SourceModule
    from pycuda.gpuarray import zeros

    GPUPortMapper("/a", [0.0])  # makes a context
    setup = importlib.import_module("neurokernel.LPU.utils.curand").curand_setup
    text = """
    #include <curand_kernel.h>
    extern "C" __global__ void draw(curandStateXORWOW_t *states, double *out)
    {
        int i = threadIdx.x + blockIdx.x * blockDim.x;
        out[i] = curand_uniform_double(states + i);
    }
    """
    draw = SourceModule(text, no_extern_c=True).get_function("draw")
    drawn = []
    for seed in (3, 3, 4):
        states, out = setup(512, seed), zeros(512, np.float64)
        draw(states, out, block=(128, 1, 1), grid=(4, 1))
        drawn.append(out.get())
    assert np.array_equal(drawn[0], drawn[1]) and not (drawn[0] == drawn[2]).any()
    assert len(set(drawn[0])) == 512 and 0.4 < drawn[0].mean() < 0.6
