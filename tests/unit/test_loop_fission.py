"""Long texts as several loops: the same bits as in one loop, in populations of any size."""

from __future__ import annotations

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.codegen.cpu import loop_fission
from neurodriver.codegen.generate import generate
from neurodriver.model.fields import Field
from neurodriver.model.pools import Reduce
from neurodriver.plan.compile import compile_circuit

STAGES = " ".join(
    f"real y{i} = exp(-{i} - x * x); x += 0.1 * (y{i} - b); all[{i}] += y{i} - 0.1 * x;"
    for i in range(6)
)


class Long(nd.NDComponent):
    """What a loop may end between: numbers, truths, events, values of all, and rare changes."""

    updates = {"a": "1", "spike_state": "1", "seen": "1", "twice": "1"}
    axes = ("unit",)
    pools = {"level": Reduce("mean", "a", multiple_of=2.0**-20)}
    fields = {"rate": Field("1", default=0.25)}
    params = {"gain": nd.Parameter("1", default=1.5)}
    terms = {"before": "a * gain"}
    outputs = {"twice": "2 * b"}
    states = {
        **{n: nd.State("1", v) for n, v in {"a": 1.0, "b": 0.5, "c": 0.0, "last": 0.0}.items()},
        "all": nd.State("1", 0.0, size=30),
    }
    update = f"""
        const real due = fmax(step % 3 - 1, 0), common = rate * here.level;
        real x = before + common;
        const bool high = x > b;
        {STAGES}
        if (due > 0) {{ c = a; a *= 0.5; x += 1; }}
        a = high ? a + rate * (x - a) : 0.5 * a - x;
        if (x > 0.5) b += 0.1; else b *= 0.9;
        spike_state = a > 0.9 && high ? 1 : 0;
        if (due > 0) {{ seen = c; last = a; }}
        b += 0.01 * last + all[3] * all[29];
        if (step % 4 == 3) {{ real less = 0.9 * b; b = less; }}
    """


def circuit() -> nd.Circuit:
    """Return two populations, of which no vector is full."""
    gain = np.linspace(0.5, 2, 37)
    populations = [nd.Population(Long, axes={"unit": 37}, name="one", gain=gain, initb=gain / 3)]
    return nd.Circuit(
        [
            *populations,
            nd.Population(Long, axes={"unit": 5}, name="two", gain=gain[:5], initb=0.1 * gain[:5]),
        ]
    )


def test_bits_of_one_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """All values in each step are those of one loop, with one thread and with two."""
    names = ["a", "seen", "twice", "spike_state"]

    def run(threads: int) -> list[np.ndarray]:
        with nd.LPU(circuit(), 1e-3, dtype="float32", threads=threads) as lpu:
            lpu.run(steps=12, record=names)
            rows = [np.asarray(getattr(lpu.recording, name)) for name in names[:3]]
            return [
                *rows,
                lpu.recording.spike_state.index,
                *(np.asarray(lpu[p].get(s)) for p in ("one", "two") for s in Long.states),
            ]

    found = [run(1), run(2)]
    monkeypatch.setattr(loop_fission, "LEAST_STATES", 1000)
    expected = run(1)
    assert all(np.ptp(one) > 0 for one in expected[:4])
    for one in found:
        assert all(map(np.array_equal, one, expected))


def test_several_loops() -> None:
    """A long text has several loops of whole slices; some are left out in most steps."""
    long, _ = (task.kernel.text for task in generate(compile_circuit(circuit(), 1e-3)).tasks)
    update = long[long.index("nd_update(") :]
    assert update.count("nd_i < nd_whole") >= 5
    assert "nd_i < nd_m;" not in update and update.count("if (due > 0.0)") == 2
    assert "const real common" in update[: update.index("nd_whole")]


class Again(Long):
    """A name is declared within an ``if``, and once more behind it."""

    update = Long.update + "real less = 0.99; a *= less;"


def test_name_that_is_declared_again() -> None:
    """Such a text stays in one loop."""
    again = nd.Circuit([nd.Population(Again, axes={"unit": 5})])
    (task,) = generate(compile_circuit(again, 1e-3)).tasks
    assert "const real common" in task.kernel.text and "nd_whole" not in task.kernel.text


class Sent(nd.NDComponent):
    """A neuron that sends weighted spikes to others of its kind; no value is stored at the end."""

    axes, pools, fields, params = Long.axes, Long.pools, Long.fields, Long.params
    terms = Long.terms
    states = {
        **dict.fromkeys(("a", "b", "c", "last"), nd.State("1", 0.5)),
        "all": nd.State("1", 0.0, size=30),
    }

    accesses = (nd.Weighted("spike_state"),)
    updates = {"a": "1", "spike_state": "1", "seen": "1"}
    update = "a += input_spike_state;" + Long.update


def test_sums_are_cleared_in_each_step() -> None:
    """What clears them stands in no loop that is left out."""
    cells = nd.Population(Sent, axes={"unit": 5})
    links = [nd.Projection(cells, cells, nd.AllToAll(), weight=0.1, delay=1e-3)]
    *_, task = generate(compile_circuit(nd.Circuit([cells], links), 1e-3)).tasks
    loops = task.kernel.text.split("if (step % 4 == 3)")[-1].split("ND_SIMD")
    assert len(loops) == 3 and "] = 0;" in loops[2]
