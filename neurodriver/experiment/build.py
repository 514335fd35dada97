"""An experiment -> LPUs with inputs and recorders, each made where it runs."""

from __future__ import annotations

import fnmatch
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..circuit import Circuit
from ..errors import ExperimentError, NeurodriverError, near, quoted
from ..inputs.base import Input
from ..model.loading import Model, Rule, load_classes
from ..parallel.directory import port_table
from ..plan.injection import make_slots
from ..recorders import HDF5Recorder
from ..run.given import as_circuit, command_line
from ..run.lpu import LPU
from .contents import Contents
from .pattern_files import Wiring
from .references import completed, file_of, function_of, input_classes, parameters_of, takes_a
from .schema import InputSection, SelectionSection, key_of
from .source import KeyPath

MOST_KNOWN = 2000
"""Near misses are looked for among so many names."""


class ExperimentLPU(LPU):
    """One LPU of an experiment, whose patterns may state the types of its ports."""

    def __init__(self, experiment: Contents, id: str, wired: Sequence[Wiring] = ()) -> None:
        section, path = experiment.section.lpu[id], ("lpu", id)
        with errors_at(experiment, (*path, "circuit" if section.circuit else "function")):
            circuit = make_circuit(experiment, id)
            if section.random_namespace is not None:
                circuit = circuit.in_random_namespace(section.random_namespace)
        for one in wired:
            with errors_at(experiment, one.path):
                _check_types(circuit, id, one)
        inputs = [
            make_input(experiment, circuit, one, (*path, "input", i))
            for i, one in enumerate(section.input)
        ]
        super().__init__(
            circuit,
            experiment.section.dt,
            inputs,
            make_recorders(experiment, circuit, id),
            dtype=experiment.section.dtype,
            seed=experiment.section.seed,
            merge=experiment.section.merge,
            nonfinite=experiment.section.nonfinite,
            debug=experiment.section.debug,
            backend=experiment.section.backend,
            device=experiment.section.device,
            executor=experiment.section.executor,
            attributes={
                "lpu": id,
                "experiment": experiment.source.path.name,
                "command": command_line(list(experiment.command)),
            },
        )


@contextmanager
def errors_at(experiment: Contents, path: KeyPath) -> Iterator[None]:
    """Let errors say which key of the file they come from."""
    try:
        yield
    except Exception as error:
        file, text = str(experiment.source.path), str(error)
        if isinstance(error, ExperimentError) and text.startswith(file):
            raise
        if not isinstance(error, NeurodriverError):
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(last.filename).name}, line {last.lineno}"
            text = f"{type(error).__name__}: {error} ({place})"
        line = experiment.source.line(path)
        raise ExperimentError(f"{file}: line {line}: {key_of(path)}{text}") from error


def _check_types(circuit: Circuit, lpu: str, one: Wiring) -> None:
    """Refuse ports of another type than a pattern states."""
    table = port_table(circuit, 1.0)
    sides = [side for side in (0, 1) if one.between[side] == lpu]
    for kind, ports in [item for side in sides for item in one.typed(side).items()]:
        rows = table.find(ports)
        wrong = np.flatnonzero((rows >= 0) & (table.spike[rows] != (kind == "spike")))
        if len(wrong):
            other = "gpot" if kind == "spike" else "spike"
            more = f", and {len(wrong) - 1} more are" if len(wrong) > 1 else " is"
            message = f"port '{ports[wrong[0]]}' of {lpu}{more} of type {other}"
            raise ExperimentError(f"{message}, the pattern says {kind}")


@cache
def own_models(file: Path) -> tuple[Model | Rule, ...]:
    """Return models and rules of a Python file or a folder; LPUs that name one share them."""
    return tuple(load_classes((file,)))


def make_circuit(experiment: Contents, lpu: str) -> Circuit:
    """Return the circuit of an LPU."""
    section, folder = experiment.section.lpu[lpu], experiment.folder
    files = [*experiment.section.models, *section.models]
    models = [m for name in files for m in own_models(file_of(name, folder).resolve())]
    if section.circuit is not None:
        return as_circuit(file_of(section.circuit, folder), models)
    assert section.function is not None
    function = function_of(section.function, folder)
    made = function(**completed(function, section.arguments, dt=experiment.section.dt))
    if isinstance(made, Circuit | str | Path) or hasattr(made, "adj"):
        return as_circuit(made, models)
    kind = type(made).__name__
    raise ExperimentError(f"must return a Circuit, a graph or the path of a file, got {kind}")


def make_input(
    experiment: Contents, circuit: Circuit, section: InputSection, path: KeyPath
) -> Input:
    """Return an input, checked against the circuit that it enters."""
    folder = experiment.folder
    with errors_at(experiment, path):
        if section.function is not None:
            function: Callable[..., Any] = function_of(section.function, folder)
        else:
            function = input_classes()[str(section.class_)]
        arguments = dict(section.arguments)
        if section.class_ is not None:
            for name, parameter in parameters_of(function).items():
                value = arguments.get(name)
                if isinstance(value, str) and takes_a(parameter, "Path"):
                    arguments[name] = file_of(value, folder)
                elif isinstance(value, str) and takes_a(parameter, "Callable"):
                    arguments[name] = function_of(value, folder)
                elif name == "uids" and isinstance(value, dict):
                    arguments[name] = selected(circuit, SelectionSection(**value))
        made = function(**completed(function, arguments, dt=experiment.section.dt, circuit=circuit))
        if not isinstance(made, Input):
            raise ExperimentError(f"must return an Input, got {type(made).__name__}")
        make_slots(circuit, made.targets, section.class_ or str(section.function))
        return made


def make_recorders(experiment: Contents, circuit: Circuit, lpu: str) -> list[HDF5Recorder]:
    """Return the recorder of an LPU, none where it records nothing.

    It may replace a file: `neurodriver.experiment.run` has refused those that it must not.
    """
    section, file = experiment.section.lpu[lpu], experiment.recording_of(lpu)
    if file is None:
        return []
    known = {v for g in circuit.groups for v in g.model.updates}
    if section.record is None:
        every = [(variable, None) for variable in circuit.usual_variables]
        return [HDF5Recorder(file, every, section.sample_interval, overwrite=True)]
    requests: list[tuple[str, Sequence[str] | None]] = []
    for variable, what in section.record.items():
        path: KeyPath = ("lpu", lpu, "record", variable)
        with errors_at(experiment, path):
            if variable not in known and (what is None or isinstance(what, SelectionSection)):
                hint = f"{near(variable, known)}; there are {', '.join(sorted(known))}"
                raise ExperimentError(f"nothing updates it{hint}")
            if isinstance(what, SelectionSection):
                what = tuple(selected(circuit, what, variable))
            elif what is not None:
                _there(circuit, what)
        requests.append((variable, what))
    return [HDF5Recorder(file, requests, section.sample_interval, overwrite=True)]


def selected(circuit: Circuit, selection: SelectionSection, updates: str = "") -> list[str]:
    """Return the uids that a selection means, in the order of the circuit.

    With ``updates``, components that do not update this variable are left out. A selection that
    means none raises ExperimentError.
    """
    names = [g.name for g in circuit.groups if not g.is_port and not g.hidden]
    if selection.model != "*" and selection.model not in names:
        there = ", ".join(dict.fromkeys(names))
        hint = near(selection.model, names)
        message = f"no component of the model {quoted(selection.model)}{hint}; there are {there}"
        raise ExperimentError(message)
    if selection.population not in ("*", *circuit.populations):
        hint = near(selection.population, circuit.populations)
        there = ", ".join(circuit.populations)
        message = f"no population {quoted(selection.population)}{hint}; there are {there}"
        raise ExperimentError(message)
    name = selection.population
    members = None if name == "*" else {*circuit.populations[name]}
    rule = re.compile(fnmatch.translate(selection.match)).match
    found: list[str] = []
    for group in circuit.groups:
        if group.is_port or group.hidden or selection.model not in ("*", group.name):
            continue
        if not updates or updates in group.model.updates:
            among = group.uids.tolist()
            found += [u for u in among if rule(u) and (members is None or u in members)]
    if not found:
        which = f" that updates '{updates}'" if updates else ""
        some = ", ".join(circuit.uids[:3].tolist())
        message = f"no component{which} matches {quoted(selection.match)}; uids are {some}, ..."
        raise ExperimentError(message)
    return found


def _there(circuit: Circuit, uids: Sequence[str]) -> None:
    """Refuse uids that the circuit does not have."""
    lost = np.flatnonzero(circuit.find(list(uids)) < 0)
    if len(lost):
        known = circuit.uids.tolist() if circuit.count <= MOST_KNOWN else []
        first = uids[int(lost[0])]
        more = f", and {len(lost) - 1} more" if len(lost) > 1 else ""
        raise ExperimentError(f"no component {quoted(first)}{near(first, known)}{more}")
