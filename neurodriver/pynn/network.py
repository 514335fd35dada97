"""What PyNN's objects describe -> a circuit that runs, and what it has recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Connections
from ..circuit.population import Population
from ..components.plasticity import PairSTDP, ShortTerm
from ..errors import NeurodriverError
from ..model.kinds import SPIKES
from ..model.library import shipped
from ..run.lpu import LPU
from .feeds import CurrentFeed, SpikeFeed
from .recorded import RecordedValues, uid_heads

Rows = NDArray[np.int64]


class SourceTrains:
    """The spikes of a population of sources, drawn as time goes on."""

    def __init__(self, population: Any, seed: int) -> None:
        self.population, self.until = population, 0.0
        first = int(population.first_id) + 1
        keys = range(first, first + population.size)
        self.rngs = [np.random.Generator(np.random.Philox(key=[seed, key])) for key in keys]
        self.times: list[NDArray[np.float64]] = [np.empty(0) for _ in range(population.size)]

    def extend(self, stop: float) -> None:
        """Draw the spikes until before a time, ms."""
        native, kind = self.population.native, self.population.celltype
        for cell, known in enumerate(self.times):
            given = {name: values[cell] for name, values in native.items()}
            begin = given.get("start", 0.0)
            last = known[-1] if len(known) else begin
            new = kind.drawn(given, self.until, stop, last, self.rngs[cell])
            if len(new):
                self.times[cell] = np.concatenate([known, new])
        self.until = stop


class RunningNetwork:
    """A circuit made of all populations and projections of a simulation, and its LPU."""

    def __init__(self, state: Any) -> None:
        self.state = state
        self.dt = state.dt
        self.populations = list(state.populations)
        if not self.populations:
            raise NeurodriverError("pyNN: there is no population to run")
        self.trains = {
            p.number: SourceTrains(p, state.settings["seed"])
            for p in self.populations
            if p.celltype.nd_model == "SpikeSource"
        }
        self.made = {p.number: self._population(p) for p in self.populations}
        self.first = self._numbers()
        self.sets: list[tuple[int, Rows, float, bool]] = []
        links = [c for p in state.projections for c in self._connections(p)]
        circuit = Circuit(list(self.made.values()), links, name="pyNN")
        for population in self.populations:
            population.changed.clear()
        self.projections = len(state.projections)
        self.fed: tuple[Any, ...] = ()
        settings = dict(state.settings)
        self.lpu = LPU(circuit, self.dt * 1e-3, self._inputs(), merge=False, **settings)
        self.recorded = RecordedValues(self)

    def close(self) -> None:
        """End the LPU."""
        self.lpu.close()

    def _population(self, population: Any) -> Population:
        kind, model = population.celltype, shipped()[population.celltype.nd_model]
        params = {n: v for n, v in population.native.items() if n in model.params}
        for variable, values in population.starts.items():
            if variable in kind.nd_states and not np.isnan(values).all():
                name, factor = kind.nd_states[variable]
                params[f"init{name}"] = values / factor
        return Population(model, population.size, name=uid_heads(population), **params)

    def _numbers(self) -> Rows:
        """Return the component number of each id: components are grouped by model."""
        first: dict[int, int] = {}
        count = 0
        models = dict.fromkeys(p.celltype.nd_model for p in self.populations)
        for model in models:
            for p in self.populations:
                if p.celltype.nd_model == model:
                    first[p.number] = count
                    count += p.size
        return np.concatenate([first[p.number] + np.arange(p.size) for p in self.populations])

    def _connections(self, projection: Any) -> list[Connections]:
        """Return the connections of a projection, by the model of their targets."""
        if not len(projection):
            return []
        columns = projection.columns
        sources, targets = (
            np.array([int(cell) for cell in end.all_cells], dtype=np.int64)[columns[name]]
            for end, name in (
                (projection.pre, "presynaptic_index"),
                (projection.post, "postsynaptic_index"),
            )
        )
        owner = np.repeat([p.number for p in self.populations], [p.size for p in self.populations])
        out = []
        for number in np.unique(owner[targets]).tolist():
            rows = np.flatnonzero(owner[targets] == number)
            kind = self.populations[number].celltype
            data = {"weight": columns["weight"][rows] * kind.nd_weight}
            delay = columns["delay"][rows] * 1e-3
            receptor = kind.nd_receptors[projection.receptor_type] or SPIKES
            rule = self._rule(projection, rows, kind.nd_weight)
            if isinstance(rule, PairSTDP):
                data["dendritic"] = delay * columns["dendritic_delay_fraction"][rows]
            first, second = (self.first[e[rows]].astype(np.int32) for e in (sources, targets))
            name = f"projection{projection.number}_{number}" if rule is not None else ""
            out.append(Connections(SPIKES, receptor, first, second, delay, data, rule, name))
            learns = isinstance(rule, PairSTDP)
            self.sets.append((projection.number, rows, kind.nd_weight, learns))
        return out

    def _rule(self, projection: Any, rows: Rows, factor: float) -> Any:
        """Return the rule of plasticity of some connections; None for static ones."""
        columns = projection.columns
        others = [n for n in columns if n not in ("weight", "delay", "presynaptic_index",
                  "postsynaptic_index", "dendritic_delay_fraction")]  # fmt: skip
        if not others:
            return None
        given = {}
        for name in others:
            values = np.unique(columns[name][rows])
            if len(values) > 1:
                raise NeurodriverError(
                    f"pyNN: projection '{projection.label}': {name} must be the same for all "
                    f"connections, got {len(values)} values; make a projection for each"
                )
            given[name] = float(values[0])
        if "U" in given:
            return ShortTerm(U=given["U"], tau_d=given["tau_rec"], tau_f=given["tau_facil"])
        return PairSTDP(
            tau_plus=given["tau_plus"], tau_minus=given["tau_minus"], A_plus=given["A_plus"],
            ratio=given["A_minus"] / given["A_plus"], w_min=given["w_min"] * factor,
            w_max=given["w_max"] * factor,
        )  # fmt: skip

    def _inputs(self) -> list[Any]:
        inputs: list[Any] = []
        if self.trains:
            sources = [self.populations[n] for n in self.trains]
            uids = [f"{uid_heads(p)}/{i}" for p in sources for i in range(p.size)]
            inputs.append(SpikeFeed(SPIKES, uids, self._events))
        cells = self._driven()
        self.fed = tuple((id(s), len(s.cells)) for s in self.state.current_sources)
        if cells:
            place = {cell: i for i, cell in enumerate(cells)}
            sources = [
                (s, np.array([place[self._at(c)] for c in s.cells], dtype=np.int64))
                for s in self.state.current_sources
                if s.cells
            ]
            uids = [f"{uid_heads(self.populations[n])}/{row}" for n, row in cells]
            inputs.append(CurrentFeed("I", uids, lambda: self._offsets(cells), sources))
        return inputs

    def _at(self, cell: Any) -> tuple[int, int]:
        """Return the population of a cell, and its place there."""
        population = getattr(cell.parent, "grandparent", cell.parent)
        return population.number, int(cell) - int(population.first_id)

    def _driven(self) -> list[tuple[int, int]]:
        """Return the cells that get a current, in order."""
        found = {
            (p.number, row)
            for p in self.populations
            if "i_offset" in p.native
            for row in (range(p.size) if p.native["i_offset"].any() else ())
        }
        found |= {self._at(c) for s in self.state.current_sources for c in s.cells}
        return sorted(found)

    def _offsets(self, cells: list[tuple[int, int]]) -> NDArray[np.float64]:
        return np.array([self.populations[n].native["i_offset"][row] for n, row in cells])

    def _events(self) -> tuple[Rows, Rows]:
        """Return rows and columns of the spikes of all sources, by row."""
        rows, columns, first = [], [], 0
        for number, trains in self.trains.items():
            for cell, times in enumerate(trains.times):
                rows.append(np.maximum(np.ceil(times / self.dt - 1e-6), 1).astype(np.int64))
                columns.append(np.full(len(times), first + cell))
            first += self.populations[number].size
        row, column = np.concatenate(rows), np.concatenate(columns)
        order = np.lexsort((column, row))
        return row[order], column[order]

    def advance(self, steps: int) -> None:
        """Advance the LPU by steps."""
        if len(self.state.projections) > self.projections or len(self.state.populations) > len(
            self.populations
        ):
            raise NeurodriverError(
                "pyNN: populations and projections can be added before the first run, or after "
                "reset(); this network has run already"
            )
        for trains in self.trains.values():
            trains.extend((self.state.step + steps + 1) * self.dt)
        self._take_changes()
        inputs = None
        fed = tuple((id(s), len(s.cells)) for s in self.state.current_sources)
        if fed != self.fed:
            inputs = self._inputs()
        self.lpu.run(steps=steps, record=self.recorded.recorders(), inputs=inputs)

    def _take_changes(self) -> None:
        """Set what has been changed between runs."""
        for p in self.populations:
            for name in sorted(p.changed):
                if name == "i_offset" or p.number in self.trains:
                    continue
                if name.startswith("init "):
                    state = p.celltype.nd_states.get(name[5:])
                    if state is not None:
                        values = p.starts[name[5:]]
                        self.lpu[uid_heads(p)].set(state[0], values / state[1])
                elif name in shipped()[p.celltype.nd_model].params:
                    self.lpu[uid_heads(p)].set(name, p.native[name])
            p.changed.clear()

    def changed_projection(self, projection: Any, name: str) -> None:
        """Take over weights that have been changed while the network runs."""
        if name != "weight":
            raise NeurodriverError(
                f"pyNN: {name} of '{projection.label}' can be changed before the first run, or "
                f"after reset()"
            )
        for _, rows, factor, live in self._live(projection):
            live.set("weight", projection.columns["weight"][rows] * factor)

    def take_weights(self, projection: Any) -> None:
        """Bring weights that have learned into the columns of a projection."""
        for learns, rows, factor, live in self._live(projection):
            if learns:
                projection.columns["weight"][rows] = live.get("weight") / factor

    def _live(self, projection: Any) -> list[tuple[bool, Rows, float, Any]]:
        """Return the sets of connections of a projection that can be read and set."""
        every = list(self.lpu.connections.values())
        return [
            (learns, rows, factor, every[at])
            for at, (number, rows, factor, learns) in enumerate(self.sets)
            if number == projection.number
        ]
