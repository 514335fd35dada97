"""Read the point neurons of a NeuroML 2 file as models that are written as equations."""

from __future__ import annotations

import math
import re
import types
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from ..arguments import checked_arguments, file_path, texts
from ..errors import Faults, near, quoted
from ..model.component import Access, NDComponent, Parameter, State
from ..model.kinds import SPIKES
from .neuroml_cells import CELL_TYPES, RENAMED, CellType

UNITS: dict[str, dict[str, str]] = {
    "mV": {"V": "1e3", "mV": "1"},
    "ms": {"s": "1e3", "ms": "1", "min": "6e4", "hour": "3.6e6"},
    "pA": {"A": "1e12", "uA": "1e6", "nA": "1e3", "pA": "1"},
    "nS": {"S": "1e9", "mS": "1e6", "uS": "1e3", "nS": "1", "pS": "1e-3"},
    "pF": {"F": "1e12", "uF": "1e6", "nF": "1e3", "pF": "1"},
    "1/ms": {"per_s": "1e-3", "Hz": "1e-3", "per_ms": "1"},
    "nS/mV": {"S_per_V": "1e6", "nS_per_mV": "1"},
    "1": {"": "1"},
}
"""Unit here -> units in the files, with their factors."""

PLAIN = {"id", "metaid", "neuroLexId", "notes", "annotation", "property"}
"""Attributes and elements that describe, and have no effect."""

_QUANTITY = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(\w*)\s*")


@checked_arguments(path=file_path, ignore=texts)
def read_neuroml(path: str | Path, *, ignore: Iterable[str] = ()) -> dict[str, type[NDComponent]]:
    """Read the point neurons of a NeuroML 2 file.

    Parameters
    ----------
    path : str or Path
        The file. The files that it includes are read, too.
    ignore : iterable of str
        Names of elements, such as ``network``, that are left out. Any other element that is no
        point neuron is an error.

    Returns
    -------
    dict of str to NDComponent subclass
        Id of a cell -> its model. Parameters have the names of NeuroML, and their values are the
        defaults. The parameter I of a cell is called ``drive``. The model updates V in mV, and
        ``spike_state`` if the cell has a threshold. Its input I is in pA, or without a unit for an
        ``izhikevichCell``.

    Raises
    ------
    CircuitError
        With all faults of the files: what they have besides the cells of
        `neuroml_cells.CELL_TYPES`, and missing, unknown or malformed attributes.

    Examples
    --------
    >>> cells = nd.read_neuroml("cells.nml", ignore=["network"])  # doctest: +SKIP
    >>> nd.Population(cells["tonic"], 100)  # doctest: +SKIP
    """
    faults = Faults(str(path))
    found: dict[str, tuple[CellType, dict[str, float], str]] = {}
    skipped = frozenset(ignore)
    for where, element in _elements(Path(path), faults, set()):
        kind = _name(element)
        if kind in skipped or kind in PLAIN:
            continue
        number, cell = element.get("id", ""), CELL_TYPES.get(kind)
        said = f"{where}: <{kind} id={quoted(number)}>"
        if cell is None:
            known = ", ".join(CELL_TYPES)
            say = f"is no point neuron that can be written as equations{near(kind, CELL_TYPES)}"
            faults.add(f"{said} {say}; known are {known}; leave it out with ignore=[{kind!r}]")
        elif not number.isidentifier():
            faults.add(f"{said} needs an id that is a name, such as 'cell_1'")
        elif number in found:
            faults.add(f"{said} stands twice")
        else:
            found[number] = cell, _values(cell, element, said, faults), kind
    if not found and not faults.count:
        faults.add(f"{path}: has no point neurons")
    faults.finish()
    return {number: _model(number, *parts) for number, parts in found.items()}


def _elements(
    path: Path, faults: Faults, seen: set[Path]
) -> Iterator[tuple[Path, ElementTree.Element]]:
    """Yield the elements of a file and of those that it includes, with the file of each."""
    if path.resolve() in seen:
        return
    seen.add(path.resolve())
    try:
        root = ElementTree.fromstring(path.read_bytes())
    except OSError as error:
        faults.add(f"{path}: cannot be read ({error.strerror or error})")
        return
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        faults.add(f"{path}: not well-formed XML ({error})")
        return
    if _name(root) != "neuroml":
        faults.add(f"{path}: the root must be <neuroml> (got <{_name(root)}>)")
        return
    for element in root:
        if _name(element) == "include":
            yield from _elements(path.parent / element.get("href", ""), faults, seen)
        else:
            yield path, element


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _values(
    cell: CellType, element: ElementTree.Element, where: str, faults: Faults
) -> dict[str, float]:
    """Return the parameters of a cell in our units."""
    out = {}
    for name, unit in cell.params.items():
        text = element.get(name)
        if text is None:
            faults.add(f"{where}: the attribute {quoted(name)} is missing")
            continue
        value = _quantity(text, UNITS[unit])
        if value is None:
            allowed = ", ".join(f"'{one}'" for one in UNITS[unit])
            want = "a number" if unit == "1" else f"a number with one of the units {allowed}"
            faults.add(f"{where}: {quoted(name)} must be {want} (got {quoted(text)})")
            continue
        out[name] = value
        if name in cell.positive and not out[name] > 0:
            faults.add(f"{where}: {quoted(name)} must be above 0 (got {quoted(text)})")
    for name in element.keys():
        if name not in cell.params and name not in PLAIN and "}" not in name:
            faults.add(f"{where}: unknown attribute {quoted(name)}{near(name, cell.params)}")
    for inner in element:
        if _name(inner) not in PLAIN:
            faults.add(f"{where}: the element <{_name(inner)}> has no meaning in a point neuron")
    return out


def _quantity(text: str, units: dict[str, str]) -> float | None:
    """Return a number in our unit, None if the text is none or has another unit."""
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2] not in units or not math.isfinite(float(match[1])):
        return None
    value = float(Decimal(match[1]) * Decimal(units[match[2]]))
    return value if math.isfinite(value) else None


def _model(number: str, cell: CellType, values: dict[str, float], kind: str) -> type[NDComponent]:
    """Return the class of a cell."""
    fires = bool(cell.threshold)
    params = {
        RENAMED.get(name, name): Parameter(
            unit, default=values[name], above=0.0 if name in cell.positive else -math.inf
        )
        for name, unit in cell.params.items()
    }
    starts = {
        name: math.prod(values[one] for one in start) if isinstance(start, tuple) else start
        for name, start in cell.start.items()
    }
    units = dict(re.findall(r"d(\w+)/dt = .* : (\w+)", cell.equations))
    body: dict[str, Any] = {
        "__module__": __name__,
        "__doc__": f"The {kind} {quoted(number)} of a NeuroML file.",
        "accesses": (Access("I"),) if "I :" in cell.equations else (),
        "updates": (SPIKES, "V") if fires else ("V",),
        "params": params,
        "states": {name: State(units[name], start) for name, start in starts.items()},
        "equations": cell.equations,
        "threshold": cell.threshold,
        "reset": cell.reset,
        "refractory": cell.refractory,
    }
    return types.new_class(number, (NDComponent,), exec_body=lambda names: names.update(body))
