"""Slots of arriving spikes: the text of a GPU's threads on the host.

In windows beside NumPy, and with lookahead: the spikes that are sent are those that come.
"""

from __future__ import annotations

import ctypes as ct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from host_threads import HOST, WORDS, HostThreads, arguments_text
from numpy.typing import NDArray

import neurodriver as nd
from neurodriver.codegen.generate import Task
from neurodriver.codegen.source import prelude
from neurodriver.model.library import shipped
from neurodriver.native.headers import header

COUNT, OWN, DELAY, DT = 300, 4, 18, 1e-4
TABLES = header("codegen/simt/tables.cuh")


def passage(begin: str, end: str) -> str:
    """Return a part of the tables' text."""
    first = TABLES.index(begin)
    return TABLES[first : TABLES.index(end, first)]


MORE_WORDS = """
#define ND_KEEPS 0
#define ND_CACHED 0
#define ND_CACHES_DIRTY 1
#define ND_MARKS 1
#define __syncwarp() nd_together()
template <class T> static void __stcg(T *p, T x) { *p = x; }
static unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
static int __ffs(int x) { return __builtin_ffs(x); }
static const void *nd_lowest, *nd_highest;
static void nd_ask_cache(const void *p)
{
    if (!nd_lowest || p < nd_lowest) nd_lowest = p;
    if (p > nd_highest) nd_highest = p;
}
static int nd_said, nd_told[3][1 << 16];    /* what, row, component */
static void nd_tell(int what, long long row, int component)
{
    nd_told[0][nd_said] = what, nd_told[1][nd_said] = (int)row, nd_told[2][nd_said++] = component;
}
template <class T> static void nd_record_event(const T *, long long row, bool mine, int element)
{
    if (mine) nd_tell(0, row, element);
}
struct nd_outgoing_of_spike_state { void ask(int) {} };
"""
TURNS = WORDS.replace("ND_TURNS 0", "ND_TURNS 1")
SLOT_WORDS = TURNS.replace("ND_WINDOW 0", f"ND_WINDOW {DELAY}") + MORE_WORDS
AHEAD_WORDS = TURNS.replace("ND_LOOKAHEAD 0", "ND_LOOKAHEAD 1") + MORE_WORDS
AHEAD_WORDS = AHEAD_WORDS.replace("ND_HOLDS 0", "ND_HOLDS 1")
AFTER = """
template <int N> static void nd_send_spike_state(
    long long row, const nd_sent<N, nd_outgoing_of_spike_state> &sent)
{
    for (int j = 0; j < N; ++j)
        if (sent.bits[j] >> nd_lane() & 1) nd_tell(1, row, sent.at[j]);
}
"""
RUN = """
static long long nd_from_step, nd_to_step;
static int nd_first_of_warp, nd_end_of_warp;
static void nd_thread()
{
    alignas(unit) unsigned char room[sizeof(unit)];
    memset(room, 0xa5, sizeof room);    /* what a thread did not write is no 0 */
    unit &one = *(unit *)room;
    const long long begin = nd_from_step;
    one.load(begin, nd_first_of_warp, nd_end_of_warp);
    one.turn(begin);
    if (ND_LOOKAHEAD) one.look_ahead(begin);
    for (long long k = begin; k < nd_to_step; ++k) {
        one.step(k, k + 1 == nd_to_step);
        if (ND_LOOKAHEAD && k + 1 < nd_to_step) one.look_ahead(k + 1);
    }
    one.record(begin);
    one.save(nd_to_step);
}
extern "C" int nd_run(const nd_args *a, long long begin, long long end, int count, int size)
{
    nd_steady = a, nd_from_step = begin, nd_to_step = end, nd_said = 0, nd_lowest = nd_highest = 0;
    for (int first = 0; first < count; first += size) {
        nd_first_of_warp = first;
        nd_end_of_warp = first + size < count ? first + size : count;
        if (!nd_run_warp(nd_thread)) return -1;
    }
    return nd_said;
}
extern "C" const int *nd_list(int which) { return nd_told[which]; }
extern "C" const void *nd_edge(int high) { return high ? nd_highest : nd_lowest; }
extern "C" void nd_once(const nd_args *a, int what)
{
    nd_steady = a;
    if (what) nd_initial(a); else nd_constants(a);
}
"""


class HostSlots(HostThreads):
    """Advances spiking neurons by windows; what arrives is put into the slots by the test."""

    words, dirty = SLOT_WORDS, "nd_dirty_turn"

    def text(self, task: Task, dtype: str, own: int) -> str:
        """Return the text of the neurons, which have four components a thread."""
        kernel = task.kernel
        asked = passage("/* Asks the L2", "#if ND_HOLDS\n#define").replace(
            'asm volatile("prefetch.global.L2 [%0];" :: "l"(where));', "nd_ask_cache(where);"
        )
        words = replace(HOST, words=self.words)
        return "\n".join([
            *prelude([kernel.text], dtype, words),
            passage("/* Spikes of the threads", "/* Which rows of a ring"),
            passage("/* Which rows of a ring", "/* Which rows that a turn"),
            passage("/* Which rows that a turn", "/* Asks the L2"), asked,
            f"#define ND_DIRTY_ROWS {self.dirty}", AFTER,
            *arguments_text(kernel, OWN), "enum { ND_PAIR = 2 };", kernel.text, RUN,
        ])  # fmt: skip

    def window(self, steps: int) -> NDArray[np.int32]:
        """Advance by some steps; return what was recorded (0) and sent (1): (3, n)."""
        ((library, table, *_),) = self._kernels
        given = [ct.c_longlong(self.step), ct.c_longlong(self.step + steps), COUNT, 32 * OWN]
        said = library.nd_run(table.ctypes.data_as(ct.c_void_p), *given)
        assert said >= 0, "threads of a warp disagree"
        library.nd_list.restype = ct.POINTER(ct.c_int32)
        library.nd_edge.restype = ct.c_void_p
        self.edges = library.nd_edge(0), library.nd_edge(1)
        self.step += steps
        lists = [np.ctypeslib.as_array(library.nd_list(i), (max(said, 1),)) for i in range(3)]
        return np.array([one[:said] for one in lists])

    def array(self, name: str, access: str = "") -> NDArray[Any]:
        """Return an array of the neurons, or of one of their accesses, as the kernels have it."""
        return next(a for key, a in self._arrays.items()
                    if key.name == name and getattr(key.owner, "access", "") == access)  # fmt: skip

    def number(self, name: str, access: str = "") -> Any:
        """Return a number that all components have, or their own ones."""
        for task, (_, table, *_) in zip(self.tasks, self._kernels, strict=True):
            scalars = task.kernel.scalars
            for key, value in zip(scalars, table[-len(scalars) :].view(np.float64), strict=True):
                if key.name == name and getattr(key.owner, "access", "") == access:
                    return value
        return self.array(name, access)[:COUNT]


def network() -> nd.Circuit:
    """Return neurons of which half are reached by one receptor, and some never rest."""
    rng = np.random.default_rng(3)
    cells = nd.Population(
        "LeakyIAFShiu", COUNT, name="cells", refractory_period=rng.choice([0.0, 0.5, 2.2], COUNT)
    )
    rule = nd.FixedInDegree(5)
    weights = nd.Uniform(0.5, 1.5)
    delay = DELAY * DT
    drawn = nd.Circuit(
        [cells],
        [nd.Projection(cells, cells, rule, receptor="syn", weight=weights, delay=delay),
         nd.Projection(cells, cells[:40], rule, receptor="kick", weight=2.0, delay=delay)],
        seed=5,
    )  # fmt: skip
    return nd.Circuit([cells], [one.expanded() for one in drawn.connections])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_slots_of_windows(dtype: str) -> None:
    """States, events and cleared slots; nothing beyond the slots is asked for."""
    threads = HostSlots(network(), DT, dtype)
    real = np.dtype(dtype).type
    assert not threads.array("reached", "kick").all()
    rng = np.random.default_rng(7)
    slots = {a: threads.array("slots", a) for a in ("syn", "kick")}
    depth, width = 36, len(slots["syn"]) // 36
    rows = {a: one.reshape(depth, width) for a, one in slots.items()}
    number = {n: real(threads.number(n)) for n in ("leak", "through", "decay")}
    unit = {a: np.asarray(threads.number("unit", a), real) for a in slots}
    refractory_steps = threads.number("refractory_steps")
    rest, threshold = real(-52.0), real(-45.0)
    V, s, left = np.full(COUNT, rest), np.zeros(COUNT, real), np.zeros(COUNT, real)
    spikes = 0
    for steps in (DELAY, 7, DELAY - 7, DELAY, DELAY):  # a call may end within a window
        begin = threads.step
        given = {}
        for a, density, most in (("syn", 0.05, 4_000), ("kick", 0.05, 8)):
            values = rng.integers(-most // 4, most, (steps, COUNT)) * (
                rng.random((steps, COUNT)) < density
            )
            values[steps // 2] = 0  # a step in which nothing arrives
            if a == "kick":
                values[:, 40:] = 0
            given[a] = values
            for k in range(steps):
                rows[a][(begin + k) % depth, :COUNT] = values[k]
        told = threads.window(steps)
        want = []
        for k in range(steps):
            x = {a: given[a][k].astype(real) * unit[a] for a in given}
            clamped = left > 0
            free = V + number["leak"] * (rest - V) + number["through"] * s
            fires = ~clamped & (free >= threshold)
            V = np.where(clamped | fires, rest, free + x["kick"])
            s = np.where(clamped | fires, real(0), s * number["decay"] + x["syn"])
            down = np.where(clamped, left - real(1), real(0))
            left = np.where(fires, refractory_steps, down).astype(real)
            want += [(begin + k + 1, i) for i in np.flatnonzero(fires)]
        for what in (0, 1):
            assert sorted(map(tuple, told[1:, told[0] == what].T.tolist())) == sorted(want)
        assert threads.get(0, "V").tobytes() == V.tobytes()
        for name, state in (("s", s), ("left", left)):
            assert threads.array(name)[:COUNT].tobytes() == state.astype(real).tobytes()
        assert not any(one.any() for one in slots.values())
        low, high = threads.edges
        places = [(one.ctypes.data, one.ctypes.data + one.nbytes) for one in slots.values()]
        assert low and any(a <= low < b for a, b in places)
        assert any(a <= high < b for a, b in places)
        spikes += len(want)
    assert spikes > 40


class HostAhead(HostSlots):
    """The same step by step, where threads keep their components and look ahead."""

    words, dirty = AHEAD_WORDS, "nd_dirty_rows"


MEMBRANE = {
    "resting_potential": -65.0, "threshold": -50.0, "reset_potential": -65.0, "capacitance": 250.0,
}  # fmt: skip
CURRENT = MEMBRANE | {"time_constant": 10.0, "tau_exc": 0.5, "tau_inh": 0.7}
CONDUCTANCE = MEMBRANE | {
    "leak_conductance": 10.0, "E_exc": 0.0, "E_inh": -80.0, "tau_exc": 5.0, "tau_inh": 10.0,
}  # fmt: skip
AHEAD: dict[str, tuple[dict[str, Any], float]] = {
    "LeakyIAFExpCurrent": (CURRENT | {"refractory_period": 2.0}, 300.0),
    "LeakyIAFAlphaCurrent": (CURRENT | {"refractory_period": 0.0}, 500.0),
    "LeakyIAFExpConductance": (CONDUCTANCE | {"refractory_period": 1.0}, 4.0),
    "LeakyIAFExpConductanceEuler": (CONDUCTANCE | {"keep_input": 0.0}, 4.0),
    "LeakyIAFShiu": ({}, 6.0),
    "AdaptiveExpIAF": ({"refractory_period": 0.5}, 600.0),
}
"""Models whose spikes do not depend on the arrivals of their step: parameters, and a weight."""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", AHEAD)
def test_spikes_that_are_sent_ahead_are_those_that_come(name: str, dtype: str) -> None:
    """Each one once, in the row in which it is recorded; whatever arrives in its step."""
    given, weight = AHEAD[name]
    rng = np.random.default_rng(9)
    cells = nd.Population(name, COUNT, name="cells", **given)
    accesses = [a.name for a in shipped()[name].accesses if a.connection]
    links = []
    ends = np.arange(COUNT, dtype=np.int32)
    for access in accesses:
        late = (1 + ends % 4) * DT
        links.append(nd.Connections("spike_state", access, ends, ends[::-1], late,
                                    {"weight": np.full(COUNT, weight)}))  # fmt: skip
    threads = HostAhead(nd.Circuit([cells], links), DT, dtype)
    (task,) = threads.tasks
    assert task.kernel.lookahead
    slots = [threads.array("slots", access) for access in accesses]
    depth = threads.program.gathers[0, accesses[0]].limits["depth"]
    ahead, come = [], []
    for _ in range(60):
        for one in slots:
            rows = one.reshape(depth, -1)[:, :COUNT]
            rows[:] = rng.integers(0, 5, rows.shape) * (rng.random(rows.shape) < 0.3)
        told = threads.window(depth)
        come += told[1:, told[0] == 0].T.tolist()
        ahead += told[1:, told[0] == 1].T.tolist()
    assert sorted(ahead) == sorted(come)
    assert len({tuple(one) for one in come}) == len(come) > 100
