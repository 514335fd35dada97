"""One photoreceptor of 30,000 microvilli on one thread, in the dark and lit.

The floor is a bare loop over as many bytes of state as the cell has. The second yardstick is one
Philox block a microvillus and step, which a simulation that draws a waiting time at each step
would need before anything else.
"""

from __future__ import annotations

import ctypes as ct
import time
from functools import cache
from typing import Any

import numpy as np

import neurodriver as nd
from neurodriver.model.library import shipped
from neurodriver.native.buffers import aligned
from neurodriver.native.compiler import build
from neurodriver.native.headers import header

from .measure import median

MICROVILLI = 30_000
DT = 1e-4
STEPS = 200
"""Steps of a timed window: 20 ms."""

BYTES = 14
"""Of a microvillus: seven counts in ten bytes, and a clock of four that is written, too."""

BARE = """
#define ND_FN static inline __attribute__((always_inline))
{math}
{philox}
extern "C" unsigned long long bare(const unsigned long long *counts, int *clock, long long n)
{{
    unsigned long long sum = 0;
    for (long long i = 0; i < 10 * n / 8; ++i) sum += counts[i];
    for (long long i = 0; i < n; ++i) clock[i] -= 1;
    return sum;
}}
extern "C" void draws(unsigned int *out, long long k, long long n)
{{
    const nd_block own = {{1, 2, 3, 4}};
    for (long long i = 0; i < n; i += 16)
        _Pragma("omp simd")
        for (int l = 0; l < 16; ++l) out[i + l] = nd_unit_draw(own, k, 0, i + l, 0).w0;
}}
"""


@cache
def _library() -> Any:
    parts = {name: header(f"native/{name}.h") for name in ("math", "philox")}
    return build([(BARE.format(**parts), ())])[0]


def floor() -> tuple[float, float]:
    """Return the processor's seconds of a pass over the state, and of a block of Philox each."""
    n = MICROVILLI // 16 * 16
    counts, clock, out = aligned(10 * n, "uint8"), aligned(n, "int32"), aligned(n, "uint32")
    library = _library()
    size = ct.c_longlong(n)
    pointers = [ct.c_void_p(a.ctypes.data) for a in (counts, clock, out)]
    spent = []
    for function, arguments in (
        (library.bare, (pointers[0], pointers[1], size)),
        (library.draws, (pointers[2], ct.c_longlong(7), size)),
    ):
        function(*arguments)
        best = []
        for _ in range(5):
            begin = time.process_time()
            for _ in range(STEPS):
                function(*arguments)
            best.append((time.process_time() - begin) / STEPS)
        spent.append(min(best))
    return spent[0], spent[1]


def ours(rate: float) -> tuple[float, float]:
    """Return the processor's seconds of a step after 80 ms of light, and the potential in mV."""
    cell = {"num_microvilli": MICROVILLI, "init_V": -81.99}
    made = nd.Circuit.from_arrays([(shipped()["PhotoreceptorModel"], 1, cell, None)])
    with nd.LPU(made, DT, [nd.StepInput("photon", made.uids, rate)], threads=1) as lpu:
        lpu.advance(800)
        best = []
        for _ in range(5):
            begin = time.process_time()  # one thread: what others do on the machine is not counted
            lpu.advance(STEPS)
            best.append((time.process_time() - begin) / STEPS)
        return min(best), float(lpu.get("V")[0])


def run(rounds: int, peers: str | None) -> list[dict[str, Any]]:
    """Return one row for each light."""
    rows = []
    bare, drawn = np.array([floor() for _ in range(rounds)]).T / MICROVILLI * 1e9
    for rate in (0.0, 3e4, 3e5, 3e6):
        measured = [ours(rate) for _ in range(rounds)]
        spent = median([seconds for seconds, _ in measured])
        each = spent / MICROVILLI * 1e9
        light = f"{rate:g} photons/s ({measured[0][1]:.0f} mV)" if rate else "dark"
        rows.append(
            {
                "case": f"photoreceptor, {MICROVILLI:,} microvilli, {light}: "
                f"{each:.1f} ns a microvillus and step",
                "us a step": spent * 1e6,
                "peer": f"Philox alone {median(drawn.tolist()):.1f} ns",
                "ratio": median(drawn.tolist()) / each,
                "target": "<= 3 ns in the dark" if not rate else "",
                "floor": f"its {BYTES} bytes alone {median(bare.tolist()):.2f} ns",
            }
        )
    return rows
