"""Wrong types and values at the border of the public classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import seeds
from isolated import CLEAR, LEGAL, WARNED, Case

import neurodriver as nd

ODD: dict[str, Any] = {
    "1.5": 1.5, "-1": -1, "text": "x", "empty text": "", "None": None, "NaN": float("nan"),
    "inf": float("inf"), "list": [0, 1], "dict": {"a": 1}, "object": object(), "bytes": b"a",
    "True": True, "2**70": 2**70, "complex": 1j, "array": np.zeros(3), "set": {1}, "class": int,
    "function": print,
}  # fmt: skip
"""Values that few arguments admit."""


@cache
def _circuit() -> nd.Circuit:
    return seeds.circuit()


def cases() -> Iterator[Case]:
    """Yield the cases of this class."""
    for function, names in (
        (_of_lpu, _LPU), (_of_population, _POPULATION), (_of_projection, _PROJECTION),
        (_of_circuit, _CIRCUIT), (_of_inputs, _INPUTS), (_of_calls, _CALLS), (_of_rules, _RULES),
    ):  # fmt: skip
        for name, legal in names.items():
            for what, value in ODD.items():
                allowed = (CLEAR, LEGAL, WARNED) if what in legal.split("|") else (CLEAR,)
                yield Case(f"{name}={what}", function(name, value), allowed)
    yield from _more()


_LPU = {
    "dt": "1.5", "inputs": "", "recorders": "", "dtype": "", "threads": "None", "seed": "",
    "backend": "None", "merge": "True", "device": "None|2**70", "executor": "None", "wait": "",
    "nonfinite": "", "attributes": "None|dict", "models": "", "plans": "True",
}  # fmt: skip


def _of_lpu(name: str, value: Any) -> Callable[[Path], object]:
    def run(folder: Path) -> None:
        given = {"dt": 1e-4, name: value}
        nd.LPU(_circuit(), **given).close()

    return run


_POPULATION = {
    "model": "", "count": "", "name": "text|empty text", "threshold": "1.5|-1", "uids": "None",
    "columns": "None|dict", "every": "", "first": "", "axes": "None", "mask": "None",
}  # fmt: skip


def _of_population(name: str, value: Any) -> Callable[[Path], object]:
    def run(folder: Path) -> None:
        given = {"model": "LeakyIAFShiu", "count": 4, "name": "p", name: value}
        model, count = given.pop("model"), given.pop("count")
        _ = nd.Circuit([nd.Population(model, count, **given)]).uids

    return run


_PROJECTION = {
    "source": "", "target": "", "rule": "", "variable": "None", "receptor": "None",
    "weight": "1.5|-1|2**70|None", "delay": "None|1.5|2**70", "name": "text|empty text",
}  # fmt: skip


def _of_projection(name: str, value: Any) -> Callable[[Path], object]:
    def run(folder: Path) -> None:
        cells = nd.Population("LeakyIAFShiu", 4, name="p")
        given = {"source": cells, "target": cells, "rule": nd.FixedInDegree(2), name: value}
        given = {"receptor": "syn", **given}
        ends = given.pop("source"), given.pop("target"), given.pop("rule")
        circuit = nd.Circuit([cells], [nd.Projection(*ends, **given)])
        _ = circuit.connections[0].source

    return run


_CIRCUIT = {"groups": "", "connections": "", "seed": "2**70|-1"}


def _of_circuit(name: str, value: Any) -> Callable[[Path], object]:
    def run(folder: Path) -> None:
        cells = nd.Population("LeakyIAFShiu", 4, name="p")
        given = {"groups": [cells], "connections": [], name: value}
        _ = nd.Circuit(given.pop("groups"), given.pop("connections"), **given).count

    return run


_INPUTS = {
    "variable": "", "uids": "None|dict|bytes", "rate": "1.5|2**70|True", "seed": "-1|None|2**70",
    "value": "1.5|-1|2**70|True", "start": "1.5|-1|inf|2**70|True",
    "stop": "1.5|-1|inf|2**70|True",
}  # fmt: skip


def _of_inputs(name: str, value: Any) -> Callable[[Path], object]:
    def run(folder: Path) -> None:
        if name in ("rate", "seed"):
            given = {"rate": 20.0, name: value}
            made: nd.Input = nd.PoissonInput("spike_state", ["s"], **given)
        else:
            given = {"variable": "I", "uids": ["a"], "value": 5.0, name: value}
            made = nd.StepInput(
                given.pop("variable"), given.pop("uids"), given.pop("value"), **given
            )
        nd.LPU(_circuit(), 1e-4, made).close()

    return run


_CALLS = {
    "advance": "", "run": "", "duration": "1.5", "step": "None", "save": "text", "resume": "",
    "select": "", "getitem": "dict|bytes",
}  # fmt: skip


def _of_calls(name: str, value: Any) -> Callable[[Path], object]:
    def run(folder: Path) -> None:
        with nd.LPU(_circuit(), 1e-4) as lpu:
            if name == "duration":
                lpu.run(duration=value)
            elif name == "select":
                lpu.circuit.select(nothing_of_this_name=value)
            elif name == "getitem":
                _ = lpu[value]
            elif name == "step":
                lpu.reset(step=value)
            else:
                getattr(lpu, name)(value)

    return run


_RULES = {
    "FixedInDegree": "", "FixedOutDegree": "", "FixedProbability": "", "FixedTotal": "",
}  # fmt: skip


def _of_rules(name: str, value: Any) -> Callable[[Path], object]:
    def run(folder: Path) -> None:
        cells = nd.Population("LeakyIAFShiu", 4, name="p")
        rule = getattr(nd, name)(value)
        _ = nd.Circuit([cells], [nd.Projection(cells, cells, rule, receptor="syn")]).connections

    return run


def _more() -> Iterator[Case]:
    """Yield cases that are written one by one."""

    def arrays(uids: Any, *links: Any) -> Callable[[Path], object]:
        def run(folder: Path) -> None:
            model = nd.model.library.shipped()["LeakyIAFShiu"]
            nd.Circuit.from_arrays([(model, 2, {}, uids)], links)

        return run

    def long_run(folder: Path) -> None:
        recorder = nd.MemoryRecorder([("V", None)])
        with nd.LPU(_circuit(), 1e-4, recorders=recorder) as lpu:
            lpu.start(10**13)

    said = ("10,000,000,000,000 rows of 2 of 'V' take 149,011.6 GiB", "sample_interval")
    yield Case("a recording beyond the memory", long_run, words=said)
    yield Case("a uid with NUL", arrays(["a\0b", "c"]), words=("NUL",))
    yield Case("a uid that ends with NUL", arrays(["a\0", "c"]), words=("NUL",))
    yield Case("half of a pair", arrays(["a\ud800", "c"]))
    yield Case("a uid twice", arrays(["a", "a"]))
    yield Case("an empty uid", arrays(["", "a"]))
    yield Case("a uid of 10,000 characters", arrays(["x" * 10_000, "a"]))
    yield Case("uids that are numbers", arrays([1, 2]), (LEGAL,))
