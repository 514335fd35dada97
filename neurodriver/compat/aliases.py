"""The import paths of the old library: one table, and a finder that makes modules from it.

A module of the old name holds nothing of its own: a name is looked up when it is first used, so
importing one module loads no other.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import near

OLD_LPU = "neurokernel.LPU"
COMPONENTS = f"{OLD_LPU}.NDComponents"
KINDS = ("AxonHillockModels", "MembraneModels", "SynapseModels", "DendriteModels")
RETINA_MODELS = "retina.NDComponents.MembraneModels"

ALL = "*"
"""Stands for every public name of a module."""

_INPUTS = "neurodriver.compat.inputs"
_OUTPUTS = "neurodriver.compat.outputs"
_PORTS = "neurodriver.compat.ports"
_TOOLS = "neurodriver.compat.tools"
_ARRAYS = "variables are NumPy arrays here: use NumPy"
_WORKERS = "worker processes are started by mpiexec; see docs/migration.md"


def _each(module: str, *names: str) -> dict[str, str]:
    return {name: f"{module}:{name}" for name in names}


_BASES = {
    "BaseAxonHillockModel": KINDS[0],
    "BaseMembraneModel": KINDS[1],
    "BaseSynapseModel": KINDS[2],
    "BaseDendriteModel": KINDS[3],
}
_STARRED = {
    "OrderedDict": "collections:OrderedDict",
    "np": "numpy",
    **_each("neurodriver.compat.stand_ins", "garray", "cuda", "SourceModule", "dtype_to_ctype"),
    **_each("neurodriver.compat.components", "NDComponent"),
}
"""What a script gets from ``from <file of a model> import *``, beside the classes."""

TABLE: dict[str, dict[str, str]] = {
    f"{OLD_LPU}.LPU": {
        **_each("neurodriver.compat.lpu", "LPU"),
        **{
            name: f"neurodriver.compat.graphs:{name}"
            for name in ("PORT_IN_GPOT", "PORT_IN_SPK", "PORT_OUT_GPOT", "PORT_OUT_SPK")
        },
    },
    **{
        f"{OLD_LPU}.InputProcessors.{kind}InputProcessor": _each(_INPUTS, f"{kind}InputProcessor")
        for kind in ("Base", "Array", "File", "Presynaptic", "Step", "Ramp", "Bernoulli")
    },
    f"{OLD_LPU}.OutputProcessors.BaseOutputProcessor": _each(_OUTPUTS, "BaseOutputProcessor"),
    f"{OLD_LPU}.OutputProcessors.FileOutputProcessor": _each(
        _OUTPUTS, "FileOutputProcessor", "FileOutputReader"
    ),
    f"{OLD_LPU}.OutputProcessors.OutputRecorder": _each(_OUTPUTS, "OutputRecorder"),
    f"{OLD_LPU}.neurons.baseneuron": _each("neurodriver.compat.base_classes", "BaseNeuron"),
    f"{OLD_LPU}.synapses.basesynapse": _each("neurodriver.compat.base_classes", "BaseSynapse"),
    f"{COMPONENTS}.NDComponent": {**_STARRED},
    f"{COMPONENTS}.testing": _each("neurodriver.compat.testing", "test_NDComponent"),
    **{
        f"{COMPONENTS}.{kind}.{base}": {**_STARRED, **_each("neurodriver.compat.components", base)}
        for base, kind in _BASES.items()
    },
    f"{OLD_LPU}.utils.visualizer": _each("neurodriver.compat.visualizer", "visualizer"),
    f"{OLD_LPU}.utils.simpleio": {ALL: "neurodriver.compat.simpleio"},
    f"{OLD_LPU}.utils.parray": {ALL: f"!{_ARRAYS}"},
    f"{OLD_LPU}.utils.parray_utils": {ALL: f"!{_ARRAYS}"},
    f"{OLD_LPU}.utils.curand": _each("neurodriver.compat.curand", "curand_setup"),
    **{
        f"neurokernel.{name}": _each(
            f"neurodriver.compat.{name}", "Module", "Manager", "CTRL_TAG", "GPOT_TAG", "SPIKE_TAG"
        )
        for name in ("core", "core_gpu")
    },
    "neurokernel.plsel": _each(_PORTS, "Selector", "SelectorMethods", "SelectorParser"),
    "neurokernel.pattern": _each(_PORTS, "Pattern", "Interface", "are_compatible"),
    "neurokernel.pm": _each(_PORTS, "BasePortMapper", "PortMapper"),
    "neurokernel.pm_gpu": _each("neurodriver.compat.pm_gpu", "GPUPortMapper", "PortMapper"),
    "neurokernel.routing_table": _each(_PORTS, "RoutingTable"),
    "neurokernel.mpi": {
        **_each(f"{_TOOLS}.logging", "setup_logger"),
        "Worker": f"!{_WORKERS}",
        "WorkerManager": f"!{_WORKERS}",
    },
    "neurokernel.mpi_proc": {ALL: f"!{_WORKERS}"},
    "neurokernel.mpi_relaunch": {},
    "neurokernel.mixins": _each("neurodriver.compat.mixins", "LoggerMixin"),
    "neurokernel.uid": _each("neurodriver.compat.uid", "uid"),
    **{
        f"neurokernel.tools.{name}": {ALL: f"{_TOOLS}.{name}"}
        for name in ("logging", "timing", "misc", "graph", "plot", "zmq")
    },
    "neurokernel.tools.gpu": {ALL: f"!{_ARRAYS}"},
    "neurokernel.tools.mpi": {ALL: "!use mpi4py itself"},
    "neurokernel.tools.mpi_run": {ALL: f"{_TOOLS}.mpi_run"},
    "neurokernel.tools.autoinit": {},
    "neurokernel.ctx_managers": {ALL: "neurodriver.compat.ctx_managers"},
}
"""Old module -> its names -> ``module:attribute`` here, or ``!`` and what to use instead."""

GONE = {
    f"{OLD_LPU}.MemoryManager": "read `LPU.memory_manager` of an LPU",
    f"{OLD_LPU}.ControlInterface": "it was empty",
    f"{OLD_LPU}.Transform": "it was empty",
    "neurokernel.neuroml": "nothing read NeuroML; build a networkx graph or GEXF file",
    "neurokernel.all_global_vars": "classes are not shipped between processes any more",
    "retina.InputProcessors": "inject photon rates with ArrayInputProcessor or FileInputProcessor",
    "retina.retina": "build the graph of the retina with networkx",
    "retina.LPU": "use neurokernel.LPU.LPU",
}
"""Old modules without a successor -> what to do instead."""

FILES = {"PowerGpotGpot": "PowerGPotGPot"}
"""Files of models that were not named like their class."""


def _target(place: str) -> Any:
    """Return what ``module`` or ``module:attribute`` names."""
    module, _, attribute = place.partition(":")
    found = importlib.import_module(module)
    return getattr(found, attribute) if attribute else found


def model_of(name: str) -> str | None:
    """Return the class that a file of an old package of models stood for, None for others."""
    package, _, file = name.rpartition(".")
    kinds = [f"{COMPONENTS}.{kind}" for kind in KINDS]
    return FILES.get(file, file) if package in (*kinds, RETINA_MODELS) else None


def _packages() -> set[str]:
    names = [*TABLE, *[f"{COMPONENTS}.{kind}.x" for kind in KINDS], f"{RETINA_MODELS}.x"]
    return {n[:i] for n in names for i, letter in enumerate(n) if letter == "."}


PACKAGES = _packages()


class OldNames(MetaPathFinder, Loader):
    """Finds the modules of ``TABLE``, the packages above them and the files of models."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to make a module of the old library; None for any other module."""
        top = fullname.partition(".")[0]
        if top not in ("neurokernel", "retina") or (top == "retina" and _other_retina()):
            return None
        if fullname in PACKAGES:
            spec = ModuleSpec(fullname, self, is_package=True)
            spec.submodule_search_locations = _installed(fullname) if top == "retina" else []
            return spec
        model = model_of(fullname)
        if fullname in TABLE or (model is not None and _model(model) is not None):
            return ModuleSpec(fullname, self)
        if top == "retina" and _installed("retina") and PathFinder.find_spec(fullname, path):
            return None  # the rest of that package, where it is installed
        raise ModuleNotFoundError(_absent(fullname, model), name=fullname)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Let Python make the module."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its names."""
        name = module.__name__
        module.__doc__ = f"The old module {name}; see docs/migration.md."
        module.__dict__["__getattr__"] = lambda attribute: _attribute(name, attribute)


def _installed(package: str) -> list[str]:
    """Return where a package of this name is installed."""
    spec = PathFinder.find_spec(package) if "." not in package else None
    return list(spec.submodule_search_locations or []) if spec is not None else []


def _other_retina() -> bool:
    """Whether there is a module of this name that is not the old library's package."""
    spec = PathFinder.find_spec("retina")
    places = list(spec.submodule_search_locations or []) if spec is not None else []
    return spec is not None and not any(Path(p, "NDComponents").is_dir() for p in places)


def _absent(name: str, model: str | None) -> str:
    """Return why there is no such module, and what to use instead."""
    if model is not None:
        from ..model.library import shipped

        hint = near(model, shipped())
        return f"{name}: no shipped model '{model}'{hint}; `neurodriver models` lists them"
    for gone, advice in GONE.items():
        if name == gone or name.startswith(f"{gone}."):
            return f"{name} is not provided: {advice}"
    return f"{name} is not provided{near(name, [*TABLE, *PACKAGES])}; see docs/migration.md"


def _model(name: str) -> Any:
    from ..model.library import shipped

    return shipped().get(name)


def _attribute(module: str, name: str) -> Any:
    """Return a name of an old module.

    Raises
    ------
    ImportError
        For what the old module had and this version does not provide.
    AttributeError
        For any other name.
    """
    if name == "__all__":
        return _public(module)
    if name.startswith("__"):
        raise AttributeError(f"module '{module}' has no attribute '{name}'")
    names = _names(module)
    place = names.get(name) or names.get(ALL, "")
    if place:
        if place.startswith("!"):
            raise ImportError(f"{module}.{name} is not provided: {place[1:]}", name=module)
        try:
            found = _target(place if ":" in place or name in names else f"{place}:{name}")
        except ModuleNotFoundError as error:
            raise ImportError(_later(module, name, error), name=module) from None
        except AttributeError as error:
            if name not in names:
                raise
            raise ImportError(_later(module, name, error), name=module) from None
        setattr(sys.modules[module], name, found)
        return found
    hint = near(name, names)
    raise AttributeError(f"module '{module}' has no attribute '{name}'{hint}")


def _later(module: str, name: str, error: Exception) -> str:
    return f"{module}.{name} is not provided by this version ({error}); see docs/migration.md"


def _names(module: str) -> dict[str, str]:
    model = model_of(module)
    if model is None or module in TABLE:
        return TABLE.get(module, {})
    found = _model(model)
    base = next((b for b, kind in _BASES.items() if f".{kind}." in module), "")
    bases = _each("neurodriver.compat.components", base) if base else {}
    return {**_STARRED, **bases, model: f"{found.__module__}:{model}"}


def _public(module: str) -> list[str]:
    """Return the names that ``from module import *`` takes: those that are there."""
    names = _names(module)
    if names.get(ALL, "!")[0] != "!":
        native = importlib.import_module(names[ALL])
        listed: list[str] = getattr(native, "__all__", None) or list(vars(native))
        return [n for n in listed if not n.startswith("_")]
    return [n for n, place in names.items() if not place.startswith("!") and _there(module, n)]


def _there(module: str, name: str) -> bool:
    try:
        getattr(sys.modules[module], name)
    except ImportError:
        return False
    return True


def install() -> None:
    """Make the old import paths importable; a second call changes nothing."""
    if not any(isinstance(finder, OldNames) for finder in sys.meta_path):
        sys.meta_path.insert(0, OldNames())
