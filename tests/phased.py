"""Random circuits in phases, and what plain Python makes of them; all numbers are whole and small.

The simulator here shares no code with the package. Sums of whole numbers are exact, so both
precisions and any order of additions have to give the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from support import recorded, started

from neurodriver import (
    Access,
    AllToAll,
    Circuit,
    Connections,
    FixedProbability,
    NDComponent,
    Parameter,
    Population,
    Projection,
    State,
)
from neurodriver.model.plasticity import Plasticity

DT = 1e-3
STEPS = 40
WEIGHT = Parameter("1", default=1.0)


class Graded(NDComponent):
    """Holds the sum of its inputs and of its bias, modulo 17."""

    accesses = (Access("val", each="weight * val", connection={"weight": WEIGHT}),)
    updates = {"val": "1"}
    params = {"bias": Parameter("1", default=0.0)}
    update = "val = input_val + bias; val = val - 17 * floor(val / 17);"


class Cell(NDComponent):
    """Adds weighted spikes and values; from 9 on it spikes and begins anew."""

    accesses = (
        Access("spike_state", "exc", each="weight * spike_state", connection={"weight": WEIGHT}),
        Access("val", each="weight * val", connection={"weight": WEIGHT}),
    )
    updates = {"spike_state": "", "level": "1"}
    params = {"drive": Parameter("1", default=0.0)}
    states = {"level": State("1", 0.0)}
    update = """
        level = level + exc + val + drive;
        level = level < -9 ? -9 : level;
        if (level >= 9) { level = 0; spike_state = 1; }
    """


class Counter(NDComponent):
    """Counts the spikes of others that arrive, without weights, modulo 13."""

    accesses = ("spike_state",)
    updates = {"val": "1"}
    states = {"val": State("1", 0.0)}
    update = "val = val + spike_state; val = val - 13 * floor(val / 13);"


READS = {Graded: {"val": "val"}, Cell: {"exc": "spike_state", "val": "val"},
         Counter: {"spike_state": "spike_state"}}  # fmt: skip
"""Model -> access -> variable that it reads."""

WEIGHTED = {(Graded, "val"), (Cell, "exc"), (Cell, "val")}


@dataclass
class Edge:
    """A connection: whose variable is read, by whom, with what latency."""

    source: int
    target: int
    variable: str
    access: str
    weight: int
    steps: int
    """Delay in steps as given; 0: the shortest there is."""


@dataclass
class Phased:
    """A random circuit.

    Attributes
    ----------
    populations : list of (name, model, size)
    phase : dict of str to int
        Of each population.
    numbers : (count,) int
        Bias or drive of each component.
    paces : dict of str to (every, first)
        Of populations that are not computed at each step.
    """

    populations: list[tuple[str, type[NDComponent], int]]
    phase: dict[str, int]
    numbers: np.ndarray
    edges: list[Edge]
    owner: list[str] = field(default_factory=list)
    paces: dict[str, tuple[int, int]] = field(default_factory=dict)

    def order(self) -> list[list[str]]:
        """Return the populations of each phase."""
        phases = sorted(set(self.phase.values()))
        return [[name for name, at in self.phase.items() if at == one] for one in phases]

    def circuit(self, **more: Any) -> Circuit:
        """Return the circuit."""
        made, sets = [], []
        for name, model, size in self.populations:
            mine = [i for i, owner in enumerate(self.owner) if owner == name]
            key = {Graded: "bias", Cell: "drive"}.get(model)
            given = {key: self.numbers[mine].astype(float)} if key else {}
            every, first = self.paces.get(name, (1, 0))
            made.append(Population(model, size, name=name, every=every, first=first, **given))
        kinds = sorted({(e.variable, e.access) for e in self.edges})
        place = self.places()
        models = {name: model for name, model, _ in self.populations}
        for variable, access in kinds:
            for weighted in (False, True):
                some = [
                    e
                    for e in self.edges
                    if (e.variable, e.access) == (variable, access)
                    and ((models[self.owner[e.target]], access) in WEIGHTED) is weighted
                ]
                if some:
                    ends = (
                        np.array([place[end] for end in column], np.int32)
                        for column in ([e.source for e in some], [e.target for e in some])
                    )
                    delay = np.array([e.steps * DT for e in some])
                    data = {"weight": np.array([float(e.weight) for e in some])} if weighted else {}
                    sets.append(Connections(variable, access, *ends, delay, data))
        return Circuit(made, sets, **more)

    def places(self) -> list[int]:
        """Return the number in the circuit of each component: model after model."""
        kinds = list(dict.fromkeys(model for _, model, _ in self.populations))
        rank = {name: kinds.index(model) for name, model, _ in self.populations}
        order = sorted(range(len(self.owner)), key=lambda i: rank[self.owner[i]])
        place = [0] * len(order)
        for number, i in enumerate(order):
            place[i] = number
        return place


def random_phased(rng: np.random.Generator, largest: int = 40) -> Phased:
    """Return a random circuit of at most five phases."""
    names = [f"p{i}" for i in range(int(rng.integers(3, 8)))]
    kinds: Sequence[type[NDComponent]] = [Graded, Cell, Cell, Counter]
    populations = [(n, kinds[int(rng.integers(4))], int(rng.integers(1, largest))) for n in names]
    populations[0] = ("p0", Cell, populations[0][2])
    owner = [name for name, _, size in populations for _ in range(size)]
    phase = {name: int(rng.integers(0, 5)) for name in names}
    numbers = rng.integers(0, 3, len(owner))
    models = {name: model for name, model, _ in populations}
    edges = []
    for _ in range(len(owner) * 4):
        source, target = (int(i) for i in rng.integers(0, len(owner), 2))
        reads = READS[models[owner[target]]]
        gives = models[owner[source]].updates
        fitting = [(access, v) for access, v in reads.items() if v in gives]
        if fitting:
            access, variable = fitting[int(rng.integers(len(fitting)))]
            steps = int(rng.choice([0, 0, 0, 1, 2, 5]))
            weight = int(rng.integers(-3, 6))
            edges.append(Edge(source, target, variable, access, weight, steps))
    return Phased(populations, phase, numbers, edges, owner)


def paced(rng: np.random.Generator) -> Phased:
    """Return a random circuit whose graded populations are computed every few steps."""
    made = random_phased(rng)
    some = [name for name, model, _ in made.populations if model is Graded]
    if not some:
        made.populations.append(("slow", Graded, 9))
        made.owner += ["slow"] * 9
        made.phase["slow"] = 1
        made.numbers = np.append(made.numbers, np.arange(9))
        some = ["slow"]
    for name in some:
        made.paces[name] = int(rng.integers(1, 6)), int(rng.integers(0, 8))
    return made


def plain(made: Phased, steps: int, ordered: bool = True) -> dict[str, np.ndarray]:
    """Return the rows of each variable, (steps + 1, components); NaN where there is none."""
    count = len(made.owner)
    models = {name: model for name, model, _ in made.populations}
    kind = [models[name] for name in made.owner]
    phase = [made.phase[name] if ordered else 0 for name in made.owner]
    rows: dict[str, list[list[int]]] = {v: [[0] * count] for v in ("val", "spike_state", "level")}
    into: dict[int, list[Edge]] = {}
    for edge in made.edges:
        into.setdefault(edge.target, []).append(edge)
    for k in range(steps):
        for variable in rows:
            rows[variable].append([0] * count)
        for now in sorted(set(phase)):
            for i in (i for i in range(count) if phase[i] == now):
                every, first = made.paces.get(made.owner[i], (1, 0))
                if k < first or (k - first) % every:
                    for variable in set(kind[i].updates) - {"spike_state"}:
                        rows[variable][k + 1][i] = rows[variable][k][i]
                    continue
                sums = dict.fromkeys(READS[kind[i]], 0)
                for edge in into.get(i, ()):
                    row = k + 1 - edge.steps
                    if not edge.steps and phase[edge.source] >= now:
                        row = k
                    weight = edge.weight if (kind[i], edge.access) in WEIGHTED else 1
                    sums[edge.access] += weight * rows[edge.variable][max(row, 0)][edge.source]
                new = advance(kind[i], int(made.numbers[i]), sums, rows, k, i)
                for variable, value in new.items():
                    rows[variable][k + 1][i] = value
    out = {}
    for variable, table in rows.items():
        column = np.array(table, dtype=float)
        column[:, [variable not in model.updates for model in kind]] = np.nan
        out[variable] = column
    return out


def advance(
    kind: type[NDComponent],
    number: int,
    sums: Mapping[str, int],
    rows: Mapping[str, list[list[int]]],
    k: int,
    i: int,
) -> dict[str, int]:
    """Return what a component writes in a step."""
    if kind is Graded:
        return {"val": (sums["val"] + number) % 17}
    if kind is Counter:
        return {"val": (rows["val"][k][i] + sums["spike_state"]) % 13}
    level = max(rows["level"][k][i] + sums["exc"] + sums["val"] + number, -9)
    return {"spike_state": 1, "level": 0} if level >= 9 else {"spike_state": 0, "level": level}


def agrees(
    made: Phased, circuit: Circuit, steps: int = STEPS, ordered: bool = True, **settings: Any
) -> None:
    """Fail unless a run has the rows of plain Python."""
    place = made.places()
    expected = plain(made, steps, ordered)
    record: dict[str, list[int]] = {v: [] for v in expected}
    for i in range(len(made.owner)):
        for variable, column in expected.items():
            if not np.isnan(column[0, i]):
                record[variable].append(i)
    uids = circuit.uids[place]
    asked = [(v, uids[some].tolist()) for v, some in record.items() if some]
    with started(circuit, DT, (), asked, **settings) as lpu:
        lpu.run(steps=steps)
        data = recorded(lpu, steps)
    for variable, _ in asked:
        want = expected[variable][:steps, record[variable]]
        np.testing.assert_array_equal(data[variable], want, err_msg=variable)


def learning_layers(rule: Plasticity, size: int = 70) -> Circuit:
    """Return three layers, each computed after the one below in a step, with learning beside.

    Spikes go up within the step. Synapses past a layer, and back, learn and take steps.
    """
    sizes = {"low": size, "middle": 2 * size, "high": size // 2}
    drive = np.random.default_rng(5).integers(1, 5, size)
    low, middle, high = (
        Population(Cell, n, name=name, drive=drive if name == "low" else 0.0)
        for name, n in sizes.items()
    )
    learns: dict[str, Any] = {"plasticity": rule, "receptor": "exc", "weight": 0.25}
    near, all_of_them = FixedProbability(0.3), AllToAll()
    links = [
        Projection(low, middle, near, receptor="exc", weight=1.0),
        Projection(middle, high, near, receptor="exc", weight=1.0),
        Projection(low, high, all_of_them, name="past", delay=DT, **learns),
        Projection(high, middle, all_of_them, name="back", delay=3 * DT, **learns),
    ]
    return Circuit([low, middle, high], links, order="listed")
