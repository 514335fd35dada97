"""Wrong types and values for fields, formulas, texts, and what circuits and LPUs tell."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import seeds
from api_cases import ODD
from isolated import CLEAR, LEGAL, WARNED, Case

import neurodriver as nd
from neurodriver.inputs.sonata_nwb import probe_spikes
from neurodriver.inputs.sonata_tables import read_table
from neurodriver.io.nwb import read_units
from neurodriver.io.sonata_node_sets import NodeTable

Run = Callable[[Path, dict[str, Any]], object]
"""Does something with arguments, in an empty folder."""

PLAIN = str | int | float | list | dict | None
"""What JSON has."""


def cases() -> Iterator[Case]:
    """Yield the cases of this class: one argument at a time is replaced by a value that is odd."""
    for name, (run, good) in FEATURES.items():
        yield Case(name, _with(run, good), (LEGAL, WARNED))
        for argument in good:
            legal = LEGAL_VALUES.get(f"{name}.{argument}", "").split("|")
            for what, value in ODD.items():
                if run in IN_FILES and not isinstance(value, PLAIN):
                    continue
                allowed = (CLEAR, LEGAL, WARNED) if what in legal else (CLEAR,)
                given = _with(run, {**good, argument: value})
                yield Case(f"{name}: {argument}={what}", given, allowed)
    for name, text in WEIGHTS.items():
        yield Case(f"weight {name}", _with(_weight, {"weight": text}))
    for name, text in TEXTS.items():
        yield Case(f"text {name}", _with(_text, {"text": text}))


def _with(run: Run, given: dict[str, Any]) -> Callable[[Path], object]:
    return lambda folder: run(folder, {**given})


def _circuit(name: str) -> Run:
    return lambda folder, given: getattr(seeds.populations(), name)(**given)


def _field(folder: Path, given: dict[str, Any]) -> None:
    value = given.pop("value")
    field = nd.Field(**given)
    read = "banks[0][0, 0]"
    body = {"params": {}, "states": {"V": nd.State("mV", 0.0)}, "fields": {"banks": field}}
    body |= {"updates": ("V",), "update": f"V = {read};"}
    model = type("WithField", (nd.NDComponent,), body)
    cells = nd.Population(model, 3, name="cells", banks=value)
    nd.LPU(nd.Circuit([cells]), 1e-3).close()


def _level(folder: Path, given: dict[str, Any]) -> None:
    body = {"params": {"interval": nd.Parameter("ms", default=10.0, above=0.0)}}
    body |= {"modulators": {"dopamine": nd.Level(**given)}}
    body |= {"every": {"interval": "weight = clip(weight + 0.001 * (dopamine + 60));"}}
    rule: Any = type("Dosed", (nd.PairSTDP,), body)
    cells = nd.Population("LeakyIAFShiu", 6, name="cells")
    link = nd.Projection(cells, cells, nd.AllToAll(), receptor="syn", weight=0.5, delay=1e-3,
                         plasticity=rule())  # fmt: skip
    nd.LPU(nd.Circuit([cells], [link]), 1e-4).close()


def _begin(folder: Path, given: dict[str, Any]) -> None:
    with nd.LPU(seeds.populations(), 1e-4) as lpu:
        lpu.begin(**given)
        lpu.wait()


def _waits(folder: Path, given: dict[str, Any]) -> None:
    nd.LPU(seeds.populations(), 1e-4, **given).close()


class Filtering(nd.NDComponent):
    """A sheet with a field that weights read."""

    accesses = (nd.Weighted("V", "I"),)
    updates = ("V",)
    states = {"V": nd.State("mV", 0.0)}
    axes = ("y", "x")
    fields = {"kernel": nd.Field(axes="i j"), "gain": nd.Field(default=1.0)}
    update = "V = I;"


def _weight(folder: Path, given: dict[str, Any]) -> None:
    size = {name: nd.Axis.regular(4, 0.0, 1.0) for name in ("y", "x")}
    retina = nd.Population("LeakyIAFShiu", axes=size, name="retina")
    sheet = nd.Population(Filtering, axes=size, name="sheet", kernel=np.ones((3, 3)))
    rule = nd.Within(1.5, autapses=True)
    link = nd.Projection(retina, sheet, rule, receptor="I", variable="V", **given)
    _ = nd.Circuit([retina, sheet], [link]).connections[0].data


def _text(folder: Path, given: dict[str, Any]) -> None:
    body = {"states": {"V": nd.State("mV", 0.0)}, "updates": ("V",), "update": given["text"]}
    body |= {"fields": {"banks": nd.Field(axes="i j", many=True), "one": nd.Field(axes="i")}}
    model = type("Loops", (nd.NDComponent,), body)
    cells = nd.Population(model, 3, name="cells", banks=[np.ones((2, 2))], one=np.ones(2))
    nd.LPU(nd.Circuit([cells]), 1e-3).close()


def _probe(folder: Path, given: dict[str, Any]) -> None:
    units = read_units(seeds.session(folder / "session.nwb"))
    nodes = NodeTable("lgn", {"node_id": np.arange(3)})
    probe_spikes(
        {"input_file": "session.nwb", **given}, lambda one: folder / one, read_table,
        [(nodes, np.ones(3, bool))], lambda said: None,
    )  # fmt: skip
    assert len(units)


GOOD = {"mapping": "sample_with_replacement"}


def _units(folder: Path, given: dict[str, Any]) -> None:
    _probe(folder, {**GOOD, "units": {"a": given}})


def _intervals(folder: Path, given: dict[str, Any]) -> None:
    _probe(folder, {**GOOD, "interval": given})


def _simulation(section: str, name: str = "") -> Run:
    def run(folder: Path, given: dict[str, Any]) -> None:
        seeds.populations().save(folder / "circuit_config.json")
        entry = {name: {**given}} if name else {**given}
        config = {"network": "circuit_config.json", "run": {"tstop": 1.0, "dt": 0.1}}
        config |= {"output": {"output_dir": "out"}, section: entry}
        (folder / "simulation_config.json").write_text(json.dumps(config))
        it = nd.read_sonata_simulation(folder / "simulation_config.json")
        with nd.LPU(it.circuit, it.dt, it.inputs) as lpu:
            it.write(lpu.run(duration=it.duration, record=it.record).recording)

    return run


def _write(folder: Path, given: dict[str, Any]) -> None:
    seeds.populations().save(folder / "circuit_config.json")
    config = {"network": "circuit_config.json", "run": {"tstop": 1.0, "dt": 0.1}, "output": {}}
    config["output"] = {"output_dir": "out"}
    (folder / "simulation_config.json").write_text(json.dumps(config))
    it = nd.read_sonata_simulation(folder / "simulation_config.json")
    with nd.LPU(it.circuit, it.dt, it.inputs) as lpu:
        recording = lpu.run(duration=it.duration, record=it.record).recording
    it.write(**{"recording": recording, **given})


FEATURES: dict[str, tuple[Run, dict[str, Any]]] = {
    "memory": (_circuit("memory"), {"backend": "cpu", "dt": 1e-3, "dtype": "float64"}),
    "trace": (_circuit("trace"), {"uid": "cells/0", "populations": ["cells"]}),
    "Field": (_field, {"axes": "i j", "many": True, "unit": "1",
                               "value": [np.ones((2, 3)), np.ones((1, 1))]}),
    "Level": (_level, {"variable": "V", "per": "target"}),
    "begin": (_begin, {"steps": 10}),
    "wait": (_waits, {"wait": "yield"}),
    "weight": (_weight, {"weight": "gain * kernel[dy, dx]"}),
    "output": (_simulation("output"), {
        "output_dir": "out", "spikes_file": "s.h5", "spikes_sort_order": "time",
        "overwrite_output_dir": True}),
    "report": (_simulation("reports", "V"), {
        "cells": "all", "variable_name": "V", "module": "membrane_report", "enabled": True,
        "start_time": 0.0, "end_time": 1.0, "dt": 0.1, "file_name": "V.h5"}),
    "spikes_report": (_simulation("reports", "s"), {"module": "spikes_report", "cells": "all"}),
    "probe": (_probe, {
        "mapping": "sample_with_replacement", "units": {"location": "LGd"}, "random_seed": 1,
        "interval": {"interval_name": "flashes", "interval_index": 0}, "interval_offset": 1.0,
        "missing_ids": "fail"}),
    "a_row_of_units": (_units, {"column": "location", "operation": "==", "value": "LGd"}),
    "a_row_of_intervals": (_intervals, {"interval_name": "flashes", "interval_index": 0}),
    "write": (_write, {"overwrite": True}),
    "write.recording": (_write, {}),
}  # fmt: skip
"""Feature -> how it is tried, and good values of its arguments."""

IN_FILES = [FEATURES[name][0] for name in ("output", "report", "spikes_report", "probe")]
IN_FILES += [_units, _intervals]
"""What reads its arguments from JSON."""

WEIGHTS = {
    "place without axis": "kernel[place(), 0]", "place of a number": "kernel[place(1), 0]",
    "place of two": "kernel[place(y, x), 0]", "place outside": "place(dx)",
    "no index": "kernel", "one index": "kernel[dy]", "three": "kernel[dy, dx, 0]",
    "index of a number": "gain[0]", "real index": "kernel[0.5, dx]", "unknown": "karnel[dy, dx]",
    "out of range": "kernel[dy + 1000, dx]", "empty": "", "half": "kernel[dy,",
    "statement": "kernel[dy, dx];", "draw": "kernel[dy, dx] * uniform()",
    "list": "kernel[0][dy, dx]",
    "not finite": "kernel[dy, dx] / 0", "negative": "kernel[-1, dx]", "step": "kernel[step, dx]",
    "source": "retina.V[dy, dx]", "unknown axis": "kernel[z, dx]",
}  # fmt: skip
"""Weights that are not right."""

TEXTS = {
    "unroll 0": "unroll(0) for (int i = 0; i < 2; ++i) { V += 1; }",
    "unroll real": "unroll(1.5) for (int i = 0; i < 2; ++i) { V += 1; }",
    "unroll large": "unroll(99999999999999999999) for (int i = 0; i < 2; ++i) { V += 1; }",
    "unroll name": "unroll(n) for (int i = 0; i < 2; ++i) { V += 1; }",
    "unroll nothing": "unroll() for (int i = 0; i < 2; ++i) { V += 1; }",
    "unroll twice": "unroll(2) unroll(2) for (int i = 0; i < 2; ++i) { V += 1; }",
    "unroll if": "unroll(2) if (V > 0) { V += 1; }",
    "unroll at the end": "unroll(2)",
    "unroll open": "unroll(2",
    "list without n": "V = banks[0, 0];",
    "list alone": "V = banks;",
    "list of real": "V = banks[0.5][0, 0];",
    "list deep": "V = banks[0][0][0];",
    "list one index": "V = banks[0][0];",
    "array as list": "V = one[0][0];",
    "size of list": "V = size(banks.i);",
    "size of a length": "V = size(banks[0].z);",
    "length alone": "V = banks[0].i;",
    "count of array": "V = count(one);",
    "write to list": "banks[0][0, 0] = 1;",
    "list nested": "V = banks[banks[0][0, 0]][0, 0];",
    "source alone": "V = source.y_size;",
    "unknown list": "V = bonks[0][0, 0];",
}
"""Texts that are not right."""

MAY_BE = {
    "2**70": "probe.random_seed",
    "1.5|2**70": "memory.dt report.dt report.end_time report.start_time",
    "None": """
        probe.interval write.overwrite report.end_time report.start_time report.dt
        output.overwrite_output_dir
    """,
    "True": "Field.many write.overwrite output.overwrite_output_dir report.enabled",
    "text|empty text": "Field.unit output.output_dir",
    "text": "output.spikes_file report.file_name",
    "list": "report.cells spikes_report.cells probe.interval",
    "1.5|-1|text|2**70": "weight.weight",
    "1.5|-1|2**70": "probe.interval_offset",
    "empty text|None": "probe.units",
    "-1": "a_row_of_intervals.interval_index",
}
"""Odd values, joined by bars -> features and arguments that may have them."""

NOT_WRITTEN = "1.5|-1|text|empty text|None|NaN|inf|list|dict|True|2**70"
"""Modules of reports that cause a warning."""

LEGAL_VALUES: dict[str, str] = {}
for _values, _names in {**MAY_BE, NOT_WRITTEN: "report.module spikes_report.module"}.items():
    for _name in _names.split():
        LEGAL_VALUES[_name] = "|".join(filter(None, [LEGAL_VALUES.get(_name), _values]))
