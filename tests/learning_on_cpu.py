"""The text by which synapses learn on a GPU, compiled for a CPU: warps of one thread, or of 32."""

from __future__ import annotations

import ctypes as ct
from typing import Any

import numpy as np
from numpy.typing import NDArray
from warps_on_cpu import QUICK, WARPS

from neurodriver.codegen.generate import generate
from neurodriver.codegen.simt.shape import Shape
from neurodriver.codegen.source import CPU, prelude
from neurodriver.model.kinds import VariableKind
from neurodriver.native.compiler import build
from neurodriver.native.headers import header
from neurodriver.plan.arrays import Key, Kind, ReceptorOwner, VariableOwner
from neurodriver.plan.program import Program
from neurodriver.plan.spikes.learning import LearningPlan

SCAN, BEFORE, ARRIVE, AFTER, SETTLE, SWEEP, SUM, TEXT = range(8)

_ALONE = """
enum { ND_WARP = 1 };
static int nd_lane() { return 0; }
static void nd_together() {}
static int nd_lower(unsigned) { return 0; }
static unsigned nd_ballot(bool x) { return x; }
template <class T> static T nd_from(T x, int) { return x; }
static int nd_sum_up_to_here(int x) { return x; }
static unsigned nd_across(unsigned x, int) { return x; }
static long long nd_total(long long x) { return x; }
static bool nd_run_warp(void (*work)())
{
    work();
    return true;
}
"""

_HEAD = """
#include <string.h>
#define ND_MEMBER inline
#define ND_UNROLL
#define ND_ROLLED
#define ND_APART static
#define ND_WINDOW {window}
#define ND_LOOKAHEAD 0
#define ND_DIRECT {direct}
struct uint4 {{ unsigned x, y, z, w; }};
struct int4 {{ int x, y, z, w; }};
struct int2 {{ int x, y; }};
static int nd_this_warp, nd_all_warps;
#define ND_FIRST_WARP 0
#define ND_WARPS nd_all_warps
static int nd_own_warp() {{ return nd_this_warp; }}
static int nd_bits_in(unsigned x) {{ return __builtin_popcount(x); }}
#define ND_WAITING_BYTES {waiting}
enum {{ ND_LOOKED_AT = ND_WAITING_BYTES, ND_THREADS = {threads} }};
static void *nd_waiting_room()
{{
    alignas(16) static unsigned char room[64][ND_WAITING_BYTES + {looked}];
    return room[nd_this_warp];
}}
static int4 make_int4(int x, int y, int z, int w) {{ return {{x, y, z, w}}; }}
static int2 make_int2(int x, int y) {{ return {{x, y}}; }}
static uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {{ return {{x, y, z, w}}; }}
static uint4 __ldcg(const uint4 *p) {{ return *p; }}
template <class T> static T __ldg(const T *p) {{ return *p; }}
static void __stcg(uint4 *p, uint4 x) {{ *p = x; }}
static int __ffs(int x) {{ return __builtin_ffs(x); }}
static unsigned long long atomicAdd(unsigned long long *p, unsigned long long x)
{{
    const unsigned long long before = *p;
    *p += x;
    return before;
}}
static unsigned long long nd_slots_stay() {{ return 0; }}
template <class T>
static void nd_add(unsigned i, unsigned end, T *to, int more, int times, unsigned long long)
{{
    if (i < end) *to += (T)more * times;
}}
"""

_TAIL = """
static int nd_phase, nd_lo, nd_hi;
static long long nd_last;
struct nd_part_here {
    template <int phase> void run() const { nd_learn_of<learning, phase>(nd_lo, nd_hi, nd_last); }
};
static void nd_learn_here() { nd_do_part(nd_phase, nd_part_here{}); }
extern "C" int run(int phase, int lo, int hi, long long last, int warps, const int *order)
{
    nd_phase = phase, nd_lo = lo, nd_hi = hi, nd_last = last, nd_all_warps = warps;
    for (int i = 0; i < warps; ++i) {
        nd_this_warp = order[i];
        if (!nd_run_warp(nd_learn_here)) return 0;
    }
    return 1;
}
extern "C" void bind(void *const *p, const long long *n, const double *u)
{
    for (int i = 0; i < POINTERS; ++i) nd_table.p[i] = p[i];
    for (int i = 0; i < INTEGERS; ++i) nd_table.n[i] = n[i];
    for (int i = 0; i < SCALARS; ++i) nd_table.u[i] = u[i];
}
"""


class LearningOnCPU:
    """The memory of a program for a GPU, and the phases of its one set of connections that learn.

    Parameters
    ----------
    lanes : int
        Threads of a warp: 1, or 32 that wait for one another.
    warps : int
        They work one after the other, in an order of chance.
    direct : bool
        Whether turns have no scan where that is possible.
    """

    def __init__(
        self, program: Program, lanes: int = 1, warps: int = 5, direct: bool = True
    ) -> None:
        self.program, self.lanes, self.warps = program, lanes, warps
        (self.kernel,) = generate(program).learning
        self.direct = direct and 0 < self.kernel.pieces <= lanes * warps
        self.direct = self.direct and program.window <= 1
        ((self.number, self.access),) = (
            key for key, gather in program.gathers.items() if gather.form == "learning"
        )
        gather = program.gathers[self.number, self.access]
        assert isinstance(gather, LearningPlan)
        self.plan, self.rng = gather, np.random.default_rng(3)
        self.arrays: dict[Key, NDArray[Any]] = {}
        self.library = build([(self._text(), QUICK)])[0]
        kernel = self.kernel
        pointers = [self.array(key).ctypes.data for key in kernel.pointers]
        integers = [int(program.arrays[key].initial()) for key in kernel.integers]
        numbers = [float(program.arrays[key].initial()) for key in kernel.scalars]
        self.library.bind(
            (ct.c_void_p * len(pointers))(*pointers),
            (ct.c_longlong * len(integers))(*integers),
            (ct.c_double * len(numbers))(*numbers),
        )

    def _text(self) -> str:
        kernel, dtype = self.kernel, self.program.dtype.name
        sizes = [max(len(t), 1) for t in (kernel.pointers, kernel.integers, kernel.scalars)]
        names = zip(("POINTERS", "INTEGERS", "SCALARS"), sizes, strict=True)
        table = "struct nd_args { void *p[POINTERS]; long long n[INTEGERS]; double u[SCALARS]; };"
        lines = [
            "/* learning on a CPU */",
            *prelude([kernel.text], dtype, CPU),
            WARPS if self.lanes > 1 else _ALONE,
            _HEAD.format(
                window=self.program.window,
                waiting=kernel.waiting,
                direct=int(self.direct),
                looked=kernel.looked,
                threads=self.lanes * self.warps,
            ),
            *[f"#define {name} {size}" for name, size in names],
            header("codegen/simt/learning.cuh"),
            table, "static nd_args nd_table;", "#define nd_steady (&nd_table)", kernel.text, _TAIL,
        ]  # fmt: skip
        return "\n".join(lines)

    def array(self, key: Key) -> NDArray[Any]:
        """Return the array of a key."""
        if key not in self.arrays:
            if isinstance(key.owner, VariableOwner):
                ring = self.program.layout.rings[key.owner.name]
                active = np.full(ring.depth, -1, np.int64)
                rows = np.zeros((ring.depth, ring.width), self.program.dtype)
                self.arrays[key] = active if key.kind is Kind.ACTIVITY else rows
            else:
                row = self.program.arrays[key]
                pieces = 128 if key.name == "pieces" else 1  # a connection each, at most
                size = row.size * pieces
                made = np.zeros(size + 64, row.dtype)  # at an address that vectors ask for
                start = -made.ctypes.data % 64 // row.dtype.itemsize
                self.arrays[key] = made[start : start + size]
                if row.value is not None:
                    self.arrays[key][:] = row.initial().reshape(-1)
        return self.arrays[key]

    def of_plan(self, name: str) -> NDArray[Any]:
        """Return an array of the connections that learn."""
        owner = ReceptorOwner(self.number, self.access)
        return self.array(self.plan.key(owner, name))

    @property
    def slots(self) -> NDArray[Any]:
        """The slots of the targets, (turns, targets)."""
        (key,) = (key for key in self.kernel.pointers if key.name == "slots")
        main = self.program.gathers[self.number, self.access.split("__")[0]]
        return self.array(key).reshape(main.limits["depth"], main.limits["ahead"])

    def write_row(self, variable: str, k: int, values: NDArray[Any]) -> None:
        """Write a row of events as kernels do: what is silent is not cleared."""
        for key in self.kernel.pointers:
            if key.owner != VariableOwner(variable):
                continue
            array, kind = self.array(key), self.program.layout.rings[variable].kind
            if key.kind is Kind.ACTIVITY and values.any():
                array[k % len(array)] = k
            elif kind is not VariableKind.EVENT or values.any():
                array[k % len(array)] = values

    def run(self, phase: int, lo: int, hi: int, last: int = 1 << 40) -> None:
        """Let all warps do a phase."""
        order = np.ascontiguousarray(self.rng.permutation(self.warps), np.int32)
        given = (phase, lo, hi, ct.c_longlong(last), self.warps, ct.c_void_p(order.ctypes.data))
        assert self.library.run(*given), "the threads of a warp went different ways"

    def first(self, k: int, last: int) -> None:
        """Begin a launch with step k."""
        for phase in (SCAN, BEFORE):
            self.run(phase, k, k, last)
        self.from_sums(k)
        for phase in (ARRIVE, AFTER):
            self.run(phase, k, k, last)

    def from_sums(self, k: int) -> None:
        """Run the texts that read sums, if they are due in step k."""
        shape = Shape(sums=(self.kernel.sums,))
        for i in range(shape.texts if shape.sums_due(k) else 0):
            self.run(SUM, i, k)
            self.run(TEXT, i, k)

    def turn(self, lo: int, hi: int, last: int) -> None:
        """Do a turn within a launch."""
        self.run(SCAN, lo, hi, last)
        self.from_sums(hi)
        for phase in (ARRIVE, AFTER):
            self.run(phase, lo, hi, last)

    def begin_with(self, variable: str, values: NDArray[Any]) -> None:
        """Fill all rows of a variable with row 0: steps before the first one have its values."""
        for key in self.kernel.pointers:
            if key.owner == VariableOwner(variable) and key.kind is not Kind.ACTIVITY:
                self.array(key)[:] = values

    def play(
        self, rows: dict[str, NDArray[Any]], calls: list[int], unit: float, targets: int
    ) -> NDArray[Any]:
        """Return what targets read from their slots, (steps, targets), in turns of one step.

        Parameters
        ----------
        rows : dict of str to (steps + 1, width)
            What neurons write: row k is there before step k.
        calls : list of int
            Steps of each call.
        unit : float
            Of the slots.
        """
        for variable, table in rows.items():
            self.begin_with(variable, table[0])
        read, first = np.zeros((sum(calls), targets), self.program.dtype), 0
        for last in np.cumsum(calls).tolist():
            for k in range(first, last):
                if k == first:
                    self.first(k, last)
                slots = self.slots[k % len(self.slots)]
                read[k] = slots[:targets].astype(read.dtype) * read.dtype.type(unit)
                slots[:] = 0
                for variable, table in rows.items():
                    self.write_row(variable, k + 1, table[k + 1])
                if k + 1 < last:
                    self.turn(k + 1, k + 1, last)
            first = last
        return read

    def catch_up(self, k: int) -> None:
        """Bring all synapses up to date before step k."""
        self.run(SETTLE, k, k)
        self.run(SWEEP, k, k)
