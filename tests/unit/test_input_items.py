"""The text by which warps send the spikes of an input, compiled for a CPU: all of them, once."""

from __future__ import annotations

import ctypes as ct
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from warps_on_cpu import WARPS

from neurodriver.backends.cuda import warp_items
from neurodriver.backends.cuda.input_items import input_items
from neurodriver.native.compiler import build
from neurodriver.native.headers import header

HEAD = """/* items of inputs on a CPU */
typedef float real;
#define ND_UNROLL
#define __device__
enum { ND_BATCH = 4 };
struct nd_item { int what, first, end, which; };
struct nd_input {
    const real *table;
    const int *action;
    long long count, sender, place;
    const int *begin, *column;
    const real *value;
};
struct nd_run { const nd_input *input; long long first; };
static nd_run nd_chunk;
static float *nd_sums;
static int nd_table_of(const nd_item &item) { return item.which & 0xffff; }
static void nd_send_imported(int sender, long long k, bool mine, int at, real value, bool at_once)
{
    if (nd_ballot(mine) == 0) __builtin_trap();
    if (mine) nd_sums[at] += sender == 7 && k == 42 && at_once ? value : 1e9f;
}
"""

TAIL = """
static nd_item nd_mine;
static void nd_work_of_warp() { nd_send_entering(nd_mine, 42); }
extern "C" int run(const nd_input *input, long long first, int warps, float *sums)
{
    nd_chunk = {input, first}, nd_sums = sums;
    for (int warp = 0; warp < warps; ++warp) {
        nd_mine = {-7, warp, warps, 0 | 3 << 16};
        if (!nd_run_warp(nd_work_of_warp)) return 0;
    }
    return 1;
}
"""

INPUT = [("table", ct.c_void_p), ("action", ct.c_void_p), ("count", ct.c_longlong),
         ("sender", ct.c_longlong), ("place", ct.c_longlong), ("begin", ct.c_void_p),
         ("column", ct.c_void_p), ("value", ct.c_void_p)]  # fmt: skip


class Input(ct.Structure):
    """The fields that the function reads."""

    _fields_ = INPUT


def library() -> Any:
    """Return the compiled function."""
    text = header("codegen/simt/imports.cuh")
    begin, end = text.index("/* Sends the spikes of an input"), text.index("#else")
    return build([(HEAD.replace("typedef", WARPS + "typedef", 1) + text[begin:end] + TAIL, ())])[0]


@pytest.mark.parametrize("warps", [1, 3, 40])
@pytest.mark.parametrize("form", ["rows", "values", "ones", "nothing"])
def test_every_spike_once(form: str, warps: int) -> None:
    """Lists with and without values, and rows; also a step in which nothing enters."""
    count, first, place = 700, 40, 11
    rng = np.random.default_rng(warps)
    rows = rng.integers(1, 4, (5, count)) * (rng.random((5, count)) < 0.3)
    rows = (rows > 0 if form == "ones" else rows).astype(np.float32)
    step, column = np.nonzero(rows)
    begin = np.searchsorted(step, np.arange(6)).astype(np.int32)
    columns, values = column.astype(np.int32), rows[step, column]
    action = np.array([0, 1, -1 if form == "nothing" else 2, 3, 4], np.int32)
    given = {"rows": (0, 0, 0), "nothing": (0, 0, 0), "ones": (begin, columns, 0)}
    lists = given.get(form, (begin, columns, values))
    at = [one.ctypes.data if isinstance(one, np.ndarray) else one for one in lists]
    one = Input(rows.ctypes.data, action.ctypes.data, count, 7, place, *at)
    sums = np.zeros(place + count, np.float32)
    assert library().run(
        ct.byref(one), ct.c_longlong(first), warps, sums.ctypes.data_as(ct.c_void_p)
    )
    wanted = rows[2] * (form != "nothing")
    np.testing.assert_array_equal(sums[place:], wanted)
    assert wanted.any() == (form != "nothing")


@pytest.mark.parametrize("sends", [True, False])
def test_each_spike_has_one_way(sends: bool) -> None:
    """Warps that store values in rows send them, too; an input in slots alone has other items."""
    table: Any = SimpleNamespace(count=700, events=40.0)
    items = input_items(3, table, 100, sends)
    assert set(items[:, 0].tolist()) == {warp_items.SEND if sends else warp_items.INJECT}
