"""Every import path of the old library, and what is said where nothing stands behind one."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from neurodriver import Manager
from neurodriver.compat import aliases, old  # noqa: F401  (makes the old paths importable)
from neurodriver.model.library import shipped
from neurodriver.parallel.module import Module

LPU = "neurokernel.LPU"
MODELS = f"{LPU}.NDComponents"
STARRED = ("OrderedDict", "np", "garray", "cuda", "SourceModule", "dtype_to_ctype")
PORTS = "port_in_gpot port_in_spk port_out_gpot port_out_spk"

PATHS: dict[str, tuple[str, ...]] = {
    f"{LPU}.LPU": ("LPU", *PORTS.upper().split()),
    f"{LPU}.InputProcessors.BaseInputProcessor": ("BaseInputProcessor",),
    f"{LPU}.InputProcessors.ArrayInputProcessor": ("ArrayInputProcessor",),
    f"{LPU}.InputProcessors.FileInputProcessor": ("FileInputProcessor",),
    f"{LPU}.InputProcessors.PresynapticInputProcessor": ("PresynapticInputProcessor",),
    f"{LPU}.InputProcessors.StepInputProcessor": ("StepInputProcessor",),
    f"{LPU}.InputProcessors.RampInputProcessor": ("RampInputProcessor",),
    f"{LPU}.InputProcessors.BernoulliInputProcessor": ("BernoulliInputProcessor",),
    f"{LPU}.OutputProcessors.BaseOutputProcessor": ("BaseOutputProcessor",),
    f"{LPU}.OutputProcessors.FileOutputProcessor": ("FileOutputProcessor", "FileOutputReader"),
    f"{LPU}.OutputProcessors.OutputRecorder": ("OutputRecorder",),
    f"{MODELS}.NDComponent": ("NDComponent",),
    f"{MODELS}.AxonHillockModels.BaseAxonHillockModel": ("BaseAxonHillockModel", *STARRED),
    f"{MODELS}.AxonHillockModels.LeakyIAF": ("LeakyIAF", *STARRED),
    f"{MODELS}.AxonHillockModels.LeakyIAFwithRefractoryPeriod": ("LeakyIAFwithRefractoryPeriod",),
    f"{MODELS}.AxonHillockModels.HodgkinHuxley": ("HodgkinHuxley",),
    f"{MODELS}.AxonHillockModels.HodgkinHuxley2": ("HodgkinHuxley2",),
    f"{MODELS}.AxonHillockModels.ConnorStevens": ("ConnorStevens",),
    f"{MODELS}.MembraneModels.BaseMembraneModel": ("BaseMembraneModel", *STARRED),
    f"{MODELS}.MembraneModels.MorrisLecar": ("MorrisLecar",),
    f"{MODELS}.SynapseModels.BaseSynapseModel": ("BaseSynapseModel", *STARRED),
    f"{MODELS}.SynapseModels.AlphaSynapse": ("AlphaSynapse", *STARRED),
    f"{MODELS}.SynapseModels.PowerGpotGpot": ("PowerGPotGPot",),
    f"{MODELS}.SynapseModels.SigmoidSynapse": ("SigmoidSynapse",),
    f"{MODELS}.SynapseModels.SynapseAMPA": ("SynapseAMPA",),
    f"{MODELS}.SynapseModels.SynapseGABA": ("SynapseGABA",),
    f"{MODELS}.SynapseModels.SynapseNMDA": ("SynapseNMDA",),
    f"{MODELS}.DendriteModels.BaseDendriteModel": ("BaseDendriteModel", *STARRED),
    f"{MODELS}.DendriteModels.Aggregator": ("Aggregator",),
    f"{MODELS}.testing": ("test_NDComponent",),
    f"{LPU}.utils.visualizer": ("visualizer",),
    f"{LPU}.utils.curand": ("curand_setup",),
    f"{LPU}.utils.simpleio": ("write_array", "read_array", "dataset_append"),
    "neurokernel.core": ("Module", "Manager", "CTRL_TAG", "GPOT_TAG", "SPIKE_TAG"),
    "neurokernel.core_gpu": ("Module", "Manager", "CTRL_TAG", "GPOT_TAG", "SPIKE_TAG"),
    "neurokernel.pattern": ("Pattern", "Interface", "are_compatible"),
    "neurokernel.plsel": ("Selector", "SelectorMethods"),
    "neurokernel.pm": ("BasePortMapper", "PortMapper"),
    "neurokernel.pm_gpu": ("GPUPortMapper", "PortMapper"),
    "neurokernel.routing_table": ("RoutingTable",),
    "neurokernel.mpi": ("setup_logger",),
    "neurokernel.mixins": ("LoggerMixin",),
    "neurokernel.uid": ("uid",),
    "neurokernel.mpi_relaunch": (),
    "neurokernel.ctx_managers": ("IgnoreKeyboardInterrupt",),
    "neurokernel.tools.logging": ("setup_logger",),
    "neurokernel.tools.timing": ("Timer",),
    "neurokernel.tools.misc": (
        "LPUExecutionError", "catch_exception", "rand_bin_matrix", "memoized_property",
        "dtype_to_mpi", "openmpi_cuda_support", "renumber_in_order",
    ),
    "neurokernel.tools.graph": ("graph_to_df",),
    "neurokernel.tools.plot": ("imdisp", "show_pydot", "show_pygraphviz"),
    "neurokernel.tools.zmq": ("is_poll_in", "get_random_port"),
    "neurokernel.tools.mpi_run": ("mpi_run", "mpi_run_manager"),
    "neurokernel.tools.autoinit": (),
    "retina.NDComponents.MembraneModels.PhotoreceptorModel": ("PhotoreceptorModel",),
    "retina.NDComponents.MembraneModels.BufferPhoton": ("BufferPhoton",),
    "retina.NDComponents.MembraneModels.BufferVoltage": ("BufferVoltage",),
}  # fmt: skip
"""Old module -> the names that scripts import from it."""

REFUSED = {
    (f"{LPU}.utils.parray", "PitchArray"): "use NumPy",
    (f"{LPU}.utils.parray", "to_gpu"): "use NumPy",
    (f"{LPU}.utils.parray_utils", "get_pitch_bytes"): "use NumPy",
    ("neurokernel.mpi", "WorkerManager"): "mpiexec",
    ("neurokernel.mpi_proc", "ProcessManager"): "mpiexec",
    ("neurokernel.tools.gpu", "bufint"): "use NumPy",
    ("neurokernel.tools.mpi", "MPIOutput"): "mpi4py",
}
"""Names that are importable nowhere -> what the ImportError advises."""

TAGS = {"CTRL_TAG": 1, "GPOT_TAG": 2, "SPIKE_TAG": 3}


@pytest.mark.parametrize("path", PATHS)
def test_old_path(path: str) -> None:
    """A script finds each name under its old path."""
    names = PATHS[path]
    module = importlib.import_module(path)
    for name in names:
        scope: dict[str, object] = {}
        exec(f"from {path} import {name}", scope)
        assert scope[name] is getattr(module, name)
        if name in TAGS:
            assert scope[name] == TAGS[name]
        if name.startswith("PORT_"):
            assert scope[name] == name.lower()


@pytest.mark.parametrize(("path", "name"), REFUSED)
def test_what_is_not_provided_says_so(path: str, name: str) -> None:
    """The module can be imported; a name without a successor is an ImportError with advice."""
    module = importlib.import_module(path)
    with pytest.raises(ImportError, match=REFUSED[path, name]) as caught:
        exec(f"from {path} import {name}", {})
    assert f"{path}.{name} is not provided" in str(caught.value)
    assert caught.value.name == module.__name__


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("import neurokernel.neuroml", "GEXF"),
        ("import neurokernel.LPU.Transform", "empty"),
        ("import neurokernel.patern", "did you mean 'neurokernel.pattern'"),
        ("from neurokernel.core_gpu import Manger", "Manger"),
        (f"from {MODELS}.AxonHillockModels.LeakyIF import LeakyIF", "did you mean 'LeakyIAF'"),
        ("from retina.InputProcessors.RetinaInputIndividual import X", "ArrayInputProcessor"),
    ],
)
def test_unknown_paths(statement: str, words: str) -> None:
    """What never was, or is gone, is an ImportError that helps."""
    with pytest.raises(ImportError, match=words):
        exec(statement, {})


def test_both_cores_are_kinds_of_the_native_one() -> None:
    """``Module`` and ``Manager`` of both old cores are kinds of those of this library."""
    core, core_gpu = map(importlib.import_module, ("neurokernel.core", "neurokernel.core_gpu"))
    assert issubclass(core_gpu.Module, Module) and issubclass(core.Module, core_gpu.Module)
    assert core_gpu.Manager is core.Manager and issubclass(core.Manager, Manager)


def test_every_shipped_model_has_its_old_path() -> None:
    """A model file of any kind leads to the model of its name, and to the very same class."""
    kinds = {
        "axon_hillocks": "AxonHillockModels",
        "membranes": "MembraneModels",
        "synapses": "SynapseModels",
        "dendrites": "DendriteModels",
    }
    seen = 0
    for name, model in shipped().items():
        kind = kinds.get(model.__module__.split(".")[-2])
        if kind is not None:
            module = importlib.import_module(f"{MODELS}.{kind}.{name}")
            assert getattr(module, name) is model
            seen += 1
    assert seen > 12


def test_star_import_of_a_model_file() -> None:
    """``from file import *`` brings the class, its base and the names of PyCUDA."""
    scope: dict[str, object] = {}
    exec(f"from {MODELS}.AxonHillockModels.LeakyIAF import *", scope)
    assert {"LeakyIAF", *STARRED} <= set(scope)


def test_tables_hold_no_path_twice() -> None:
    """A path is provided or gone, never both; every target is one of this project's modules."""
    assert not set(aliases.TABLE) & set(aliases.GONE)
    for names in aliases.TABLE.values():
        for place in names.values():
            head = place.partition(".")[0].partition(":")[0]
            assert place.startswith("!") or head in ("neurodriver", "numpy", "collections")


def test_importing_the_old_paths_loads_little() -> None:
    """Installing the paths and importing modules loads nothing until a name is used."""
    code = (
        "import sys, neurodriver.compat.old\n"
        "import neurokernel.core_gpu, neurokernel.pattern, neurokernel.LPU.utils.visualizer\n"
        "heavy = {'pandas', 'matplotlib', 'mpi4py', 'networkx', 'neurodriver.compat.lpu'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("kind", ["module", "package", "old package"])
def test_another_retina_is_left_alone(kind: str, tmp_path: Path) -> None:
    """Only the old package of that name is stood in for; what it has beside is still found."""
    folder = tmp_path / "retina"
    if kind == "module":
        (tmp_path / "retina.py").write_text("mine = 1\n")
    else:
        (folder / "NDComponents").mkdir(parents=True) if kind == "old package" else folder.mkdir()
        (folder / "__init__.py").write_text("mine = 1\n")
        (folder / "screens.py").write_text("here = 2\n")
    code = "import neurodriver.compat.old, retina\n"
    if kind == "old package":
        code += "from retina.screens import here; print(here, hasattr(retina, 'mine'))\n"
    else:
        code += "print(retina.mine)\n"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == ("2 False" if kind == "old package" else "1"), done.stderr


@pytest.mark.needs("no PyCUDA")
def test_stand_ins_can_be_mentioned_but_not_used() -> None:
    """Without PyCUDA, its names are there for ``isinstance`` and as attributes; calls explain."""
    from neurodriver.compat.stand_ins import NoDeviceError, cuda, garray  # type: ignore[attr-defined]

    assert not isinstance(3, garray.GPUArray)
    with pytest.raises(NoDeviceError, match=r"pycuda\.driver\.mem_alloc needs PyCUDA"):
        cuda.mem_alloc(8)
    with pytest.raises(ImportError):
        garray.to_gpu([1.0])
    curand = importlib.import_module(f"{LPU}.utils.curand")
    with pytest.raises(NoDeviceError, match=r"curand_setup needs PyCUDA.*uniform\(\)"):
        curand.curand_setup(8, 0)


def test_c_types() -> None:
    """``dtype_to_ctype`` needs no PyCUDA."""
    import numpy as np

    module = importlib.import_module(f"{MODELS}.NDComponent")
    assert [module.dtype_to_ctype(t) for t in (np.float64, np.float32, np.int32)] == [
        "double",
        "float",
        "int",
    ]
