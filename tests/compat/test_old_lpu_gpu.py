"""The old LPU on a GPU, with an emulated one and an emulated PyCUDA; and what it says without."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from emulated_gpu import MODELS, emulate
from emulated_pycuda import emulate_pycuda
from old_circuit import FILE, TWINS, check_own_kernel, circuit, run_old
from support import assert_same_bits, graph

import neurodriver.compat.old
from neurodriver import StepInput, mpi
from neurodriver.backends import choice
from neurodriver.backends.cuda.driver import DeviceError
from neurodriver.compat.core_gpu import Manager
from neurodriver.compat.lpu import LPU
from neurodriver.compat.outputs import OutputRecorder
from neurodriver.errors import CircuitWarning, LPUExecutionError, ModelError, NeurodriverError
from neurodriver.model.runtime import backends_of

assert neurodriver.compat.old is not None

pytestmark = pytest.mark.usefixtures("plain")


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let circuits run on the emulated GPU; return the numbers of those that are used."""
    emulate(monkeypatch)
    emulate_pycuda(monkeypatch)
    monkeypatch.setenv("NEURODRIVER_BACKEND", "cuda")
    used: list[int] = []
    taken = choice.gpu_number

    def seen(given: choice.Choice) -> int:
        used.append(taken(given))
        return used[-1]

    monkeypatch.setattr(choice, "gpu_number", seen)
    return used


@pytest.mark.parametrize("executor", ["resident", "stepwise"])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_old_classes_with_kernels(
    gpu: list[int], kind: type, executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they are, from a file: inputs, rings, states, initial values, templates; equal bits."""
    monkeypatch.setenv("NEURODRIVER_EXECUTOR", executor)
    found, lpu = run_old([FILE], default_dtype=kind)
    assert gpu == [0] and lpu.settings.choice.name == "cuda"
    assert lpu.backend.instances.made and lpu.backend.stepwise
    monkeypatch.setenv("NEURODRIVER_BACKEND", "cpu")
    expected, _ = run_old(TWINS, default_dtype=kind)
    assert_same_bits(found, expected)


def test_a_class_without_a_base(gpu: list[int]) -> None:
    """A text with arguments of its own is no template: the class starts its kernel itself."""
    check_own_kernel()


def test_what_users_look_into(gpu: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables, rings and ports have the values of the GPU; processors see them at each step."""
    seen: list[Any] = []

    class Reader(OutputRecorder):
        """Looks into the ring of the LPU."""

        per_step = True

        def longest(self, step: int) -> int:
            return 1

        def _append(self, block: Any, rows: int) -> None:
            super()._append(block, rows)
            variable = self.LPU_obj.memory_manager.variables["V"]
            ring = variable["buffer"]
            row = ring.parr.get()[(ring.current - 1) % ring.buffer_length]
            seen.append(row[variable["uids"]["n1"]])

    def watch() -> tuple[Any, ...]:
        recorder = Reader([("V", ["n1", "w1"])])
        lpu = LPU(
            1e-4, "obj", circuit(), output_processors=recorder, extra_comps=[*MODELS, *extra],
            input_processors=StepInput("I", ["n1"], 0.375),
        )  # fmt: skip
        lpu.pre_run()
        lpu.advance(9)
        ring = lpu.memory_manager.get_buffer("V")
        told = ring.current, ring.get()[ring.current].max(), lpu.get("V")[1], lpu.pm["gpot"]["/a/v"]
        last = lpu.get("V")
        shape = ring.size == ring.ld == ring.parr.shape[1], ring.parr.shape[0] == ring.buffer_length
        assert all(shape) and ring.gpudata and ring.parr.dtype == ring.dtype == np.float64
        lpu.post_run()
        assert (lpu.get("V") == last).all() and ring.get()[ring.current].max() == told[1]
        lpu.close()
        V = recorder.output["V"]["data"]
        assert told[3] == V[8, 1] and told[2] > 0
        np.testing.assert_array_equal(seen, V[:, 0])
        seen.clear()
        return told[1:]

    extra: list[Any] = [FILE]
    on_gpu = watch()
    monkeypatch.setenv("NEURODRIVER_BACKEND", "cpu")
    extra[:] = TWINS
    assert watch() == on_gpu


def lone(name: str = "Halving", **more: Any) -> nx.MultiDiGraph:
    """Return a graph of one component."""
    return graph({"n": {"class": name, **more}})


@pytest.mark.parametrize(
    ("asked", "environment", "rank", "taken"),
    [(0, "", 0, 0), (None, "", 1, 1), (0, "", 1, 1), (1, "", 0, 1), (0, "1", 0, 1),
     (1, "0", 0, 1), (np.int64(1), "", 1, 1)],
)  # fmt: skip
def test_which_gpu(
    gpu: list[int], monkeypatch: pytest.MonkeyPatch, asked: Any, environment: str, rank: int,
    taken: int,
) -> None:  # fmt: skip
    """The number that is given; for 0 that of the environment, or of the rank on its host."""
    here = mpi.World()
    here.local_rank = rank
    monkeypatch.setattr(mpi, "world", lambda: here)
    monkeypatch.setenv("NEURODRIVER_DEVICE", environment)
    lpu = LPU(1e-4, "obj", lone(), device=asked, extra_comps=MODELS)
    assert gpu == [taken] and lpu.device == asked
    lpu.close()


def test_a_gpu_that_is_not_there(gpu: list[int]) -> None:
    """The number counts modulo how many there are, with a warning; others are refused."""
    with pytest.warns(CircuitWarning, match="x: there is no GPU 5, only 2; GPU 1 is taken"):
        LPU(1e-4, "obj", lone(), device=5, extra_comps=MODELS, id="x").close()
    assert gpu == [1]
    for wrong in (-1, "second"):
        with pytest.raises(NeurodriverError, match="device must be the number of a GPU"):
            LPU(1e-4, "obj", lone(), device=wrong, extra_comps=MODELS)


@pytest.mark.parametrize(("devices", "taken"), [((1, 1), 1), ((0, 1), 0), ((1, 0), 0)])
def test_lpus_of_one_process_share_a_gpu(
    gpu: list[int], devices: tuple[int, ...], taken: int, recwarn: pytest.WarningsRecorder
) -> None:
    """The one that all ask for, else that of the rank, with a warning."""
    man, recorders = Manager(), []
    for i, number in enumerate(devices):
        recorders.append(OutputRecorder([("V", None)]))
        man.add(
            LPU, f"l{i}", 1e-4, "obj", lone(start=4.0 + i), device=number, extra_comps=MODELS,
            output_processors=[recorders[-1]],
            input_processors=[StepInput("I", ["n"], 1.0)],
        )  # fmt: skip
    man.start(steps=3)
    man.wait()
    assert set(gpu) == {taken}
    assert [r.output["V"]["data"][0, 0] for r in recorders] == [4.0, 5.0]
    told = [str(one.message) for one in recwarn if "share a GPU" in str(one.message)]
    assert len(told) == (devices[0] != devices[1])
    assert not told or f"they wish for {devices[0]}, {devices[1]}" in told[0]


def test_devices_mean_nothing_on_the_cpu(recwarn: pytest.WarningsRecorder) -> None:
    """LPUs of one process may ask for any."""
    man = Manager()
    for i in range(3):
        man.add(LPU, f"l{i}", 1e-4, "obj", lone(start=1.0), device=i, extra_comps=MODELS)
    man.start(steps=3)
    man.wait()
    assert not [one for one in recwarn if "GPU" in str(one.message)]
    assert {lpu.settings.choice.name for lpu in man.lpus.values()} == {"cpu"}


TEXT = """
from neurokernel.LPU.NDComponents.MembraneModels.BaseMembraneModel import *

class Kernel(BaseMembraneModel):
    params = ["a"]
    def __init__(self, params_dict, access_buffers, dt, **more):
        super().__init__(params_dict, access_buffers, dt, **more)
        self.own = SourceModule("text").get_function("f")
    def run_step(self, update_pointers, st=None):
        self.own.prepared_call((1, 1), (1, 1, 1))

class Early(BaseMembraneModel):
    params = ["a"]
    def run_step(self, update_pointers, st=None):
        import pycuda.driver
        pycuda.driver.memcpy_dtod(0, 0, 0)

class Helped(BaseMembraneModel):
    params = ["a"]
    def pre_run(self, update_pointers):
        helper(3)
    def run_step(self, update_pointers, st=None):
        pass

def helper(n):
    return [garray.zeros(n, np.float64) for _ in range(2)]

class Plain(BaseMembraneModel):
    params = ["a"]
    def run_step(self, update_pointers, st=None):
        host_array(update_pointers["V"], self.num_comps)[:] = self.params_dict["a"]

from neurodriver import host_array
"""


def test_where_old_classes_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where their code uses PyCUDA, on a GPU; names that came with ``*`` alone mean nothing."""
    (tmp_path / "mine.py").write_text(TEXT)
    names = ["Kernel", "Early", "Helped", "Plain"]
    for _ in range(2):  # without PyCUDA, with it
        known = neurodriver.compat.lpu.known_models([str(tmp_path / "mine.py")])
        assert [backends_of(known[n]) for n in names] == [("cuda",)] * 3 + [("cpu",)]
        with pytest.raises(ModelError, match=r"Kernel runs on cuda.*NEURODRIVER_BACKEND=cuda.*pip"):
            LPU(1e-4, "obj", lone("Kernel", a=1.0), extra_comps=known["Kernel"])
        with LPU(1e-4, "obj", lone("Plain", a=3.0), extra_comps=known["Plain"]) as lpu:
            lpu.advance(1)
            assert lpu.get("V").tolist() == [3.0]
        emulate_pycuda(monkeypatch)
        for name in list(sys.modules):
            if name.startswith("neurokernel"):
                monkeypatch.delitem(sys.modules, name)


def test_a_template_that_starts_itself_on_the_cpu() -> None:
    """The error says what takes a GPU, and what to call instead."""
    words = r"Watched\.run_step, step 0: .*starts its kernel itself.*super\(\)\.run_step"
    with (
        pytest.raises(ModelError, match=words),
        LPU(1e-4, "obj", lone("Watched", start=1.0), extra_comps=[FILE]) as lpu,
    ):
        lpu.run(steps=1)


def test_what_a_manager_says(capsys: pytest.CaptureFixture[str]) -> None:
    """A model that needs a GPU is told in a line, without a traceback."""
    man = Manager()
    man.add(LPU, "retina", 1e-4, "obj", lone("Mean", share=1.0), extra_comps=[FILE])
    with pytest.raises(LPUExecutionError, match=r"LPU 'retina' failed at step 0: .*Mean runs"):
        man.spawn()
    said = capsys.readouterr().err
    assert "Mean runs on cuda" in said and "NEURODRIVER_BACKEND=cuda" in said
    assert "Traceback" not in said


def test_without_bindings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A circuit that is to run on a GPU says what is missing and what to do."""
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    monkeypatch.setenv("NEURODRIVER_BACKEND", "cuda")
    for number in (0, 1):
        with pytest.raises(DeviceError, match=r"cuda-bindings.*or run with backend 'cpu'"):
            LPU(1e-4, "obj", lone(), device=number, extra_comps=MODELS)
