"""Files and graphs whose neurons and synapses are old classes -> a circuit."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from ...circuit.assemble import assemble
from ...circuit.circuit import Circuit
from ...circuit.records import Records, from_networkx, no_collection
from ...errors import ModelError
from ...io.gexf import read_gexf
from ..legacy.models import PORTS
from .bases import BaseNeuron, BaseSynapse, imported
from .member import BaseClasses
from .tables import tables_of


def read_base_classes(source: Any, models: Any = (), name: str = "") -> Circuit:
    """Return the circuit of a legacy file or graph whose models are old classes.

    A node is a neuron of the class that its attribute ``model`` names, and an edge a synapse; a
    number is the place of the class among the direct subclasses. Neurons are components by their
    ids, with the variables ``V``, ``spike_state`` and ``I``, and take what is injected into ``I``.
    Public neurons with a ``selector`` have output ports, ``port_in_gpot`` and ``port_in_spk`` are
    input ports.

    Parameters
    ----------
    source : path or networkx graph
        A GEXF file, or a graph.
    models : class, module, path, or nested sequence of these
        Where the classes are; by default all that have been imported.
    name : str
        Name of a graph, for messages.

    Raises
    ------
    CircuitError
        With all faults of the file: an unknown class, two of one name, ends that are no nodes.
    ModelError
        For a file of classes that cannot be imported.

    Examples
    --------
    >>> circuit = read_base_classes("circuit.gexf", "models.py")  # doctest: +SKIP
    >>> lpu = LPU(circuit, 1e-3, [StepInput("I", ["0"], 1.6, 0.0, 1.0)])  # doctest: +SKIP
    """
    some = _classes(models)
    neurons, synapses = (_direct(base, some) for base in (BaseNeuron, BaseSynapse))
    with no_collection():
        path = isinstance(source, str | Path)
        records = read_gexf(Path(source)) if path else from_networkx(source, name)
        return assemble(converted(records, neurons, synapses), (), strict=False)


def converted(records: Records, neurons: list[type], synapses: list[type]) -> Records:
    """Return records of today, which bring the class of all neurons with them.

    Parameters
    ----------
    records : Records
        Of the legacy form.
    neurons, synapses : list of type
        Classes that they may name.

    Raises
    ------
    CircuitError
        With all faults.
    """
    faults = records.faults
    odd = [uid for uid in records.uids if not uid.isdigit()]
    for uid in odd:
        faults.add(f"node '{uid}': node id must be an integer in the legacy form")
    faults.finish()
    order = sorted(range(len(records.uids)), key=lambda row: int(records.uids[row]))
    tables = tables_of(records, order, neurons, synapses)
    faults.finish()
    cls = type("OldClasses", (BaseClasses,), {"tables": tables, "__doc__": BaseClasses.__doc__})
    made = Records(records.source)
    made.faults = faults
    following = max((int(uid) for uid in records.uids), default=0) + 1
    links: list[tuple[str, str, str]] = []
    ports: list[tuple[str, dict[str, Any]]] = []
    for i, row in enumerate(order):
        uid, data = records.uids[row], records.nodes[row]
        own: dict[str, Any] = {k: data[k] for k in ("extern", "name") if k in data}
        made.uids.append(uid)
        made.nodes.append({"class": cls.__name__, **own})
        selector, incoming = str(data.get("selector") or ""), PORTS.get(str(data.get("model")))
        if not selector or not (incoming or data.get("public")):
            continue
        port, variable = str(following), "spike_state" if tables.spiking[i] else "V"
        following += 1
        kind = "spike" if tables.spiking[i] else "gpot"
        direction = "in" if incoming else "out"
        given = {"selector": selector, "port_type": kind, "port_io": direction}
        ports.append((port, {"class": "Port", **given}))
        links.append((port, uid, variable) if incoming else (uid, port, variable))
    for uid, data in ports:
        made.uids.append(uid)
        made.nodes.append(data)
    for source, target, variable in links:
        made.sources.append(source)
        made.targets.append(target)
        made.edges.append({"variable": variable})
    made.models.append(cls)
    return made


def _direct(base: type, some: list[type]) -> list[type]:
    """Return the direct subclasses of a base, in the order in which they were defined."""
    return [one for one in some if base in one.__bases__] if some else imported(base)


def _classes(given: Any) -> list[type]:
    """Return the classes of a class, a module, a path, or a sequence of these."""
    if inspect.isclass(given):
        return [given]
    if isinstance(given, ModuleType):
        return [one for one in vars(given).values() if inspect.isclass(one)]
    if isinstance(given, str | Path):
        return _classes(_loaded(Path(given)))
    if isinstance(given, Iterable):
        return [one for part in given for one in _classes(part)]
    raise ModelError(f"models: expected classes, modules or paths, got {given!r:.80}")


def _loaded(path: Path) -> ModuleType:
    """Return the module of a file, with PyCUDA or what stands for it."""
    from .. import names
    from . import host_cuda

    names.install_imports()
    whole = path.resolve()
    spec = importlib.util.spec_from_file_location(f"old_classes_{whole.stem}", whole)
    if spec is None or spec.loader is None or not whole.exists():
        raise ModelError(f"{path}: no such Python file")
    module = importlib.util.module_from_spec(spec)
    standing = {} if _imports_pycuda() else host_cuda.MODULES
    before = {name: sys.modules.get(name) for name in standing}
    sys.modules.update(standing)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ModelError(f"{path}: cannot be imported ({error!r})") from error
    finally:
        for name, one in before.items():
            if one is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = one
    return module


def _imports_pycuda() -> bool:
    """Whether PyCUDA itself can be imported here."""
    from ..stand_ins import Absent

    try:
        import pycuda.driver
    except (ImportError, OSError):
        return False
    return not isinstance(getattr(pycuda.driver, "init", None), Absent)
