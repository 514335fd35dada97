"""Connections that learn: rows by source, as those that are delivered, with a weight for each.

A synapse stands somewhere on the way of a spike. Of a delay of L steps, ``a`` lie between the
source and the synapse, and ``f`` between the synapse and the target: L = a + f + 1. The synapse
sees the source's spike of row k in step k + a, and its target's spike of row k in step k + b.
Example: with a dendritic delay of 1.5 ms and steps of 0.1 ms, a = 0, f = 14 and b = 15.

A synapse learns when a spike of its source arrives. It applies all spikes of its target that it
has seen since the arrival before, each with the traces of its own step. Until then these spikes
stay in the *history* of the target, which holds its last ``depth`` spikes. Where a history would
overflow, all synapses are brought up to date. Both ways do the same operations in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...circuit.circuit import Connections
from ...circuit.plastic import (
    events_of,
    first_number,
    given_largest,
    largest_sent,
    numbers_of_synapses,
    varied,
)
from ...errors import CircuitError, quoted
from ...model.plasticity import Plasticity
from ...model.rule_sums import sums_of
from ...model.rule_values import IN_STEPS
from ...model.synapse_traces import anchors
from ...native.buffers import aligned, as_aligned, padded
from ..arrays import Array, Key, Kind, Owner, Role, role_of_synapses, row, zeros
from ..edges import element_of, elements_of, elements_of_values
from ..layout import Layout
from ..sums.gather import Gather
from .fanout import PIECE, of_slots, per_slice
from .learning_rows import LearningRows, rows_of
from .thread_ranges import ThreadRanges
from .thread_shares import SHORT_ROW, SharesByThread
from .weights import BITS, Bounds, Units, powers

MOST_STEPS = 1 << 30
"""Steps of a simulation with synapses that learn: rows of spikes take 4 bytes."""

NEVER = -MOST_STEPS
"""Stands for the step of an event that has not been."""

LEAST_HISTORY = {False: 32, True: 16}
"""Spikes of a target that are kept at least, on a CPU and on a GPU."""

RECENT = 8
"""Spikes of a target that lie side by side in memory: ``ND_RECENT`` of ``history_entry.h``."""

SHORT_PIECE = 32
"""Connections that a warp takes at once of rows that have some hundreds at most."""

LISTED = 6
"""Word of ``swept_step``: on a CPU 1 + the row of spikes of sources that is listed next."""

MODULATORS = 8
"""Modulators of a rule at most."""

LEVELS = 32
"""Steps of the past whose levels are kept for texts of intervals: ``ND_LEVELS`` of a GPU."""


@dataclass
class LearningPlan(Gather):
    """The plan of connections that learn, into one access of one group.

    Attributes
    ----------
    name : str
        Of the connections.
    width : int
        Places of targets.
    depth : int
        Entries of a history; a power of two.
    variable : str
        Events of the targets, or "" where they have none.
    rank : (m,) int64 or None
        Number of each stored connection among those of its set; None: 0, 1, 2, ...
    degree : (targets,) int64
        Connections of each target.
    largest : float
        Largest |value| that is sent.
    learns : bool
        Whether the texts of the rule run.
    dt_ms : float
        Step in ms.
    varied : tuple of str
        Parameters of the rule of which each synapse has a number.
    """

    rule: Plasticity = field(default_factory=Plasticity)
    name: str = ""
    width: int = 0
    depth: int = LEAST_HISTORY[False]
    rows_of_sources: int = 0
    variable: str = ""
    rank: NDArray[np.int64] | None = None
    degree: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    largest: float = 0.0
    learns: bool = True
    dt_ms: float = 0.0
    varied: tuple[str, ...] = ()

    @property
    def own(self) -> list[str]:
        """Names of the numbers of each synapse."""
        return ["weight", *self.rule.synapse, *self.varied]

    @property
    def places(self) -> NDArray[np.int64]:
        """Where each of the connections is stored, (m,)."""
        return np.arange(self.edges)

    @property
    def order(self) -> NDArray[np.int64]:
        """Number of each stored connection among those of its set, (m,)."""
        return np.arange(self.edges) if self.rank is None else self.rank

    @property
    def piece(self) -> int:
        """Connections of a row that a warp of a GPU takes at once: few where rows are short."""
        return PIECE if self.edges > 2 * PIECE * self.rows_of_sources else SHORT_PIECE

    @property
    def alone(self) -> bool:
        """Whether something other than spikes may change all synapses in a step."""
        return self.rule.needs_each_step()

    def histories(self, stored: NDArray[Any]) -> NDArray[Any]:
        """Return histories as they are stored, (places * depth,), as (places, depth)."""
        return np.moveaxis(stored.reshape(-1, self.width, RECENT), 0, 1).reshape(-1, self.depth)

    def stored_histories(self, histories: NDArray[Any]) -> NDArray[Any]:
        """Return histories, (places, depth), as they are stored: see `history_entry.h`."""
        return np.moveaxis(histories.reshape(self.width, -1, RECENT), 1, 0).reshape(-1)

    def in_units(self, units: Units, dt: float) -> None:
        """Add what depends on the units of the access and on the step."""
        if (units.unit == units.unit[0]).all():
            self.uniform["one_per_unit"] = 1.0 / float(units.unit[0])
        else:
            self.arrays["per_unit"] = np.ones(self.width)
            self.arrays["per_unit"][: len(units.unit)] = 1.0 / units.unit
        self.dt_ms = dt * 1000.0
        for name in self.rule.every:
            steps = self.rule.values[name] / self.dt_ms
            self.limits[f"every {name}"] = max(round(steps), 1)

    def key(self, owner: Owner, name: str) -> Key:
        if name in self.own:
            return Key(owner, Kind.WEIGHT, name)
        if name in ("per_unit", "one_per_unit"):
            return Key(owner, Kind.CONSTANT, name)
        index = ("code", "block", "parts", "begin", "scanned", "about", "first sources")
        if name in index or name.startswith(("released ", "seen ", "ranges ")):
            return Key(owner, Kind.INDEX, name)
        return Key(owner, Kind.HISTORY, name)

    def rows(self, owner: Owner, real: DTypeLike) -> Iterator[Array]:
        rule, kept = self.rule, self.width * self.depth
        sources = 2 * self.rows_of_sources
        for one in rule.every_value():
            self.limits[f"late {one.symbol}"] = rule.steps_late(one, self.dt_ms)
        given = {**self.arrays, **self.uniform}
        out = [
            row(self.key(owner, name), value, real=real) for name, value in given.items()
            if name not in self.own
        ]  # fmt: skip
        out.append(row(Key(owner, Kind.STEP, "dt_ms"), self.dt_ms))
        for name in self.own:
            role = role_of_synapses(rule.changes_synapses())
            out.append(
                row(self.key(owner, name), self.arrays[name], role, real, rule.unit_of(name))
            )
        spikes = np.full(kept, NEVER, np.int32)
        of_target = [row(self.key(owner, "spikes"), spikes, Role.HISTORY)]
        of_target += [zeros(self.key(owner, n), kept, real, Role.HISTORY) for n in rule.post]
        of_target.append(zeros(self.key(owner, "unswept"), self.width, np.int32, Role.HISTORY))
        never = np.full(sources, NEVER, np.int32)
        of_source = [row(self.key(owner, "arrivals"), never, Role.OF_THREAD)]
        of_source += [zeros(self.key(owner, n), sources, real, Role.OF_THREAD) for n in rule.pre]
        for name in ("swept_step", "clamped"):
            of_source.append(zeros(self.key(owner, name), 8, np.int64, Role.OF_THREAD))
        of_source.append(zeros(self.key(owner, "level"), MODULATORS, real, Role.OF_THREAD))
        dosed = np.full(MODULATORS, NEVER, np.int32)
        of_source.append(row(self.key(owner, "dosed"), dosed, Role.OF_THREAD))
        if anchors(rule):  # whether synapses catch up to a dose that Python gives
            of_target.append(zeros(self.key(owner, "dosing"), 8, np.int64, Role.SCRATCH))
        sums = [len(sums_of(text)[0]) for text in rule.every.values()]
        if any(sums):
            size = (sum(sums) if self.threads else max(sums)) * self.width
            of_target.append(zeros(self.key(owner, "sums"), size, np.int64, Role.SCRATCH))
        lists = self._lists if self.threads else self._listed
        out += [*of_target, *of_source, *lists(owner, real)]
        learning = np.full(8, int(self.learns), np.int64)
        out.append(row(self.key(owner, "learning"), learning, Role.LEARNED))
        out += [row(Key(owner, Kind.SIZE, name), size) for name, size in self.limits.items()]
        for name, value in rule.values.items():
            if name not in self.varied:
                key = Key(owner, Kind.PARAMETER, name)
                out.append(row(key, float(value), Role.CONSTANT, real))
        out.append(row(Key(owner, Kind.PARAMETER, "largest sent"), self.largest))
        yield from out

    @property
    def threads(self) -> bool:
        """Whether the plan is for a GPU."""
        return "begin" in self.arrays

    def _listed(self, owner: Owner, real: DTypeLike) -> list[Array]:
        """Return the rows by which a thread of a CPU knows of spikes (`source_spikes.h`)."""
        sources, traces = self.limits["sources"], 2 * len(self.rule.pre)
        lists = self.limits["most lag"] - self.limits["least lag"] + 1
        sizes = {
            "known spikes": (2 * sources, np.int32), "known traces": (traces * sources, real),
            "spikes before": (2 * sources, np.int32), "traces before": (traces * sources, real),
            "listed spikes": (4 * lists * sources, np.int32),
            "listed traces": (traces * lists * sources, real),
            "listed counts": (-(-lists // 8) * 8, np.int64),
        }  # fmt: skip
        return [
            zeros(self.key(owner, name), size, kind, Role.OF_THREAD)
            for name, (size, kind) in sizes.items()
        ]

    def _lists(self, owner: Owner, real: DTypeLike) -> list[Array]:
        """Return the rows by which the warps of a GPU know of arrivals."""
        sources = 2 * self.rows_of_sources
        never = np.full(sources, NEVER, np.int32)
        out = [row(self.key(owner, "next arrivals"), never, Role.SCRATCH)]
        out += [
            zeros(self.key(owner, f"next {n}"), sources, real, Role.SCRATCH) for n in self.rule.pre
        ]
        out.append(zeros(self.key(owner, "found"), self.rows_of_sources, np.uint32, Role.SCRATCH))
        pieces = 4 * self.limits["pieces"]
        out.append(zeros(self.key(owner, "doses"), 2 * MODULATORS, np.int64, Role.SCRATCH))
        kept = LEVELS * max(anchors(self.rule), 1)
        out.append(zeros(self.key(owner, "levels"), kept, real, Role.SCRATCH))
        return [*out, zeros(self.key(owner, "pieces"), pieces, np.uint32, Role.SCRATCH)]


def common_units(bounds: Bounds | None, learning: list[LearningPlan], dtype: str) -> Units:
    """Return the units of an access that connections reach that learn: powers of two.

    Parameters
    ----------
    bounds : Bounds or None
        Of the weights that do not learn, where there are any.
    """
    count = len(learning[0].degree)
    none = np.zeros(count, np.int64), np.full(count, np.inf), np.zeros(count), np.zeros(count)
    all_of_them = bounds or Bounds(*none)
    for plan in learning:
        all_of_them = Bounds(
            all_of_them.degree + plan.degree,
            all_of_them.least,
            np.maximum(all_of_them.greatest, np.where(plan.degree > 0, plan.largest, 0.0)),
            all_of_them.total + plan.degree * plan.largest,
        )
    unit = powers(all_of_them, BITS[dtype])
    has = all_of_them.degree > 0
    unit[~has] = unit[has].min(initial=1.0)
    return Units.covering(all_of_them, unit)


def learn_by_source(
    layout: Layout, number: int, variable: str, links: Connections, count: int
) -> LearningPlan:
    """Return the plan of connections that learn.

    Parameters
    ----------
    number : int
        Group of the targets.
    variable : str
        The sources' events.
    count : int
        Storage places of targets.

    Raises
    ------
    CircuitError
        Where the rule has a text for spikes of targets that have none.
    """
    rule = links.plasticity
    assert rule is not None
    model = layout.circuit.groups[number].model
    spikes = events_of(model, variable)
    if rule.on_spike and not spikes:
        say = f"{layout.circuit.name}: connections {quoted(links.name or links.access)}"
        text = f"{type(rule).__name__} has a text for spikes of the target, but {model.__name__}"
        raise CircuitError(f"{say}: {text} updates no events; use a rule without 'on_spike'")
    rows = rows_of(layout, number, variable, links)
    width, edges = padded(count), len(rows.place)
    weight = aligned(edges, layout.dtype)
    weight[:] = rows.weight
    narrow = np.uint16 if width <= 1 << 16 else np.int32
    arrays: dict[str, Any] = {
        "block": rows.block,
        "code": as_aligned(rows.place, narrow),
        "weight": weight,
    }
    for name in numbers_of_synapses(links)[1:]:
        column = first_number(links, name)
        arrays[name] = aligned(edges, layout.dtype)
        arrays[name][:] = column if rows.rank is None or not column.ndim else column[rows.rank]
    released = {
        f"released {name}": elements_of(layout, variable, rule.released_by[name], links)
        for name in rule.doses()
        if name in rule.released_by
    }
    arrays |= released
    arrays |= _seen(layout, links, rows)
    longest = int(rows.block[:, 5].max())
    least = LEAST_HISTORY[bool(layout.target.threads)]
    depth = max(least, 1 << (longest + layout.window + 2).bit_length())
    gather = LearningPlan(
        "learning", edges, arrays, None, rule=rule, name=links.name, width=width,
        depth=depth, variable=spikes,
        rows_of_sources=len(rows.first) - 1, rank=rows.rank,
        degree=np.concatenate([rows.degree, np.zeros(count - len(rows.degree), np.int64)]),
        largest=given_largest(links) or largest_sent(links, rows.weight), varied=varied(links),
    )  # fmt: skip
    gather.limits |= {"blocks": len(rows.block), "rows": len(rows.first) - 1}
    gather.limits |= {name: len(elements) for name, elements in released.items()}
    gather.limits |= elements_of_values(layout, links)
    gather.limits |= {"longest back": longest, "places": width}
    if layout.target.threads:
        degree = np.diff(rows.first)
        arrays["begin"] = rows.first
        arrays["scanned"], arrays["about"] = _about(rows)
        gather.limits["most"] = int(degree.max())
        gather.limits["pieces"] = int((-(-degree // gather.piece)).sum())
        gather.cost = of_slots(len(gather.degree))
    else:
        _of_threads(gather, rows)
        gather.cost = per_slice(gather.degree)
    return gather


def _seen(layout: Layout, links: Connections, rows: LearningRows) -> dict[str, NDArray[np.int32]]:
    """Return where the sources of all rows stand in the rows of variables that the rule reads."""
    rule = links.plasticity
    assert rule is not None
    values = [value for value in rule.values_read(*IN_STEPS) if value.side == "pre"]
    if not values:
        return {}
    has = np.flatnonzero(np.diff(rows.first))
    example = rows.first[has]
    whole = links.expanded()
    source = whole.source[example if rows.rank is None else rows.rank[example]]
    out = {}
    for value in values:
        column = np.zeros(len(rows.first) - 1, np.int32)
        column[has] = element_of(layout, source, value.variable(links.variable))
        out[f"seen {value.symbol}"] = column
    return out


def _of_threads(gather: LearningPlan, rows: LearningRows) -> None:
    """Add what the threads of a CPU need: their shares, and where the sources are."""
    each, place = rows.beside()
    code: Any = gather.arrays["code"]
    ranges = gather.arrays["ranges of sources"] = rows.ranges
    gather.arrays["first sources"] = rows.sources
    sources = int((ranges[:, 2] - ranges[:, 1]).sum())
    given = rows.first, code, gather.width, rows.block, None, place
    short = each > 1 and len(code) < SHORT_ROW * len(place)
    gather.parts = SharesByThread(*given, sources * each) if short else ThreadRanges(*given)
    gather.limits |= {"ranges": len(ranges), "rows of a source": each, "sources": sources}
    lags = rows.block[:, 0]
    gather.limits |= {"least lag": int(lags.min()), "most lag": int(lags.max())}


def _about(rows: LearningRows) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return what a GPU knows of each row.

    (rows, 2): element and a; (rows, 8): element, a, f, b, where its connections begin, in two
    halves, how many there are, and 0.
    """
    about = np.zeros((len(rows.first) - 1, 8), np.int32)
    for a, start, stop, first, f, b in rows.block.tolist():
        mine = about[first : first + stop - start]
        mine[:, 0] = np.arange(start, stop)
        mine[:, 1:4] = a, f, b
    about[:, 4:6] = rows.first[:-1, None].view(np.int32)
    about[:, 6] = np.diff(rows.first)
    return np.ascontiguousarray(about[:, :2]), about


def check_steps(plans: Iterable[Gather], steps: int, dt: float) -> None:
    """Raise CircuitError where synapses that learn would not know the step any more."""
    if steps > MOST_STEPS and any(isinstance(plan, LearningPlan) for plan in plans):
        raise CircuitError(
            f"synapses that learn count at most {MOST_STEPS:,} steps, which are "
            f"{MOST_STEPS * dt:,.0f} s here (got {steps:,}); use a larger dt, or save the "
            f"weights and begin anew with them"
        )
