"""Delivery of spikes when they are due, on a GPU: for many targets and long delays.

Delivery ahead adds a spike's weights to slots of all steps at which they are due. Slots of many
steps do not fit into the L2 cache of a GPU. Delivery when due has slots of two steps. The
connections of a source are sorted by their delay, and connections of one delay are a *bin*. A
history holds the spikes that have bins left. While the slots of a step are read, the bins are
delivered that are due in the next step, and those due one step later are listed. See
``docs/design/due.md``.

Arrays of such a plan, beside those of `plan.spikes.fanout`:

``code``
    Targets. Where weights are small they stand above the target, in the bits from ``shift`` on.
``low`` (sources,)
    Least delay of each source in steps, less one: that of its first bin; -1: it has no connections.
``bins`` (sources + 1,)
    Where the bins of each source begin.
``ends`` (bins,)
    Where each bin ends, counted from the first connection of its source. A bin may be empty.
``due``, ``sent``
    The history: the row of slots for which a spike is looked at next, and source, number of the
    next bin, weight times number of spikes, and the home of a source that shares its connections.
``listed``, ``offsets``, ``homes``
    Lists of what is due, for even and for odd rows. An entry has the first one of some connections,
    their number, and the weight times number of spikes. Its offset is the number of connections in
    the entries before it. Homes are kept where sources share connections. Behind the lists is a
    ring of new spikes: source, row of slots in which it is due first, weight times number of
    spikes, and home.
``heads``
    Numbers that kernels count, see `MOST` and the following names. The first one is how many spikes
    have entered the history.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import CircuitError
from ...native.buffers import ZeroArray
from ..layout import Layout

if TYPE_CHECKING:
    from ..sums.gather import Gather

Integers = NDArray[np.int64]

MOST_SLOTS = 2**31 - 1
"""Largest number of slots of an access: an index takes 4 bytes."""

MOST_SENT = 1 << 26
"""Largest number of spikes of a history, 20 bytes each."""

MOST, BEGINS, LISTED, BEFORE = 1, 2, 10, 14
"""Places in ``heads``: the most spikes that were on their way at once; how many spikes there were
before each of eight calls that deliver new ones; entries of the lists of four rows, above the
number of their connections; how many spikes had entered the history before each row, a ring of
``rows`` rows. These are a power of two, and `TURNS` at least."""

TURNS = "turns"
"""Steps after which a spike is due nowhere any more. The parts of a circuit differ in it, and this
number is not in the text of a kernel. So parts of equal sizes have one text."""

CONNECTION_BITS = 40
"""Bits of a number of connections below a number of entries."""

FEWEST_ENTRIES, ENTRIES_SHARE = 1 << 20, 8
"""A list has an entry for one spike in eight that the history has room for, but for so many at
least, and for one of each source. It never has more than the history."""

SIDE_BY_SIDE = 4
"""Places of the history that a thread looks at together: its first look may begin before the oldest
spike. So so many places less one stay free."""

ROWS = 2
"""Rows of slots: one is read while what is due in the next step is added to the other one."""

FIRING = 15.0
"""Rate of a source that the model of cost takes, Hz. Nobody knows it beforehand. If it is lower,
delivery when due loses at most `LOOK`; if it is higher, delivery ahead loses without bound."""

ARRIVALS = ((16 << 20, 93e9), (32 << 20, 60e9), (64 << 20, 29e9), (256 << 20, 16e9))
"""Bytes of slots, and how many arrivals a second a GPU adds to so many (one H200)."""

BARRIER, LOOK = 1e-6, 12e-6
"""Seconds of a barrier, and of what delivery when due takes however little arrives: looks at the
history, and lists (one H200)."""

READ = 1e-12
"""Seconds to read a byte of the history."""

FEW = 8
"""Connections of a source up to which its thread delivers them: see `codegen.simt`."""

_CHUNK = 1 << 22


@dataclass(frozen=True)
class Bins:
    """The connections of each source, sorted by delay.

    Attributes
    ----------
    low : (sources,) int32
    bins : (sources + 1,) int64
    ends : (bins,) int32 or DrawnArray
    """

    low: NDArray[np.int32]
    bins: Integers
    ends: NDArray[np.int32]

    @property
    def longest(self) -> int:
        """Greatest delay in steps, less one."""
        return longest_of(self.low, self.bins)


def longest_of(low: NDArray[np.integer], bins: Integers) -> int:
    """Return the greatest delay in steps, less one."""
    return int((low + np.diff(bins)).max(initial=1)) - 1


def bins_of(low: Integers, high: Integers, count: Integers) -> tuple[NDArray[np.int32], Integers]:
    """Return least delays, and where bins begin, from delays in steps (1 or more) of sources.

    ``count`` is the number of connections of each source.
    """
    some = count > 0
    number = np.where(some, high - low + 1, 0)
    bins = np.concatenate([[0], np.cumsum(number)]).astype(np.int64)
    return np.where(some, low - 1, -1).astype(np.int32), bins


def sorted_bins(first: Integers, back: NDArray[np.integer]) -> Bins:
    """Return the bins of connections that are sorted by delay within each source.

    Parameters
    ----------
    first : (sources + 1,) int64
    back : (m,) int
        Delay of each connection in steps, less one.
    """
    count = np.diff(first)
    some = count > 0
    low, high = np.zeros(len(count), np.int64), np.zeros(len(count), np.int64)
    low[some], high[some] = back[first[:-1][some]], back[first[1:][some] - 1]
    least, bins = bins_of(low + 1, high + 1, count)
    ends = np.zeros(int(bins[-1]), np.int64)
    for begin in range(0, len(back), _CHUNK):
        at = np.arange(begin, min(begin + _CHUNK, len(back)))
        source = np.searchsorted(first, at, "right") - 1
        np.add.at(ends, bins[source] + back[at] - low[source], 1)
    np.cumsum(ends, out=ends)
    before = np.concatenate([[0], ends])[bins[:-1]]
    ends -= np.repeat(before, np.diff(bins))
    return Bins(least, bins, ends.astype(np.int32))


def add_bins(gather: Gather, bins: Bins, degree: Integers, most: int | None = None) -> None:
    """Add bins, and a history of the spikes of their sources, to a plan.

    Parameters
    ----------
    degree : (sources,) int64
        Connections of each source.
    most : int, optional
        Spikes of each source for which the history has room, if all sources fire alike. By default
        it has room for spikes in each step.
    """
    gather.arrays |= {"low": bins.low, "bins": bins.bins, "ends": bins.ends}
    sources = int(np.count_nonzero(degree))
    turns = max(bins.longest, 1) + 2
    kept = turns if most is None else min(turns, most)
    wanted = min(sources * kept + SIDE_BY_SIDE - 1, MOST_SENT)
    room = 1 << max(wanted - 1, 31).bit_length()
    rows = 1 << (turns - 1).bit_length()
    gather.limits |= {TURNS: turns, "rows": rows, "room": room}
    gather.limits["most"] = int(degree.max(initial=0))
    gather.blanks["due"] = ZeroArray(room, "int32")
    gather.blanks["sent"] = ZeroArray(4 * room, "int32")
    gather.blanks["heads"] = ZeroArray(rows + BEFORE, "int64")
    most_listed = max(room // ENTRIES_SHARE, FEWEST_ENTRIES, 1 << sources.bit_length())
    entries = gather.limits["entries"] = min(room, most_listed)
    gather.blanks["listed"] = ZeroArray(4 * 3 * entries, "int32")
    gather.blanks["offsets"] = ZeroArray(2 * entries, "int32")
    if gather.form == "stencil":
        gather.blanks["homes"] = ZeroArray(2 * entries, "int32")


def shift_of(width: int, most: float) -> int:
    """Return above how many bits of a target its weight has room in 4 bytes; 0 where it has none.

    ``width`` is the number of targets, ``most`` the largest weight without its sign, as a multiple.
    """
    bits = max(width - 1, 1).bit_length()
    return bits if most < 1 << (31 - bits) else 0


def pack(code: NDArray[np.int32], multiple: NDArray[np.integer], shift: int) -> None:
    """Write weights above the targets."""
    code |= multiple.astype(np.int32) << np.int32(shift)


def unpacked(gather: Gather, edge: Integers) -> tuple[Integers, Integers | None]:
    """Return targets of some connections, and weights where each has its own, (m,) each."""
    code = gather.arrays["code"][edge].astype(np.int64)
    if shift := gather.limits.get("shift", 0):
        return code & ((1 << shift) - 1), code >> shift
    multiple = gather.arrays.get("multiple")
    return code, None if multiple is None else multiple[edge].astype(np.int64)


def is_due(gather: Gather) -> bool:
    """Whether a plan delivers spikes when they are due."""
    return "ends" in gather.arrays


def all_due(gather: Gather) -> bool:
    """Whether all that is delivered into the slots of a plan is delivered when due."""
    return bool(gather.limits.get("due"))


def arrivals(
    gather: Gather, source: Integers, bin_: Integers
) -> tuple[Integers, Integers, Integers]:
    """Return what spikes bring that have some bins left.

    Parameters
    ----------
    gather : Gather
    source, bin_ : (n,) int64
        Source of each spike, and number of its next bin.

    Returns
    -------
    which : (m,) int64
        Number of the spike.
    edge : (m,) int64
        Number of the connection.
    back : (m,) int64
        Its delay in steps, less one.
    """
    names = "begin", "bins", "low", "ends"
    first, bins, low, ends = (np.asarray(gather.arrays[n], np.int64) for n in names)
    left = bins[source + 1] - bins[source] - bin_
    spike = np.repeat(np.arange(len(source)), left)
    number = np.arange(len(spike)) - np.repeat(np.cumsum(left) - left - bin_, left)
    at = bins[source][spike] + number
    stop = ends[at]
    start = np.where(number > 0, ends[np.maximum(at - 1, 0)], 0)
    size = stop - start
    which = np.repeat(spike, size)
    within = np.arange(len(which)) - np.repeat(np.cumsum(size) - size - start, size)
    back = np.repeat(low[source][spike] + number, size)
    return which, first[source][which] + within, back


@dataclass(frozen=True)
class DueChoice:
    """Whether an access is delivered when due, and why, in words."""

    due: bool
    why: str


def choose(
    layout: Layout, degree: Integers, width: int, ahead: int, wide: bool, alone: bool
) -> DueChoice:
    """Choose how the connections of an access deliver spikes.

    Parameters
    ----------
    layout : Layout
    degree : (sources,) int64
        Connections of each source.
    width : int
        Slots of a step.
    ahead : int
        Greatest delay in steps, less one.
    wide : bool
        Whether a slot has 8 bytes.
    alone : bool
        Whether no others deliver into the same slots.
    """
    if not layout.target.threads or degree.max(initial=0) <= FEW:
        return DueChoice(False, "")
    if not alone or any(one.plasticity is not None for one in layout.circuit.connections):
        return DueChoice(False, "ahead: stencils or synapses that learn reach the circuit")
    size, depth = 8 if wide else 4, ahead + layout.window + 1
    if depth * width > MOST_SLOTS:
        return DueChoice(True, f"when due: {depth:,} slots of each target are too many")
    arrivals = float(degree.sum()) * FIRING * layout.dt
    alive = int(np.count_nonzero(degree)) * FIRING * layout.dt * ahead
    early = BARRIER + arrivals / _per_second(depth * width * size)
    # while spikes are added to one row of slots, the other one is read once
    late = 2 * BARRIER + LOOK + 4 * READ * alive + arrivals / _per_second(width * size)
    said = f"{1e6 * late:.1f} us a step at {FIRING:g} Hz, ahead {1e6 * early:.1f} us"
    better = bool(late < early)
    return DueChoice(better, ("when due: " if better else "not when due: ") + said)


def check_slots(depth: int, width: int) -> None:
    """Raise CircuitError where indices of slots do not fit into 4 bytes."""
    if depth * width > MOST_SLOTS:
        raise CircuitError(
            f"{width:,} components that spikes reach up to {depth:,} steps later need "
            f"{depth * width:,} slots, {MOST_SLOTS:,} are allowed: shorten the delay or use a "
            f"larger dt"
        )


def _per_second(nbytes: int) -> float:
    """Return how many arrivals a second slots of so many bytes take."""
    sizes, rates = zip(*ARRIVALS, strict=True)
    return float(np.interp(np.log(nbytes), np.log(sizes), rates))
