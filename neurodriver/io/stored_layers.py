"""Fields and sources of populations in an HDF5 file.

``groups/<i>/layer`` has the attribute ``population``; ``fields/<name>`` with the array of a field;
``shapes/<name>`` (k, axes) int, the shapes of a list of k arrays, whose values lie one after the
other; ``shared/<name>`` () text, the name of a field that others have, too; ``sources/<name>`` (n,)
text, the names of the populations that a source stands for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.groups import FieldValue, Group, Layer
from ..circuit.layer import check_sources, check_values
from ..circuit.selection import Selection
from ..circuit.space import AxisGrid, Space
from ..errors import near, quoted
from ..model.component import NDComponent
from ..model.fields import Field, values_of
from .columns import ColumnReader, put


def put_layer(at: Any, layer: Layer, compress: bool) -> None:
    """Write the fields and sources of a group."""
    node = at.create_group("layer")
    node.attrs["population"] = layer.population
    fields, shared, sources = (node.create_group(n) for n in ("fields", "shared", "sources"))
    for name, one in layer.fields.items():
        put(fields, name, one.values, compress)
        if one.shapes:
            put(node.require_group("shapes"), name, np.array(one.shapes, np.int64))
        if one.name:
            put(shared, name, np.array(one.name))
    for name, some in layer.sources.items():
        put(sources, name, np.array(some, dtype=np.str_))


def take_layer(reader: ColumnReader, at: Any, model: type[NDComponent]) -> Layer | None:
    """Return the fields and sources of a group; None where it has none, or they are wrong."""
    if "layer" not in at:
        return None
    node = at["layer"]
    population = reader.attribute(node, "population", str)
    parts = {part: reader.members(node, part) for part in ("fields", "shared", "sources")}
    fields: dict[str, FieldValue] = {}
    rules = model.every_field()
    for name, item in parts["fields"].items():
        where = f"{node.name}/fields/{name}"
        if name not in rules:
            say = f"{model.__name__} has no field {quoted(name)}{near(name, rules)}"
            reader.faults.add(f"{where}: {say}")
            continue
        values = reader.values(item, where, "fi", getattr(item, "shape", ()))
        known = parts["shared"].get(name)
        called = None if known is None else reader.values(known, f"{where}, shared", "U", ())
        if values is not None:
            values.flags.writeable = False
            shapes = _shapes(reader, node, name, rules[name], values)
            fields[name] = FieldValue(values, "" if called is None else str(called), shapes)
    sources = {}
    for name, item in parts["sources"].items():
        where = f"{node.name}/sources/{name}"
        if name not in model.sources:
            say = f"{model.__name__} has no source {quoted(name)}{near(name, model.sources)}"
            reader.faults.add(f"{where}: {say}")
            continue
        some = reader.values(item, where, "U", getattr(item, "shape", (0,)))
        sources[name] = () if some is None else tuple(some.ravel().tolist())
    lost = [*rules.keys() - parts["fields"].keys(), *model.sources.keys() - parts["sources"].keys()]
    for name in sorted(lost):
        reader.faults.add(f"{node.name}: {quoted(name)} of {model.__name__} is missing")
    return None if population is None else Layer(population, fields, sources)


def _shapes(
    reader: ColumnReader, node: Any, name: str, rule: Field, values: NDArray[Any]
) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of a list of arrays; none of a field that is no list."""
    if not rule.many:
        return ()
    where = f"{node.name}/shapes/{name}"
    item = node["shapes"].get(name) if "shapes" in node else None
    found = None if item is None else reader.values(item, where, "i", getattr(item, "shape", ()))
    fits = found is not None and found.ndim == 2 and found.shape[1] == len(rule.indexed)
    if found is None or not fits or (found < 1).any() or found.prod(1).sum() != values.size:
        need = f"the shape of each array of the list, ({', '.join(rule.indexed)}), is needed"
        reader.faults.add(f"{where}: {need}, for {values.size} values")
        return ((values.size,) + (1,) * (len(rule.indexed) - 1),)
    return tuple(map(tuple, found.tolist()))


def check_layers(
    reader: ColumnReader,
    groups: Sequence[Group],
    spaces: Mapping[str, Space],
    names: Mapping[str, Selection],
) -> None:
    """Note fields that do not fit the axes, and sources that are not there."""
    faults, layers = reader.faults, {}
    for group in groups:
        layer = group.layer
        if layer is None:
            continue
        layers[layer.population] = group.model, layer
        space, lengths = spaces.get(layer.population), {}
        if isinstance(space, AxisGrid):
            lengths = dict(zip(space.names, space.extent, strict=True))
        names_of_axes = tuple(getattr(space, "names", ()))
        if group.model.axes and names_of_axes != group.model.axes:
            need = f"needs the axes {', '.join(group.model.axes)}"
            faults.add(f"population {quoted(layer.population)} ({group.name}) {need}")
            continue
        for name, one in layer.fields.items():
            _, _, fault = values_of(group.model.every_field()[name], one.array, lengths)
            if fault:
                faults.add(f"population {quoted(layer.population)}, field {quoted(name)}: {fault}")
    models = {name: members.model for name, members in names.items() if len(members.models) == 1}
    check_sources(layers, models, faults)
    check_values((layer for _, layer in layers.values()), faults)
