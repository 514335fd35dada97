"""The text of a GPU's threads, compiled as C++ and run on the host, warp by warp.

So its bits can be compared with those of the CPU's kernels where there is no GPU. Barriers and
memory are not those of a GPU.
"""

from __future__ import annotations

import ctypes as ct
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from warps_on_cpu import QUICK, WARPS

from neurodriver import Circuit
from neurodriver.backends.cuda.items import WARP, Items, unit_items
from neurodriver.backends.cuda.patches import patch_items, with_patches
from neurodriver.backends.cuda.schedule import LaunchPlan
from neurodriver.backends.memory import MemoryManager
from neurodriver.codegen.generate import Task, generate
from neurodriver.codegen.kernel import Kernel
from neurodriver.codegen.simt.device import DEVICE
from neurodriver.codegen.simt.shape import Shape
from neurodriver.codegen.source import prelude
from neurodriver.native.buffers import GUARD
from neurodriver.native.compiler import build
from neurodriver.native.headers import INLINE, header
from neurodriver.plan.arrays import Key, Kind, PopulationOwner, VariableOwner
from neurodriver.plan.compile import compile_circuit
from neurodriver.plan.diagnostics import OFF, Diagnostics
from neurodriver.plan.target import CUDA

WORDS = (
    WARPS
    + """
#define ND_MEMBER inline
#define ND_UNROLL
#define ND_ROLLED
#define ND_HOLDS 0
#define ND_WINDOW 0
#define ND_LOOKAHEAD 0
#define ND_TURNS 0
#define ND_THREADS 1
#define ND_PATCHES_AT 0
#define ND_LATE_NUMBER(name, from) const real name = (real)(from)
#define ND_LATE_ARRAY(name, from) real *const name = (real *)(from)
#if ND_HOLDS
#define ND_RESTS(name, place) nd_v_##name[nd_i]
#else
#define ND_RESTS(name, place) nd_s_##name[place]
#endif
struct int4 { int x, y, z, w; };
alignas(16) static unsigned char nd_scratch[1 << 18];
static const struct { int x; } threadIdx = {0};
static void __syncthreads() {}
static void nd_asked() {}
template <int N> static void nd_await() {}
template <class T> static void nd_ask(T *to, const T *from) { *to = *from; }
template <class T> static void nd_four(const T *from, T *to)
{
    for (int i = 0; i < 4; ++i) to[i] = from[i];
}
template <class T> T __ldg(const T *p) { return *p; }
template <class T> T __ldcg(const T *p) { return *p; }
template <class T> struct nd_fixed {
    const T *at;
    nd_fixed(const T *p) : at(p) {}
    T operator[](long long i) const { return at[i]; }
    nd_fixed operator+(long long i) const { return at + i; }
};
static int nd_share(int end, int n) { return (int)((long long)n * (nd_lane() + end) >> 5); }
template <class T> static T nd_down(T x, int by)
{
    const int me = nd_lane(), other = me + by < ND_WARP ? me + by : me;
    return nd_as<T>(nd_give(x)[other]);
}
struct nd_by {};
template <class T> struct nd_numerator { T value; };
inline nd_numerator<double> operator/(double a, nd_by) { return {a}; }
inline nd_numerator<float> operator/(float a, nd_by) { return {a}; }
template <class T> T operator/(nd_numerator<T> a, T b) { return a.value / b; }
"""
)
HOST = replace(
    DEVICE, function=INLINE, kernel="static", words=WORDS, opaque="(void)0",
    each="for (long long i = 0; i < (n); ++i)",
)  # fmt: skip
_PATCHES = """
static long long nd_step_of_all;
static int nd_first_of_warp, nd_end_of_warp, nd_place_of_warp;
static void nd_begin_launch() {{ {} }}
static void nd_begin_patch(long long k, int patch) {{ {} }}
/* Lets the cells of a thread go through shared memory. */
static void nd_pass_cells(unit &one, bool all) {{ {} }}
"""
_PASS = """
    if (!nd_place_of_warp) return;
    one.keep(nd_place_of_warp, all);
    memset((void *)&one, 0x5a, sizeof one);
    one.take(nd_step_of_all, nd_place_of_warp, nd_end_of_warp);
"""
_RUN = """
static void nd_thread()
{
    unit one;
    one.load(nd_step_of_all, nd_first_of_warp, nd_end_of_warp);
    nd_pass_cells(one, true);
    one.turn(nd_step_of_all);
    one.step(nd_step_of_all, true);
    nd_pass_cells(one, false);
    one.save(nd_step_of_all);
}
extern "C" int nd_run(const nd_args *a, long long k, const int *items, int count)
{
    nd_steady = a, nd_step_of_all = k;
    nd_begin_launch();
    for (int i = 0; i < count; ++i) {
        if (items[4 * i + 3] < 0) {
            nd_begin_patch(k, items[4 * i + 1]);
            continue;
        }
        nd_first_of_warp = items[4 * i + 1], nd_end_of_warp = items[4 * i + 2];
        nd_place_of_warp = items[4 * i + 3];
        if (!nd_run_warp(nd_thread)) return 0;
    }
    return 1;
}
extern "C" void nd_once(const nd_args *a, int what)
{
    nd_steady = a;
    if (what) nd_initial(a); else nd_constants(a);
}
"""


def arguments_text(kernel: Kernel, own: int) -> list[str]:
    """Return the lines that declare a kernel's arguments, and how many cells a thread has."""
    sizes = [max(len(t), 1) for t in (kernel.pointers, kernel.integers, kernel.scalars)]
    table = "struct nd_args {{ void *p[{}]; long long n[{}]; double u[{}]; }};".format(*sizes)
    return [f"enum {{ ND_OWN = {own} }};", table, "static const nd_args *nd_steady;"]


def own_of(task: Task, own: int) -> int:
    """Return how many cells a thread has."""
    return task.patches.limits["own"] if task.patches else own if task.side else 1


def items_of(task: Task, own: int) -> Items:
    """Return the items of a unit, in the order of a single warp."""
    if not task.patches:
        return unit_items(task, 0, own)[0]
    plan = LaunchPlan("grid", 1, with_patches(Shape(WARP), [task], 1), (own,))
    return patch_items(plan, [task])[0].items


class HostThreads:
    """Advances a circuit by the text of a GPU's threads.

    Parameters
    ----------
    circuit : Circuit
        Its models draw no random numbers and read no events.
    own : int
        Cells that a thread has side by side, where it can have several.
    watch : Diagnostics
        What the text watches.
    """

    def __init__(
        self, circuit: Circuit, dt: float, dtype: str, own: int = 1, watch: Diagnostics = OFF
    ) -> None:
        self.program = compile_circuit(circuit, dt, dtype, target=CUDA, watch=watch)
        self.tasks = tasks = sorted(generate(self.program).tasks, key=lambda task: task.stage)
        memory, real = MemoryManager(self.program, 1 << 32), np.dtype(dtype)
        self.step = 0
        self._rings: dict[str, NDArray[Any]] = {}
        for name, ring in self.program.layout.rings.items():
            self._rings[name] = np.zeros(ring.depth * ring.width + 2 * GUARD, real)
            self._rows(name)[:] = memory.get_buffer(name)[0]
        rows = [r for r in self.program.arrays.values() if r.shape]
        self._arrays = {
            r.key: np.ascontiguousarray(r.initial()) if r.value is not None
            else np.zeros(r.size, r.dtype)
            for r in rows if not isinstance(r.key.owner, VariableOwner)
        }  # fmt: skip
        owns = [own_of(task, own) for task in tasks]
        texts = [self.text(task, dtype, n) for task, n in zip(tasks, owns, strict=True)]
        libraries = build([(text, QUICK) for text in texts])
        self._kernels = [
            (library, self._table(task.kernel), items_of(task, n))
            for library, task, n in zip(libraries, tasks, owns, strict=True)
        ]
        for what in (0, 1):
            for library, table, _ in self._kernels:
                library.nd_once(table.ctypes.data_as(ct.c_void_p), what)
        for name in self._rings:
            self._rows(name)[1:] = self._rows(name)[0]

    def _rows(self, name: str) -> NDArray[Any]:
        ring = self.program.layout.rings[name]
        return self._rings[name][GUARD:-GUARD].reshape(ring.depth, ring.width)

    def _address(self, key: Key) -> int:
        if isinstance(key.owner, VariableOwner):
            return self._rows(key.owner.name).ctypes.data
        return self._arrays[key].ctypes.data

    def _table(self, kernel: Kernel) -> NDArray[np.uint64]:
        values = self.program.arrays
        whole = [int(values[key].value) & 0xFFFF_FFFF_FFFF_FFFF for key in kernel.integers]
        numbers = np.array([float(values[key].value) for key in kernel.scalars] or [0.0])
        given = [*([self._address(key) for key in kernel.pointers] or [0]), *(whole or [0])]
        return np.concatenate([np.array(given, np.uint64), numbers.view(np.uint64)])

    def advance(self, steps: int) -> None:
        """Advance by so many steps."""
        for _ in range(steps):
            for library, table, items in self._kernels:
                place, step = table.ctypes.data_as(ct.c_void_p), ct.c_longlong(self.step)
                mine = items.ctypes.data_as(ct.c_void_p), len(items)
                assert library.nd_run(place, step, *mine), "threads of a warp disagree"
            self.step += 1

    def array(self, key: Key) -> NDArray[Any]:
        """Return the memory of an array of the program that is no variable."""
        return self._arrays[key]

    def get(self, group: int, variable: str) -> NDArray[Any]:
        """Return the values of a group."""
        rows, count = self._rows(variable), self.program.circuit.groups[group].count
        first = self.program.layout.rings[variable].segments[str(group)].start
        return rows[self.step % len(rows), first : first + count]

    def state(self, group: int, name: str) -> NDArray[Any]:
        """Return a state of a group that is no variable: (components,), or (components * size,)."""
        count = self.program.circuit.groups[group].count
        names = [n for n in self._states(group) if n == name or n.startswith(f"{name}__")]
        return np.ravel([self._arrays[self._states(group)[n]][:count] for n in names], "F")

    def _states(self, group: int) -> dict[str, Key]:
        owner = PopulationOwner(group)
        keys = (key for key in self._arrays if key.owner == owner and key.kind is Kind.STATE)
        return {key.name: key for key in keys}

    def text(self, task: Task, dtype: str, own: int) -> str:
        """Return the text of a library for one unit."""
        kernel = task.kernel
        parts = arguments_text(kernel, own)
        parts.append("#define ND_METHOD inline")
        if "nd_values<" in kernel.text:
            parts.append(header("codegen/event.h"))
        if "nd_find_row(" in kernel.text:
            parts.append(header("codegen/simt/by_place.cuh"))
        calls = ["", "", ""]
        if kernel.patches:
            shape = with_patches(Shape(WARP), [task], 1)
            parts.append(f"#define ND_SOURCES_AT {shape.sources_at}")
            parts.append("static int nd_own_block() { return 0; }")
            parts.append(header("codegen/simt/patches.cuh"))
            calls = ["unit::open();", "unit::stage(k, patch);", _PASS]
        texts = kernel.text, _PATCHES.format(*calls), _RUN
        return "\n".join([*prelude([kernel.text], dtype, HOST), *parts, *texts])
