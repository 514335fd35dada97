"""What is wrong with an experiment, and what it is made of, without running it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from ..errors import ExperimentError, Faults, NeurodriverError
from ..parallel.directory import PortColumns, port_table
from ..parallel.patterns import wiring
from ..parallel.routes import Crossing, make_routes
from ..parallel.shared_draws import random_keys, warn_of_shared
from ..plan.compile import compile_circuit
from ..run.lpu import LPU, managed
from ..run.requests import recorded_columns
from .build import ExperimentLPU
from .contents import Contents
from .pattern_files import Wiring
from .run import wirings


def check(experiment: Contents, strict: bool = False) -> Iterator[str]:
    """Make all circuits, inputs and patterns in this process; yield lines that describe them.

    Everything that is wrong is raised together. ``strict`` turns warnings, of input ports that
    nothing feeds for instance, into errors.
    """
    section, name = experiment.section, str(experiment.source.path)
    steps, dt = experiment.steps, section.dt
    yield f"{name}: {len(section.lpu)} LPUs, {steps:,} steps of {dt:g} s, {section.dtype}"
    wired = wirings(experiment)
    lpus = _make(experiment, wired)
    tables = {lpu: port_table(one.circuit, dt) for lpu, one in lpus.items()}
    made = [(one, crossing) for one in wired for crossing in _crossings(one, dt)]
    ranks = dict.fromkeys(tables, 0)
    make_routes(tables, ranks, [crossing for _, crossing in made], 0, name, strict)
    _alone(tables, made, name, strict)
    keys = {lpu: random_keys(one.circuit, one.inputs) for lpu, one in lpus.items()}
    warn_of_shared(keys, name, strict)
    try:
        for lpu, one in lpus.items():
            yield from _describe(experiment, lpu, one, tables[lpu])
    finally:
        for one in lpus.values():
            for entering in one.inputs:
                entering.close()
    for joined, crossing in made:
        kinds = _kinds(tables[crossing.source], crossing)
        delay = f", {joined.delay:g} s later" if joined.delay else ""
        yield f"  {crossing.source} -> {crossing.target}: {kinds}{delay}"
    yield f"records to {experiment.output}"


def _make(experiment: Contents, wired: list[Wiring]) -> dict[str, LPU]:
    """Make all LPUs; what is wrong with any of them is told together."""
    lpus: dict[str, LPU] = {}
    faults: list[str] = []
    for name in experiment.section.lpu:
        try:
            with managed(name):
                lpus[name] = ExperimentLPU(experiment, name, wired)
            _compile(experiment, name, lpus[name])
        except NeurodriverError as error:
            faults.append(str(error))
    if faults:
        raise ExperimentError("\n".join(faults))
    return lpus


def _compile(experiment: Contents, name: str, lpu: LPU) -> None:
    """Find faults of dt, delays and recorded variables."""
    section = experiment.section
    targets = [target for one in lpu.inputs for target in one.targets]
    recorded = frozenset(v for r in lpu.recorders for v, _ in r.record)
    try:
        program = compile_circuit(lpu.circuit, section.dt, section.dtype, targets, recorded)
        for recorder in lpu.recorders:
            for variable, uids in recorder.record:
                recorded_columns(program, variable, uids)
    except NeurodriverError as error:
        raise ExperimentError(f"{experiment.source.path}: lpu.{name}: {error}") from error


def _crossings(one: Wiring, dt: float) -> list[Crossing]:
    return wiring(one.pattern, one.between, one.interfaces, one.delay).crossings(dt)


def _alone(
    tables: dict[str, PortColumns], made: list[tuple[Wiring, Crossing]], name: str, strict: bool
) -> None:
    """Warn of input ports where no pattern leads anywhere, and of outputs nobody takes."""
    faults = Faults(name)
    for lpu, table in tables.items():
        taken = [c.out_port for _, c in made if c.source == lpu]
        out = table.selector[table.out]
        unused = len(out) - int(np.isin(out, np.concatenate(taken)).sum()) if taken else len(out)
        if unused:
            faults.warn(f"{lpu}: output ports that no pattern takes", unused)
        if not made and (~table.out).any():
            faults.warn(f"{lpu}: input ports that no pattern feeds", int((~table.out).sum()))
    faults.finish(strict)


def _kinds(table: PortColumns, crossing: Crossing) -> str:
    """Return how many ports of which kind a crossing joins."""
    rows = table.find(crossing.out_port)
    count = Counter(
        f"{variable} ({'spike' if spike else 'gpot'})"
        for variable, spike in zip(table.variable[rows], table.spike[rows], strict=True)
    )
    return ", ".join(f"{n:,} {kind}" for kind, n in count.items())


def _describe(experiment: Contents, name: str, lpu: LPU, table: PortColumns) -> Iterator[str]:
    """Yield the lines about one LPU."""
    circuit = lpu.circuit
    ports = f"{int((~table.out).sum()):,} input and {int(table.out.sum()):,} output ports"
    components = circuit.count - len(table.selector)
    yield f"  {name}: {components:,} components, {circuit.edges:,} connections, {ports}"
    for group in circuit.groups:
        if group.name != "Port":
            yield f"    {group.count:>10,}  {group.name}"
    for one in lpu.inputs:
        targets = ", ".join(f"{v} of {len(uids):,}" for v, uids in one.targets)
        yield f"    input {type(one).__name__}: {targets}"
    for recorder in lpu.recorders:
        what = ", ".join(v + ("" if u is None else f" of {len(u):,}") for v, u in recorder.record)
        yield f"    records {what} to {experiment.recordings[name].name}"
