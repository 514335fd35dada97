# ruff: noqa: E501
"""Odd and bad models of users, compiled and run: declared, as CUDA text, and in Python."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import model_cases
import numpy as np
from isolated import CLEAR, LEGAL, WARNED, Case, Unnoticed

import neurodriver as nd

ANY = (CLEAR, WARNED, LEGAL)

SOME = 12
"""About so many cases are run with the other tests: each of them calls the compiler."""

ENDLESS = ("while (1)", "for (;;)")
"""Texts that Ctrl-C ends."""


def cases() -> Iterator[Case]:
    """Yield the cases of this class."""
    for number, text in enumerate(model_cases.TEXTS):
        if not any(one in text for one in ENDLESS):
            program = model_cases.edited("update", repr(text))
            yield Case(f"declared {number}: {text[:20]!r}", _run(program), ANY)
    for seed in range(0, 150, 3):
        yield Case(f"declared, damaged {seed}", _run(model_cases.damaged(seed)), ANY)
    yield Case("CUDA text", _run(TEMPLATE), (LEGAL,))
    for old, new in CUDA_EDITS.items():
        for one in new:
            text = TEMPLATE.replace(old, one)
            assert text != TEMPLATE, old
            noticed, fatal = one not in WITHOUT_EFFECT, FATAL.get(one)
            end = ((CLEAR,), (fatal,)) if fatal else (ANY,)
            yield Case(f"CUDA text: {old!r} is {one!r}", _run(text, noticed), *end)
    yield Case("in Python", _run(PYTHON), (LEGAL,))
    for old, new in PYTHON_EDITS.items():
        for one in new:
            text = PYTHON.replace(old, one)
            assert text != PYTHON, old
            words = ("Mine",) if "def run_step" in one or "def pre_run" in one else ("own.py",)
            noticed = one not in WITHOUT_EFFECT
            yield Case(f"in Python: {old!r} is {one!r}", _run(text, noticed), ANY, words)


FATAL = {
    "u = 1 / 0;": "its text",
    "u = 7 / (int)(g_threshold[i] / 1000);": "its text divides an integer by zero in step",
    "u = g_u[1 << 30];": "its text uses memory that is not its own in step",
    "throw 1;": "line 12: 'throw' is not possible",
    "delete g_u;": "line 12: 'delete' is not possible",
    "u = new double;": "line 12: 'new' is not possible",
    "exit(3);": "line 12: 'exit' is not possible",
}
"""Text that would end the process -> what is said of it."""

WITHOUT_EFFECT = ("float num_comps, ", "self.num_comps")
"""Edits that change no value: 3 as a floating-point number, and a type that is the default."""

HEAD = '''
import numpy as np

import neurodriver as nd
from neurodriver.compat.components import BaseAxonHillockModel


class Mine(BaseAxonHillockModel):
    """A leaky integrator with a threshold."""

    accesses = ["I"]
    updates = ["spike_state", "V"]
    params = ["tau", "threshold"]
    internals = {"u": -60.0}
'''

TEMPLATE = (
    HEAD
    + '''
    def get_update_template(self):
        return """
__global__ void update(int num_comps, %(dt)s dt, int steps, %(input_I)s *g_I,
    %(param_tau)s *g_tau, %(param_threshold)s *g_threshold, %(internal_u)s *g_u,
    %(update_spike_state)s *g_spike_state, %(update_V)s *g_V)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= num_comps) return;
    %(dt)s u = g_u[i];
    g_spike_state[i] = 0;
    u += dt * 1000 / g_tau[i] * (g_I[i] - u - 60);
    if (u > g_threshold[i]) {
        u = -60;
        g_spike_state[i] = 1;
    }
    g_u[i] = u;
    g_V[i] = u;
}
"""
'''
)

CUDA_EDITS = {
    "u = -60;": ("u = -61;", "u = ;", "u = unknown;", "u = -60", "", "u = f(1);", "u = 1 / 0;",
                 "u = %(internal_x)s;", "u = %(dt);", "u = 100 % 3;", "int u = -60;", "throw 1;",
                 "return;", "__syncthreads();", "u = NAN;", "u = 1e400;", "#error no", "#include <no/such.h>",
                 "system(\"true\");", "static int n; u = n++;", "auto f = [] { return -61.0; }; u = f();",
                 "u = \"x\";", "u = new double;", "delete g_u;", "goto end;", "asm(\"nop\");",
                 "u = 7 / (int)(g_threshold[i] / 1000);", "u = g_u[1 << 30];", "exit(3);", "float free = u; u = free - 61;",
                 "#define u v", "u = sizeof(no);", "template <int n> u = n;", "}", "{", "*/", "/*"),
    "__global__": ("", "__device__", "extern", "__global__ __global__"),
    "void update": ("int update", "void updates", "void", "update"),
    "int num_comps, ": ("", "float num_comps, ", "int num_comps, int more, "),
    "%(update_V)s *g_V": ("%(update_V)s g_V", "%(update_W)s *g_V", "double **g_V", ""),
    "g_V[i] = u": ("g_V[i] = g_I[i]", "g_V = u", "g_V[i] == u", "g_V[i] = g_V[i] + u"),
    '"""\n__global__': ("1\n__global__", '"\n__global__'),
    'params = ["tau", "threshold"]': ('params = ["tau"]', "params = []", 'params = ["tau", "threshold", "more"]',
                                      "params = 1", 'params = ["threshold", "tau"]'),
    'internals = {"u": -60.0}': ("internals = {}", 'internals = {"u": "x"}', 'internals = {"v": -60.0}',
                                 'internals = {"u": float("nan")}', 'internals = ["u"]', 'internals = {"u": -59.0}'),
    'updates = ["spike_state", "V"]': ('updates = ["V"]', "updates = []", 'updates = ["V", "spike_state"]'),
    'accesses = ["I"]': ("accesses = []", 'accesses = ["I", "g"]', 'accesses = ["V"]'),
}  # fmt: skip
"""Part of the text -> what stands there instead."""

PYTHON = HEAD + textwrap.indent('''
def pre_run(self, update_pointers):
    self.u = np.full(self.num_comps, -60.0)

def run_step(self, update_pointers):
    self.sum_in_variable("I", self.inputs["I"])
    drive = self.inputs["I"].astype(float)
    self.u += self.dt * 1000 / self.params_dict["tau"] * (drive - self.u - 60.0)
    fired = self.u > self.params_dict["threshold"]
    self.u[fired] = -60.0
    for name, values in (("V", self.u), ("spike_state", fired)):
        nd.host_array(update_pointers[name], self.num_comps, self.dtype)[:] = values
''', "    ")  # fmt: skip

PYTHON_EDITS = {
    "fired = self.u >": ("1 / 0\n        fired = self.u >", "raise SystemExit\n        fired = self.u >",
                         "raise SystemExit(3)\n        fired = self.u >", "raise StopIteration\n        fired = self.u >",
                         "self.run_step(update_pointers)\n        fired = self.u >", "raise MemoryError\n        fired = self.u >",
                         "del self.u\n        fired = self.u >", "fired == self.u >", "fired = self.v >",
                         "raise KeyboardInterrupt\n        fired = self.u >", "fired = -self.u >"),
    '"I", self.inputs["I"]': ('"X", self.inputs["I"]', '"I", self.inputs["X"]', '"I"', '"I", 5', '"I", np.zeros(99)'),
    "update_pointers[name]": ('update_pointers["X"]', "0 * update_pointers[name]", "5.5", '"x"'),
    "self.num_comps, self.dtype": ("-1, self.dtype", "self.num_comps, object", "self.num_comps", "0, self.dtype"),
    "[:] = values": ("[:] = values[:1, None]", '[:] = "x"', "[:] = values + 1", "[:] = np.nan", "[:] = values[:2]"),
    "np.full(self.num_comps, -60.0)": ('"x"', "np.full(1, -59.0)", "np.full(99, -60.0)", "1 / 0", "[]"),
    "def run_step(self, update_pointers)": ("def run_step(self)", "def run_step(self, a, b)", "def steps(self, update_pointers)"),
    "def pre_run(self, update_pointers)": ("def pre_run(self)", "def before(self, update_pointers)"),
}  # fmt: skip
"""Part of the program -> what stands there instead."""


def _run(program: str, noticed: bool = False) -> Callable[[Path], object]:
    """Return what runs three components of a model.

    Raises
    ------
    Unnoticed
        Where the values of the good program come of an edited one.
    """

    def run(folder: Path) -> None:
        try:
            found = _values(folder, program)
        except (KeyboardInterrupt, SystemExit):
            return  # what the program asks for
        good = PYTHON if "run_step" in program or "def steps" in program else TEMPLATE
        if noticed and np.array_equal(found, _values(folder, good)):
            raise Unnoticed("the edit has no effect")

    return run


def _values(folder: Path, program: str) -> np.ndarray:
    """Return the values of V and the number of spikes of a model."""
    path = folder / "own.py"
    path.write_text(program, encoding="utf-8", errors="surrogatepass")
    (kind,) = nd.model.loading.load_classes([path])
    given = {} if "BaseAxonHillockModel" not in program else {"tau": 10.0, "threshold": -58.0}
    circuit = nd.Circuit.from_arrays([(kind, 3, given, ["a", "b", "c"])])
    recorder = nd.MemoryRecorder([("V", None), ("spike_state", None)])
    drive = nd.StepInput("I", ["a", "b"], [5.0, 20.0])
    with nd.LPU(circuit, 1e-3, drive, recorder) as lpu:
        lpu.run(40)
    spikes = np.bincount(recorder.get("spike_state")["index"], minlength=3)
    return np.concatenate([recorder.get("V").ravel(), spikes])
