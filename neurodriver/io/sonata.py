"""Read a SONATA circuit of point neurons as a ``Circuit``.

The format is that of Dai et al. 2020, PLoS Comput Biol 16:e1007696,
doi:10.1371/journal.pcbi.1007696, and of its developer guide. An attribute of a node or an edge
replaces that of its type. ``delay`` is in ms. The weight of an edge is ``syn_weight`` times
``nsyns``, in the unit of its target's template. A circuit that `sonata_write` has written is read
with the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.arrays import check_wiring
from ..circuit.circuit import Circuit, Column, Connections, Group
from ..circuit.node_columns import POPULATION, given_columns, joined_columns
from ..circuit.validate import checked
from ..circuit.wiring import resolve
from ..errors import CircuitError, Faults, near, quoted
from ..model.component import NDComponent
from ..model.kinds import SPIKES
from ..model.library import models as known_models
from .hdf5_files import BROKEN
from .sonata_config import SonataNetwork, read_config
from .sonata_edges import (
    MOST_RECEPTORS,
    edge_numbers,
    joined,
    number_of_set,
    numbers_said,
    own_access,
    receptors_and_signs,
    shared,
)
from .sonata_files import SonataPopulation, places, populations, present
from .sonata_models import KNOWN, Template, TemplateChoice, as_template, translated
from .sonata_places import NUMBER, OWN, UID

Model = type[NDComponent]
Rows = NDArray[np.int64]


def read_sonata(
    config: str | Path,
    models: Mapping[str, Any] | None = None,
    *,
    ignore: Iterable[str] = (),
    own: Any = (),
    strict: bool = False,
) -> Circuit:
    """Read the circuit that a configuration names.

    Parameters
    ----------
    config : str or Path
        circuit_config.json, or the simulation_config.json that names it.
    models : mapping, optional
        ``model_template`` -> model. The model is a `sonata_models.Template`, or a class or name of
        a model whose parameters have the same names, or (model, parameters). ``parameters`` is a
        dict: name of the parameter here -> its name in the files, or a number. These entries
        replace those of `sonata_models.KNOWN`. The key ``virtual`` is for virtual nodes, which
        become SpikeSources by default.
    ignore : iterable of str
        Parameters of the files that are left out. Any other unknown parameter is an error.
    own : anything that `library.models` takes
        The user's models, which ``models`` and the files may name.
    strict : bool
        Turn warnings into errors.

    Returns
    -------
    Circuit
        Its uids are ``<population>/<node_id>``. Attributes that are not parameters become node
        columns.

    Raises
    ------
    CircuitError
        With all faults of the files.
    """
    path = Path(config)
    network = read_config(path)
    faults = Faults(str(path))
    reader = _SonataReader(
        network, dict(models or {}), frozenset(ignore), known_models(own), faults
    )
    try:
        with reader.files:
            reader.nodes()
            if faults.count:
                faults.finish()
            groups = reader.groups()
            connections = reader.edges()
    except BROKEN as error:
        if isinstance(error, CircuitError):
            raise
        said = " ".join(str(error).split())[:200]
        raise CircuitError(f"{path}: one of its files is damaged ({said})") from None
    faults.finish(strict)
    circuit = Circuit.from_columns(str(path), groups, connections, source=str(path))
    wiring = Faults(str(path))
    check_wiring(circuit, wiring)
    wiring.finish(strict)
    return checked(circuit, strict)


@dataclass
class _Block:
    """Nodes of one population and one template."""

    population: str
    rows: Rows
    template: Template
    uids: Column
    params: dict[str, Column]
    columns: dict[str, Column]
    numbers: Rows | None
    """Component numbers in the circuit that neurodriver has written; None in other files."""


class _SonataReader:
    """Reads the nodes, then the edges."""

    def __init__(
        self,
        network: SonataNetwork,
        models: dict[str, Any],
        ignore: frozenset[str],
        known: Mapping[str, Model],
        faults: Faults,
    ) -> None:
        self.network, self.ignore, self.known, self.faults = network, ignore, known, faults
        self.said = {key: as_template(given) for key, given in models.items()}
        self.templates = {**KNOWN, **self.said}
        self.blocks: dict[Model, list[_Block]] = {}
        self.ids: dict[str, Rows] = {}
        self.numbers: dict[str, NDArray[np.int32]] = {}
        """Node ids of each population, and their component numbers."""
        self.template_of: list[Template] = []
        self.model_of: list[Model] = []
        """Template and model of each block, in the order of the components."""
        self.blocks_of: list[Rows] = []
        """Block of each component, model by model."""
        self.files = ExitStack()

    def model(self, template: Template, name: str) -> Model | None:
        """Return the class of a template."""
        if not isinstance(template.model, str):
            return template.model
        if template.model not in self.known:
            say = f"unknown model {quoted(template.model)}{near(template.model, self.known)}"
            self.faults.add(f"models[{name!r}]: {say}")
        return self.known.get(template.model)

    def nodes(self) -> None:
        """Read all nodes, population by population."""
        for nodes in populations(self.network.nodes, "node", self.faults, self.files):
            if nodes.name in self.ids:
                say = "this population has been read from another file"
                self.faults.add(f"{nodes.where}: {say}")
            else:
                self._population(nodes)

    def _population(self, nodes: SonataPopulation) -> None:
        name = nodes.name
        given = nodes.column("node_id")
        ids = np.arange(nodes.count) if given is None else given.astype(np.int64)
        order = np.sort(ids)
        twice = order[1:][np.diff(order) == 0]
        if len(twice):
            self.faults.add(f"{nodes.where}: node_id {twice[0]} stands twice", len(twice))
        self.ids[name], self.numbers[name] = ids, np.full(len(ids), -1, np.int32)
        kinds, kind = nodes.texts("model_type")
        templates, template = nodes.texts("model_template")
        pairs, which = np.unique(np.stack([kind, template]), axis=1, return_inverse=True)
        same: dict[tuple[str, str], list[int]] = {}
        for number, (k, t) in enumerate(pairs.T.tolist()):
            same.setdefault((kinds[k], templates[t]), []).append(number)
        parameters = nodes.parameters(self.network.components.get("point_neuron_models_dir"))
        attributes = nodes.attributes()
        own = _uids(attributes.pop(UID, None), f"{nodes.where}: {UID}", self.faults)
        component = _whole(attributes.pop(NUMBER, None), f"{nodes.where}: {NUMBER}", self.faults)
        for (said, text), numbers in same.items():
            every = np.flatnonzero(np.isin(which.ravel(), numbers))
            found = self._template(said, text, nodes.where, len(every))
            where = f"{nodes.where} ({text or said})"
            for one, rows in self._chosen(found, parameters, every, where):
                model = self.model(one, text)
                if model is None:
                    continue
                uids = np.strings.add(f"{name}/", ids[rows].astype("U"))
                theirs = {key: column[rows] for key, column in parameters.items()}
                params = translated(one, model, theirs, len(rows), where, self.ignore, self.faults)
                columns = {key: column[rows] for key, column in attributes.items()}
                columns[POPULATION] = np.broadcast_to(np.array(name), len(rows))
                mine = None if component is None else component[rows]
                uids = uids if own is None else own[rows]
                block = _Block(name, rows, one, uids, params, columns, mine)
                self.blocks.setdefault(model, []).append(block)

    def _chosen(
        self,
        found: Template | TemplateChoice | None,
        parameters: dict[str, Column],
        rows: Rows,
        where: str,
    ) -> list[tuple[Template, Rows]]:
        """Return the template of each of some nodes, as pairs of a template and its nodes."""
        if not isinstance(found, TemplateChoice):
            return [] if found is None else [(found, rows)]
        codes = found.which({key: column[rows] for key, column in parameters.items()}, len(rows))
        lost = int((codes < 0).sum())
        if lost:
            self.faults.add(f"{where}: {found.allowed} (not so for {lost:,} nodes)", lost)
        return [
            (template, rows[codes == place])
            for place, template in enumerate(found.templates)
            if (codes == place).any()
        ]

    def _template(
        self, kind: str, name: str, where: str, times: int
    ) -> Template | TemplateChoice | None:
        """Return what a node's model_type and model_template mean."""
        if kind == "virtual":
            return self.templates["virtual"]
        point = kind in ("point_neuron", "point_process", "")
        if name in (self.templates if point else self.said):
            return self.templates[name]
        if point and name.startswith(OWN):
            return Template(name.removeprefix(OWN))
        if not point:
            say = f"model_type {quoted(kind)}: point neurons and virtual ones can be simulated"
        elif not name:
            say = "nodes without 'model_template'" + ("" if kind else " and 'model_type'")
        else:
            say = f"unknown model_template {quoted(name)}{near(name, self.templates)}"
        fix = "say what it becomes: models={'<model_template>': ...}"
        known = ", ".join(key for key in self.templates if key != "virtual")
        self.faults.add(f"{where}: {say} ({times:,} nodes); known are {known}; {fix}")
        return None

    def groups(self) -> list[Group]:
        """Return the components, model by model, and number them."""
        out = []
        start = 0
        for model, blocks in self._in_order():
            params = {}
            for key in dict.fromkeys(k for b in blocks for k in b.params):
                rule = model.params.get(key)
                default = np.nan if rule is None or rule.default is None else rule.default
                parts = [b.params.get(key, np.full(len(b.rows), default)) for b in blocks]
                params[key] = np.concatenate(parts)
            uids = np.concatenate([b.uids for b in blocks])
            columns = joined_columns([b.columns for b in blocks], [len(b.rows) for b in blocks])
            order = np.argsort(_numbered(blocks), kind="stable")
            number = np.empty(len(uids), np.int32)
            number[order] = np.arange(start, start + len(uids))
            which = np.repeat(np.arange(len(blocks)), [len(b.rows) for b in blocks])
            for place, block in enumerate(blocks):
                self.numbers[block.population][block.rows] = number[which == place]
                self.template_of.append(block.template)
                self.model_of.append(model)
            self.blocks_of.append(which[order] + len(self.template_of) - len(blocks))
            start += len(uids)
            params = {key: shared(column[order]) for key, column in params.items()}
            columns = {key: column[order] for key, column in columns.items()}
            columns = given_columns(columns, len(uids), model.__name__, self.faults)
            out.append(Group(model, params, len(uids), uids[order], columns=columns))
        return out

    def _in_order(self) -> list[tuple[Model, list[_Block]]]:
        """Return models with their blocks, in the order of the circuit that was written."""
        every = list(self.blocks.items())
        if any(b.numbers is None for _, blocks in every for b in blocks):
            return every
        return sorted(every, key=lambda item: min(int(_numbered([b]).min()) for b in item[1]))

    def edges(self) -> list[Connections]:
        """Return all edges, as one set of connections for each access of a model."""
        which = np.concatenate([np.empty(0, np.int64), *self.blocks_of])
        sets: dict[tuple[str, ...], list[dict[str, Column]]] = {}
        folder = self.network.components.get("synaptic_models_dir")
        for edges in populations(self.network.edges, "edge", self.faults, self.files):
            columns = {end: self._ends(edges, end) for end in ("source", "target")}
            own = own_access(edges)
            columns |= edge_numbers(edges, folder, self.ignore, own is not None)
            if self.faults.count:
                continue
            if own is not None:
                sets.setdefault((*own, number_of_set(edges)), []).append(columns)
            else:
                self._sort(edges, columns, which, sets)
        return [joined(key, sets.pop(key)) for key in list(sets)]

    def _ends(self, edges: SonataPopulation, end: str) -> NDArray[np.int32]:
        """Return the component at one end of each edge."""
        name = f"{end}_node_id"
        ids = edges.column(name)
        said = None if ids is None else edges.at[name].attrs.get("node_population")
        said = said.decode(errors="replace") if isinstance(said, bytes) else said
        if ids is None or said not in self.ids:
            known = ", ".join(map(quoted, self.ids))
            say = f"'{name}' must name its 'node_population' (got {quoted(said)})"
            self.faults.add(f"{edges.where}: {say}; there are {known}")
            return np.zeros(edges.count, np.int32)
        at = places(self.ids[said], ids)
        lost = np.flatnonzero(at < 0)
        say = f"is not in the population {quoted(said)}"
        self.faults.add_for(lost, lambda i: f"{edges.where}, edge {i:,}: {name} {ids[i]} {say}")
        return np.where(at < 0, np.int32(-1), self.numbers[said][at])

    def _sort(
        self,
        edges: SonataPopulation,
        columns: dict[str, Column],
        which: Rows,
        sets: dict[tuple[str, ...], list[dict[str, Column]]],
    ) -> None:
        """Sort the edges of a population by access, from target and sign of the weight."""
        source, target, count = columns["source"], columns["target"], len(self.template_of)
        signed = np.array([template.signed for template in self.template_of])[which[target]]
        receptor = receptors_and_signs(edges, columns, signed)
        known, negative = number_of_set(edges), columns["weight"] < 0
        kind = ((which[source] * count + which[target]) * 2 + negative) * MOST_RECEPTORS + receptor
        different = present(kind)
        for number in different.tolist():
            pair, port = divmod(number, MOST_RECEPTORS)
            (a, b), minus = divmod(pair // 2, count), pair % 2
            sender, receiver, template = self.model_of[a], self.model_of[b], self.template_of[b]
            name = template.receptor(port, minus)
            where = f"{edges.where}: edges to {receiver.__name__}"
            if name is None:
                ports = f"1 to {len(template.ports)}" if template.ports else "0, or not given"
                self.faults.add(f"{where}: 'receptor_type' must be {ports} (got {port})")
                continue
            wire = resolve(sender, receiver, SPIKES, name)
            rows = slice(None) if len(different) == 1 else kind == number
            if wire.fault or not receiver.access(wire.access).weighted:
                say = wire.fault or f"{receiver.__name__} takes no weights"
                self.faults.add(f"{where}: {say}")
                continue
            part = {key: column[rows] for key, column in columns.items()}
            if template.factors[minus] != 1.0:
                part["weight"] = part["weight"] * template.factors[minus]
            key = wire.variable, wire.access, known or numbers_said(receiver, wire.access)
            sets.setdefault(key, []).append(part)


def _numbered(blocks: list[_Block]) -> Rows:
    """Return the numbers of the components of blocks; as they stand where a file says none."""
    given = [b.numbers for b in blocks]
    if any(numbers is None for numbers in given):
        return np.arange(sum(len(b.rows) for b in blocks))
    return np.concatenate([numbers for numbers in given if numbers is not None])


def _uids(column: Column | None, where: str, faults: Faults) -> Column | None:
    """Return a column of uids, None where there is none."""
    if column is None or (column.dtype.kind == "U" and (column != "").all()):
        return column
    faults.add(f"{where} must be a text of each node")
    return None


def _whole(column: Column | None, where: str, faults: Faults) -> Rows | None:
    """Return a column of component numbers, None where there is none."""
    if column is None:
        return None
    if column.dtype.kind != "f" or not (np.isfinite(column) & (column >= 0)).all():
        faults.add(f"{where} must be a whole number of each node")
        return None
    return column.astype(np.int64)
