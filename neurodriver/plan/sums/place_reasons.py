"""What connections of a rule of place have to be like, so that they need not be stored."""

from __future__ import annotations

import numpy as np

from ...circuit.drawn import Drawn
from ...circuit.relation import Relation
from ...circuit.space import AxisGrid
from ...errors import quoted
from ...model.component import Access
from ...model.language import used
from ...model.language.words import FUNCTIONS
from ...model.texts import texts_of
from ..layout import Layout
from .place_distances import needs_distances
from .place_parts import GridRows

REDUCTIONS = ("sum", "max", "min", "mean", "product", "any", "argmax")
"""What the plan makes of values."""

PART = "an end is a part of a population"


def possible(layout: Layout, one: Drawn) -> str:
    """Return where connections like some need not be stored, in words."""
    if not layout.circuit.kinds.is_event(one.variable):
        where = "where rules along axes alone lead into the access of a graded value"
        even = "by distance or with a formula on regular axes"
        return f"{where}, {even}, each with one delay, and its weight no distribution"
    if not layout.target.threads:
        return "for weighted spikes that act a step later or more"
    where = "for weighted spikes between whole populations on axes without a mask"
    return f"{where}, whose weights and delays are numbers or formulas"


def unfit_access(layout: Layout, number: int, access: Access) -> str:
    """Return what keeps an access from taking values by place; "" for nothing."""
    if access.reduce not in REDUCTIONS or layout.circuit.kinds.is_event(access.variable):
        return "the access takes no graded values"
    if number in layout.positions:
        return "the cells of the target are stored in another order"
    known = {access.variable, "weight", *FUNCTIONS}
    texts = texts_of(layout.circuit.groups[number].model).each(access)
    if {*access.connection} - {"weight"} or any(used(part.tree) - known for part in texts):
        return "the access takes more of a connection than its value and its weight"
    return ""


def unfit(layout: Layout, one: Drawn, start: int, stop: int) -> str:
    """Return what keeps graded connections into a group from being found by place."""
    located = one.located
    if one.projection.stored is True:
        return "stored=True asks for the opposite"
    if located is None:
        return f"{type(one.projection.rule).__name__} is no rule of place"
    if one.plasticity is not None:
        return "connections learn"
    relation = located.relation
    if relation.form not in ("grid", "offsets"):
        return "cells have positions= and no axes"
    if one.latency.least != one.latency.most:
        return "delays differ"
    by_formula = relation.form == "grid" and located.formulas[0] is not None
    if not by_formula and one.weight.least != one.weight.most:
        return "the weight is drawn from a distribution"
    if relation.form == "offsets" and not located.autapses and one.ends.shared > 0:
        return "offsets with autapses=False connect a population with itself"
    ends = (one.ends.source, relation.source, 0), (one.ends.target, relation.target, 1)
    if any(e.start != located.firsts[i] or len(e) != space.count for e, space, i in ends):
        return PART
    group = int(layout.circuit.group_of(one.ends.source.start))
    if layout.circuit.groups[group].is_port or group in layout.positions:
        return "the cells of the source are ports, or stored in another order"
    return "" if start <= one.ends.target.start < stop else "the target has several models"


def in_other_rows(relation: Relation, rows: GridRows) -> str:
    """Return what keeps the rows of the sources from being read as they are; "" for nothing."""
    source, target = relation.source, relation.target
    if len(np.unique(rows.number)) < len(rows.number):
        return f"the mask of the source has a hole along its last axis {quoted(source.names[-1])}"
    last = source.names[-1]
    ordered = tuple(name for name in relation.names if name in source.names)
    if relation.names[-1] != last or last != target.names[-1] or ordered != source.names:
        return "the axes of the source and of the target have another order, or another last axis"
    return ""


def unplain(one: Drawn) -> str:
    """Return why a projection that fits otherwise has no tables of rows."""
    assert one.located is not None
    relation = one.located.relation
    source, target = relation.source, relation.target
    assert isinstance(source, AxisGrid) and isinstance(target, AxisGrid)
    if text := in_other_rows(relation, GridRows.of(source)):
        return text
    if needs_distances(one):
        axis = quoted(source.names[-1])
        return f"distances or weights differ between the cells of a row along {axis}"
    closed = [name for name, axis in source.axes.items() if axis.period is not None]
    if closed:
        return f"offsets lead around the closed axis {quoted(closed[-1])}"
    return ""


def unfit_spikes(layout: Layout, one: Drawn) -> str:
    """Return what keeps spikes from computing their connections, where that is known."""
    if one.plasticity is not None:
        return "connections learn"
    if one.located is None or not layout.target.threads:
        return ""
    spaces = one.located.relation.source, one.located.relation.target
    if any(not isinstance(space, AxisGrid) for space in spaces):
        return "cells have positions= and no axes"
    if any(isinstance(space, AxisGrid) and space.mask is not None for space in spaces):
        return "a population has a mask"
    whole = (len(one.ends.source), len(one.ends.target)) == tuple(s.count for s in spaces)
    return "" if whole else PART
