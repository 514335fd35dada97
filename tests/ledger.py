"""What a backend does not support, and what tests need of a machine: each once, with its reason.

``UNSUPPORTED`` holds for every test that runs on a backend: one of ``system/test_backends.py``, or
any other where ``NEURODRIVER_BACKEND`` or ``NEURODRIVER_VALIDATE`` chooses the backend. Such a test
is run and has to fail as its entry says. A test that passes fails for its entry, which is then
removed: the table never says more than is true.

``NEEDS`` holds for tests that are marked ``needs(name)``. They are skipped where the machine lacks
what they need. ``conftest.py`` applies both tables.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from neurodriver import settings
from neurodriver.backends.compare.agreement import DisagreementError
from neurodriver.errors import CompileError, ModelError, NeurodriverError

BACKENDS = ("cpu", "cpu shadow", "cuda resident", "cuda stepwise", "cuda shadow", "emulated")
GPUS = ("cuda resident", "cuda stepwise")
SHADOWS = ("cpu shadow", "cuda shadow")
"""Backends that tests know: a shadow is a run that ``NEURODRIVER_VALIDATE`` compares with the CPU,
emulated is the backend of a GPU on the device of ``emulated_gpu.py``."""


@dataclass(frozen=True)
class Unsupported:
    """What a backend does not support.

    Attributes
    ----------
    tests : str
        Pattern of the ids of tests, in which ``*`` stands for any text.
    error : type or tuple of types
        What such a test raises.
    """

    backends: tuple[str, ...]
    tests: str
    error: type[Exception] | tuple[type[Exception], ...]
    reason: str

    def concerns(self, test: str) -> bool:
        """Whether a test is one that the entry tells of."""
        return re.fullmatch(".*".join(map(re.escape, self.tests.split("*"))), test) is not None


def feature(name: str) -> str:
    """Return the pattern of one feature on any backend."""
    return f"*system/test_backends.py::test_feature[*-{name}]"


FOR_GPUS, WITH_STEP = feature("class of kernels for GPUs"), feature("class with a run_step")

UNSUPPORTED = [
    Unsupported(
        ("cpu", "cpu shadow", "cuda shadow"), FOR_GPUS, ModelError,
        "a class that launches kernels of its own needs a GPU, and cannot be compared with a CPU",
    ),
    Unsupported(
        ("cuda resident", "cuda stepwise", "cuda shadow"), WITH_STEP, ModelError,
        "a run_step in numpy reads and writes memory of the host",
    ),
    Unsupported(
        ("cpu shadow", "cuda shadow"), feature("profile"), AssertionError,
        "kernels are not measured",
    ),
    *(
        Unsupported(("cpu shadow",), tests, error, "kernels are not measured")
        for tests, error in (
            ("*/test_profiled_runs.py::test_same_bits*", ValueError),
            ("*/test_profiled_runs.py::test_every_kernel_has_a_row*", AttributeError),
            ("*/test_profiled_runs.py::test_off_measures_nothing", AttributeError),
            ("*/test_profiled_runs.py::test_phases_of_a_run", AssertionError),
            ("*/test_profiled_runs.py::test_trace", IndexError),
            ("*/test_profiled_runs.py::test_manager", AssertionError),
            ("*/test_profiled_runs.py::test_kernels_that_own_code_launches*", IndexError),
            ("*/test_cli_profile.py::test_a_circuit", AssertionError),
            ("*/test_cli_profile.py::test_an_experiment", AssertionError),
            ("*/test_smoke_runs.py::test_profile", IndexError),
            ("*/test_experiments.py::test_a_profile_of_each_rank", AssertionError),
        )
    ),
    *(
        Unsupported(
            SHADOWS, f"*/test_fanout.py::{test}", AssertionError,
            "the CPU beside it sums by targets, and rings keep the rows of a whole call",
        )
        for test in ("test_all_at_once*", "test_no_column_is_made")
    ),
    *(
        Unsupported(("cpu shadow",), tests, AssertionError, "rings keep the rows of a whole call")
        for tests in (
            "*/test_custom_raw.py::test_what_a_raw_class_is_given*",
            "*/test_semantics.py::test_every_feature_of_the_format",
            "*/test_memory.py::test_buffers_and_pointers_of_the_contract",
            "*/test_old_lpu.py::test_delays_of_the_minimal_circuit",
            *(f"*/test_old_lpu.py::test_memory_manager[{rows}]" for rows in (0, 1, 7, 50)),
        )
    ),
    *(
        Unsupported(
            ("cpu shadow",), tests, error, "a class's own code is called by both backends"
        )
        for tests, error in (
            ("*/test_custom.py::test_run_step_around_a_kernel", DisagreementError),
            ("*/test_custom.py::test_a_declared_model_may_have_methods", AssertionError),
            ("*/test_custom_raw.py::test_life_of_a_raw_class", AssertionError),
            ("*/test_profiled_runs.py::test_own_code", AssertionError),
        )
    ),
    *(
        Unsupported(("cpu shadow",), tests, AssertionError, "a report is printed at the end")
        for tests in (
            "*/test_experiment.py::test_run_and_check",
            "*/test_cli.py::test_run",
            "*/test_cli_runs.py::test_interrupt[*",
            "*/test_smoke_commands.py::test_run_plot_and_info",
            "*/test_smoke_commands.py::test_run_of_an_experiment",
        )
    ),
    *(
        Unsupported(GPUS, f"*/test_phases.py::{test}*", error, "only a CPU does that with phases")
        for test, error in (
            ("test_single_phases", NeurodriverError),
            ("test_values_that_are_set_between_phases", NeurodriverError),
            ("test_batches", NeurodriverError),
            ("test_circuits_without_an_order_have_the_text_that_they_had", AssertionError),
        )
    ),
    *(
        Unsupported(GPUS, f"*/test_pools.py::{test}*", NeurodriverError, "pools are phases")
        for test in ("test_single_phases", "test_batches")
    ),
    *(
        Unsupported(
            ("emulated",), feature(name), NotImplementedError,
            "the emulated device does three models, whose arithmetic is exact, in plain Python",
        )
        for name in (
            "random delays", "all to all", "long sums", "weighted spikes",
            "weighted spikes of long delays", "weighted spikes from outside", "projection",
            "gap junctions", "random numbers", "sub-units", "template", "class with a run_step",
            "class of kernels for GPUs",
        )
    ),
]  # fmt: skip


# ---- what a machine lacks -------------------------------------------------------------------


def _gpus(number: int) -> str:
    from neurodriver.backends.cuda.device import device_count
    from neurodriver.backends.cuda.driver import DeviceError

    try:
        found = device_count()
    except DeviceError as error:
        return str(error)
    return "" if found >= number else f"there are {found} GPUs, {number} are needed"


def _clusters() -> str:
    from neurodriver.backends.cuda.device import Device

    return _gpus(1) or ("" if Device(0).clusters else "this GPU has no clusters of blocks")


def _cuda_compiler() -> str:
    from neurodriver.backends.cuda.compiler import find_compiler

    try:
        return find_compiler().name
    except CompileError:
        return ""


def _ffmpeg() -> bool:
    from neurodriver.plot.encode import find_ffmpeg

    return find_ffmpeg() is not None


def _package(name: str) -> bool:
    top, _, _ = name.partition(".")  # stand-ins for packages are no packages
    return PathFinder.find_spec(top) is not None and find_spec(name) is not None


def _gathers() -> bool:
    try:
        return "avx2" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False


def _several_processors() -> bool:
    return Path("/proc/self/task").is_dir() and len(os.sched_getaffinity(0)) > 1


def _unless(found: bool, reason: str) -> str:
    return "" if found else reason


NEEDS: dict[str, Callable[[], str]] = {
    "a GPU": lambda: _gpus(1),
    "two GPUs": lambda: _gpus(2),
    "clusters of blocks": _clusters,
    "a CUDA compiler": lambda: _unless(bool(_cuda_compiler()), "no CUDA compiler is installed"),
    "NVRTC": lambda: _unless(
        _cuda_compiler() == "NVRTC", "cuda-bindings and nvidia-cuda-nvrtc are not installed"
    ),
    "nvcc": lambda: _unless(shutil.which("nvcc") is not None, "nvcc is not installed"),
    "PyCUDA": lambda: _unless(_package("pycuda"), "PyCUDA is not installed"),
    "no PyCUDA": lambda: _unless(not _package("pycuda"), "PyCUDA is installed"),
    "no dill": lambda: _unless(not _package("dill"), "dill is installed and sends more"),
    "vectors that gather": lambda: _unless(
        _gathers(), "nothing is promised of vectors that cannot gather"
    ),
    "a wide long double": lambda: _unless(
        bool(np.finfo(np.longdouble).eps < np.finfo(np.float64).eps),
        "long double is no wider than double",
    ),
    "two processors": lambda: _unless(
        _several_processors(), "this is no Linux, or it has one processor"
    ),
    "ffmpeg": lambda: _unless(_ffmpeg(), "ffmpeg is not found"),
    "fork": lambda: _unless(hasattr(os, "fork"), "this system has no fork"),
    "a common user": lambda: _unless(os.geteuid() != 0, "root may read everything"),
}
"""What a test is marked with -> why this machine lacks it; empty where it has it."""


@cache
def lacks(name: str) -> str:
    """Return why a machine does not have what a test needs; empty where it has."""
    return NEEDS[name]()


# ---- which entries hold ---------------------------------------------------------------------


def chosen() -> tuple[str, ...]:
    """Return the backends that the environment lets tests run on."""
    try:
        name, executor = (settings.get(f"NEURODRIVER_{n}") for n in ("BACKEND", "EXECUTOR"))
        shadow = (f"{name} shadow",) if settings.validates() else ()
    except NeurodriverError:
        return ()
    return (name if name == "cpu" else f"{name} {executor}", *shadow)


def entries(test: str, backend: str | None = None) -> Iterator[Unsupported]:
    """Return what the ledger says of a test.

    Parameters
    ----------
    test : str
        Its id.
    backend : str, optional
        The backend that it names itself; by default those that the environment chooses.
    """
    backends = {*chosen()} if backend is None else {backend}
    return (e for e in UNSUPPORTED if backends.intersection(e.backends) and e.concerns(test))
